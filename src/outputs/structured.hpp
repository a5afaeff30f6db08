#pragma once
// The options of `--method structured` that all types of output share, and what training one gives.

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "margrove/csr_matrix.hpp"
#include "margrove/structured.hpp"
#include "model/method.hpp"
#include "structured/structured_fit.hpp"

namespace margrove {

/// A type with options of its own derives from it and lists them in a function own_fields().
struct StructuredOptions : CommonOptions {
  std::string model = "chain";
  std::string surrogate = "margin";
  std::string search = "auto";
  std::string solver = "auto";
  double tolerance = 1e-2;
  int max_passes = 50;
  int max_bans = 10;

  /// models: the names that `model` may have; none: any text.
  static auto fields(const Choices& models = {}, const std::string& model_help = "type of output") {
    return std::tuple_cat(
        CommonOptions::fields(),
        std::tuple{
            field("model", &StructuredOptions::model, models, model_help),
            field("surrogate", &StructuredOptions::surrogate, Choices{},
                  "margin, slack, generalised:BETA,A, beta:BETA, log, prob, prob-convex, "
                  "micro-f1"),
            field("search", &StructuredOptions::search,
                  Choices{{"auto", "margin", "sarawagi", "binary", "bisecting", "angular",
                           "convex-hull"}},
                  "how the most violating labelling is found; auto: margin for margin rescaling, "
                  "convex-hull for the others"),
            field("solver", &StructuredOptions::solver,
                  Choices{{"auto", "bcfw", "sgd", "cutting-plane", "one-slack"}},
                  "auto: bcfw where the surrogate is affine in the margin, otherwise sgd"),
            field("tolerance", &StructuredOptions::tolerance, positive,
                  "relative duality gap at which bcfw and cutting planes stop"),
            field("max_passes", &StructuredOptions::max_passes, at_least(1),
                  "passes over the examples, at most; sgd makes all of them"),
            field("max_bans", &StructuredOptions::max_bans, at_least(0),
                  "rounds in which convex-hull search makes a fractional optimum integral; prob by "
                  "sgd: none"),
        });
  }
  static std::tuple<> own_fields() { return {}; }
};

FitReport to_report(const StructuredFit& fit);

/// Bytes that a solver and the model take for so many weights: the sums, their average, the model.
constexpr double solver_bytes(double num_weights) { return 12 * num_weights; }
/// Bytes that a solver takes for its own rows with the intercept.
double solver_row_bytes(const CsrView& X);

}  // namespace margrove
