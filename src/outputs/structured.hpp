#pragma once
// The options of `--method structured` that all types of output share, and helpers of their
// training.

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "margrove/csr_matrix.hpp"
#include "margrove/decision_kind.hpp"
#include "margrove/structured.hpp"
#include "model/method.hpp"
#include "model/model.hpp"
#include "structured/structured_training.hpp"

namespace margrove {

/// A type with options of its own derives from this struct and lists them in own_fields(). The
/// defaults of C and of the solver are those of docs/results/sequences-and-parsing.md.
struct StructuredOptions : CommonOptions {
  StructuredOptions() { C = 0.1; }

  std::string model = "chain";
  AnySurrogate surrogate = MarginRescaling{};
  StructuredSearch search = StructuredSearch::automatic;
  StructuredSolver solver = StructuredSolver::automatic;
  double tolerance = 1e-2;
  int max_passes = 50;
  std::optional<int> max_bans = {};
  std::optional<double> search_tolerance = {};
  std::optional<int> search_calls = {};
  std::optional<int> convex_passes = {};
  std::optional<double> learning_rate = {};
  DecisionKind decision = DecisionKind::automatic;
  int decision_folds = 3;
  DecisionMetric decision_metric = DecisionMetric::micro_f1;
  /// A model whose weights training starts from, or null. It belongs to the caller, as data do.
  const ModelParts* start = nullptr;

  /// models: the names that `model` may be; empty: any text.
  static auto fields(const detail::Choices& models = {},
                     const std::string& model_help = "type of output") {
    return std::tuple_cat(
        CommonOptions::fields(),
        detail::structured_fields<StructuredOptions>(
            {}, "sgd; for model hierarchy bcfw where the surrogate is affine in the margin"),
        detail::offset_fields<StructuredOptions>(kDecisionHelp, kMetricHelp),
        std::tuple{
            field("model", &StructuredOptions::model, models, model_help),
            field("tolerance", &StructuredOptions::tolerance, positive,
                  "relative duality gap at which bcfw and cutting planes stop; sgd stops where two "
                  "passes lower the objective by no more than this share, of dependency ten times "
                  "it"),
            field("max_passes", &StructuredOptions::max_passes, at_least(1),
                  "maximum number of passes over the examples"),
        });
  }
  static std::tuple<> own_fields() { return {}; }
  static constexpr const char* kDecisionHelp =
      "label sets and tags: the labelling with the highest score (argmax), or with the highest "
      "score "
      "after a tuned number is added for each label, leaf or tag of a span (offset); auto: offset "
      "where training rows have several labels or tags stand for spans, otherwise argmax";
  static constexpr const char* kMetricHelp =
      "metric that the offset is tuned for; for tags: micro-f1 (of spans, where tags stand for "
      "them) or "
      "accuracy";

  /// Minibatches have one example, because the oracles are so expensive that each should use new
  /// weights. automatic: the solver auto.
  StructuredTraining training(StructuredSolver automatic = StructuredSolver::sgd) const {
    StructuredTraining training = structured_training(*this, loss_weight());
    training.minibatch = 1;
    if (training.solver == StructuredSolver::automatic) training.solver = automatic;
    return training;
  }
};
/// The predictor of options.start, or null if there is no start. Throws InvalidOption for a model
/// of another kind.
template <class P>
const P* start_predictor(const StructuredOptions& options) {
  if (options.start == nullptr) return nullptr;
  const auto* predictor = dynamic_cast<const P*>(options.start->predictor.get());
  require<InvalidOption>(predictor != nullptr, "option start is a model of kind ",
                         options.start->predictor->kind(), ", which model ", options.model,
                         " cannot start from");
  return predictor;
}

/// Throws InvalidOption if the surrogate needs the criteria of Micro-F1.
inline void require_hamming(const StructuredOptions& options) {
  require<InvalidOption>(!needs_f1_criteria(options.surrogate), "option surrogate is '",
                         options.surrogate.to_text(), "', which model ", options.model,
                         " does not offer");
}

/// `warnings`: those of the data. A gap that is not certified adds one.
FitReport to_report(const StructuredFit& fit, std::vector<std::string> warnings = {});

/// Bytes that a solver and the model take for the weights: the sums, their average and the model.
/// Cutting planes keep the weights in float64, too.
constexpr double solver_bytes(double num_weights, StructuredSolver solver) {
  return (keeps_exact_weights(solver) ? 20 : 12) * num_weights;
}
/// Bytes that a solver takes for its copy of the rows, with the intercept.
double solver_row_bytes(const CsrView& X);

}  // namespace margrove
