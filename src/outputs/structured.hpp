#pragma once
// The options of `--method structured` that all types of output share, and what their training
// needs.

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "margrove/csr_matrix.hpp"
#include "margrove/structured.hpp"
#include "model/method.hpp"
#include "structured/structured_training.hpp"

namespace margrove {

/// A type with options of its own derives from this struct and lists them in own_fields().
struct StructuredOptions : CommonOptions {
  std::string model = "chain";
  AnySurrogate surrogate = MarginRescaling{};
  StructuredSearch search = StructuredSearch::automatic;
  StructuredSolver solver = StructuredSolver::automatic;
  double tolerance = 1e-2;
  int max_passes = 50;
  int max_bans = 10;

  /// models: the names that `model` may be; empty: any text.
  static auto fields(const Choices& models = {}, const std::string& model_help = "type of output") {
    return std::tuple_cat(CommonOptions::fields(), detail::structured_fields<StructuredOptions>(),
                          std::tuple{
                              field("model", &StructuredOptions::model, models, model_help),
                              field("tolerance", &StructuredOptions::tolerance, positive,
                                    "relative duality gap at which bcfw and cutting planes stop"),
                              field("max_passes", &StructuredOptions::max_passes, at_least(1),
                                    "passes over the examples, at most; sgd makes all of them"),
                          });
  }
  static std::tuple<> own_fields() { return {}; }

  /// Minibatches have one example: the oracles are so expensive that each should see new weights.
  StructuredTraining training() const {
    StructuredTraining training = structured_training(*this, loss_weight());
    training.minibatch = 1;
    return training;
  }
};
/// Throws InvalidOption if the surrogate needs the criteria of Micro-F1.
inline void require_hamming(const StructuredOptions& options) {
  require<InvalidOption>(!needs_f1_criteria(options.surrogate), "option surrogate is '",
                         options.surrogate.to_text(), "', which model ", options.model,
                         " does not offer");
}

FitReport to_report(const StructuredFit& fit);

/// Bytes that a solver and the model take for the weights: the sums, their average and the model.
constexpr double solver_bytes(double num_weights) { return 12 * num_weights; }
/// Bytes that a solver takes for its copy of the rows, with the intercept.
double solver_row_bytes(const CsrView& X);

}  // namespace margrove
