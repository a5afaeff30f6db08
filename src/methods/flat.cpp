// flat-svm and flat-lr: the baselines that know no hierarchy. One linear classifier a label that
// occurs in the data, or all of them together (Crammer-Singer).

#include <algorithm>
#include <cmath>

#include "data/cost_matrix_reader.hpp"
#include "linear/one_vs_rest.hpp"
#include "methods/decision_tuning.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "outputs/path/path_svm.hpp"

namespace margrove {
namespace {

struct FlatOptions : CommonOptions, DecisionOptions {
  double tolerance = 1e-3;
  int max_passes = 1000;
  static auto fields() {
    return std::tuple_cat(CommonOptions::fields(), DecisionOptions::fields(),
                          std::tuple{
                              field("tolerance", &FlatOptions::tolerance, positive,
                                    "relative duality gap at which training stops"),
                              field("max_passes", &FlatOptions::max_passes, at_least(1),
                                    "passes over the rows, at most"),
                          });
  }
};

struct FlatSvmOptions : FlatOptions {
  std::string loss = "hinge";
  std::string multiclass = "ovr";
  AnySurrogate surrogate = MarginRescaling{};
  SearchKind search = SearchKind::automatic;
  StructuredSolver solver = StructuredSolver::automatic;
  int epochs = 50;
  std::string cost_matrix;
  static auto fields() {
    return std::tuple_cat(
        FlatOptions::fields(),
        std::tuple{
            field("loss", &FlatSvmOptions::loss, Choices{{"hinge", "squared-hinge"}},
                  "loss of each row's margin (crammer-singer: hinge)"),
            field(
                "multiclass", &FlatSvmOptions::multiclass, Choices{{"ovr", "crammer-singer"}},
                "each label against the rest, or all labels in one problem (rows with one label)"),
            field("surrogate", &FlatSvmOptions::surrogate,
                  "crammer-singer: margin, slack, generalised:BETA,A, beta:BETA, log, prob, "
                  "prob-convex or normalized-difference, of score difference and loss"),
            field("search", &FlatSvmOptions::search,
                  "crammer-singer: how the most violating label is found; auto: all are looked at"),
            field(
                "solver", &FlatSvmOptions::solver,
                "crammer-singer: bcfw, cutting-plane and one-slack, up to a duality gap; sgd, for "
                "a number of passes; auto: bcfw where the surrogate is affine in the margin, "
                "otherwise sgd"),
            field("epochs", &FlatSvmOptions::epochs, at_least(1),
                  "crammer-singer by sgd: passes over the rows"),
            field(
                "cost_matrix", &FlatSvmOptions::cost_matrix, Choices{},
                "crammer-singer: CSV file with what it costs to predict one label for another, in "
                "place of 1: the first line names predicted labels, the first cell of the others "
                "the true one; 0 where both are the same"),
        });
  }

  StructuredTraining training(double weight) const {
    return {.surrogate = surrogate,
            .search = search,
            .solver = solver,
            .C = weight,
            .tolerance = tolerance,
            .max_passes = max_passes,
            .epochs = epochs,
            .seed = seed};
  }
};

/// Options of the other problem are not silently ignored.
void require_one_vs_rest_options(const FlatSvmOptions& options) {
  const auto require_default = [](std::string_view option, bool is_default,
                                  const std::string& value) {
    require<InvalidOption>(is_default, "option ", option, " is '", value,
                           "', which serves multiclass crammer-singer only, but multiclass is ovr");
  };
  require_default("surrogate", is<MarginRescaling>(options.surrogate), options.surrogate.to_text());
  require_default("search", options.search == SearchKind::automatic,
                  std::string(name_of(options.search)));
  require_default("cost_matrix", options.cost_matrix.empty(), options.cost_matrix);
  require_default("solver", options.solver == StructuredSolver::automatic,
                  std::string(name_of(options.solver)));
}

// One-vs-rest -------------------------------------------------------------------------------------

struct OneVsRestState final : FitState {
  OneVsRestState() : FitState(state_id<OneVsRestState>()) {}
  LabelSets sets;
  OneVsRestFit fit;
};

OneVsRestFit fit_one_vs_rest(const CsrView& X, const LabelSets& sets, std::size_t num_labels,
                             std::span<const double> row_weights, const FlatOptions& options,
                             const std::string& loss, const Continuation& continuation,
                             Executor& executor, RunControl& control) {
  const OneVsRestOptions solver{.loss = loss,
                                .C = options.loss_weight(),
                                .tolerance = options.tolerance,
                                .max_passes = options.max_passes,
                                .seed = options.seed};
  OneVsRestExtras extras;
  extras.row_weights = row_weights;
  extras.keep_duals = continuation.keep;
  if (const auto* start = state_as<OneVsRestState>(continuation.start)) {
    // Duals belong to rows, weights to features; where these differ they say nothing.
    if (start->sets == sets && start->fit.duals.size() == num_labels)
      extras.start_duals = start->fit.duals;
    if (start->fit.weights.num_features() == X.num_columns() &&
        start->fit.weights.num_nodes() == num_labels) {
      extras.start_weights = &start->fit.weights;
    }
  }
  return train_one_vs_rest(X, sets, static_cast<std::uint32_t>(num_labels), solver, executor,
                           control, extras);
}

FitReport to_report(const OneVsRestFit& fit) {
  FitReport report;
  report.stop = fit.stop;
  for (const BinaryFit& label : fit.labels) report.passes = std::max(report.passes, label.passes);
  report.primal = fit.primal;
  report.dual = fit.dual;
  report.relative_gap = fit.relative_gap();
  return report;
}

LinearPredictor::Parts flat_parts(const std::vector<LabelId>& labels, WeightMatrix weights,
                                  double bias, std::uint32_t num_labels) {
  LinearPredictor::Parts parts;
  parts.weights = std::move(weights);
  parts.bias = bias;
  parts.graph = LabelGraph::flat(static_cast<std::uint32_t>(labels.size()));
  parts.label_of_node = labels;
  for (NodeId n = 0; n < labels.size(); ++n) parts.candidates.push_back(n);
  parts.num_labels = num_labels;
  return parts;
}

TrainResult train_ovr(const FlatOptions& options, const std::string& loss, const TrainingSet& data,
                      Executor& executor, RunControl& control) {
  const CsrMatrix X = with_intercept(data.X, options.bias);
  const OccurringLabels occurring = occurring_labels(*data.labels, data.codec->size());
  require(!occurring.labels.empty(), data.source, ": no row has a label");
  const auto fit_part = [&](const std::vector<std::uint32_t>& rows, RunControl& share) {
    OneVsRestFit part = fit_one_vs_rest(
        select_rows(X, rows), select_rows(occurring.sets, rows), occurring.labels.size(),
        kept_weights(data.row_weights, rows), options, loss, {}, executor, share);
    return std::make_unique<LinearPredictor>(
        flat_parts(occurring.labels, std::move(part.weights), 0,
                   static_cast<std::uint32_t>(data.codec->size())));
  };
  Decision decision = tuned_decision(options, X, occurring.sets, occurring.labels, options.seed,
                                     fit_part, executor, control);
  OneVsRestFit fit = fit_one_vs_rest(X, occurring.sets, occurring.labels.size(), data.row_weights,
                                     options, loss, data.continuation, executor, control);
  TrainResult result;
  result.report = to_report(fit);
  if (data.continuation.keep) {
    auto state = std::make_shared<OneVsRestState>();
    state->sets = occurring.sets;
    state->fit = fit;
    result.state = std::move(state);
  }
  auto parts = flat_parts(occurring.labels, std::move(fit.weights), options.bias,
                          static_cast<std::uint32_t>(data.codec->size()));
  parts.decision = std::move(decision);
  result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  return result;
}

/// Weights per label: hinge's support vectors touch few features beyond those of the label's own
/// rows (a few times as many), the smooth losses touch all that occur. Twice, while they are put
/// together.
std::uint64_t ovr_memory(const std::string& loss, const TrainingSet& data) {
  constexpr double kSpread = 6;
  std::vector<double> own(data.codec->size(), 0.0);
  for (std::size_t i = 0; i < data.labels->num_rows(); ++i) {
    for (const LabelId label : (*data.labels)[i]) {
      own[label] += static_cast<double>(data.X.row(i).size());
    }
  }
  const double features = data.X.num_columns() + 1.0;
  double nonzeros = 0, labels = 0;
  for (const double size : own) {
    if (size == 0) continue;
    ++labels;
    nonzeros += loss == "hinge" ? std::min(features, kSpread * size) : features;
  }
  const double sparse = 8 * nonzeros, dense = 4 * features * labels;
  const double rows = 12.0 * static_cast<double>(data.X.num_nonzeros()) +
                      40.0 * static_cast<double>(data.X.num_rows());
  return static_cast<std::uint64_t>(sparse + std::min(sparse, dense) + rows + 16 * features);
}

// Crammer-Singer: the structured SVM whose paths are single nodes ---------------------------------

/// min 1/2 |U|^2 + C sum_i max_l [U_l.x_i - U_{l_i}.x_i + 1{l != l_i}]. With weights alpha = 1/2 on
/// nodes that are all roots and leaves, NHSVM has the loss sqrt(1/2 + 1/2) = 1 and, as U = W
/// sqrt(1/2), the regulariser 1/2 |W|^2 = |U|^2: twice this objective if its C is twice as large.
constexpr double kRootWeight = 0.5;

TrainResult train_crammer_singer(const FlatSvmOptions& options, const TrainingSet& data,
                                 Executor& executor, RunControl& control) {
  require<InvalidOption>(options.loss == "hinge", "option loss is ", options.loss,
                         ", but must be hinge where multiclass is crammer-singer");
  require<InvalidOption>(options.decision == "auto" || options.decision == "argmax",
                         "option decision is ", options.decision,
                         ", but must be argmax where multiclass is crammer-singer");
  TrainingSet flat = data;  // whatever the hierarchy is, labels compete as equals
  flat.hierarchy = nullptr;
  require_single_labels(flat, "flat-svm with crammer-singer");
  const LeafSets rows = leaf_sets(flat);
  const OccurringLabels occurring =
      occurring_labels(select_rows(*data.labels, rows.kept), data.codec->size());
  std::vector<NodeId> label_of_row;
  for (std::size_t i = 0; i < rows.kept.size(); ++i) label_of_row.push_back(occurring.sets[i][0]);
  const auto num_nodes = static_cast<std::uint32_t>(occurring.labels.size());
  const std::vector<double> alpha(num_nodes, kRootWeight);
  std::vector<double> costs;
  if (!options.cost_matrix.empty()) {
    costs = read_cost_matrix(options.cost_matrix, *data.codec).among(occurring.labels, *data.codec);
  }
  const LeafLoss loss = costs.empty() ? LeafLoss(TaskLoss::normalized) : LeafLoss::of_costs(costs);
  PathSvmResult fit =
      train_path_svm(kept_rows_with_intercept(data.X, rows.kept, options.bias), label_of_row,
                     LabelGraph::flat(num_nodes), alpha, loss,
                     options.training(options.loss_weight() / kRootWeight), executor, control,
                     kept_weights(data.row_weights, rows.kept), data.continuation);
  TrainResult result;
  result.report = to_report(fit.fit);
  result.report.primal *= kRootWeight;
  result.report.dual *= kRootWeight;
  result.report.warnings = rows.warnings;
  result.state = std::move(fit.state);
  result.predictor = std::make_unique<LinearPredictor>(
      flat_parts(occurring.labels, std::move(fit.weights), options.bias,
                 static_cast<std::uint32_t>(data.codec->size())));
  return result;
}

// The methods -------------------------------------------------------------------------------------

TrainResult train_flat_svm(const FlatSvmOptions& options, const TrainingSet& data,
                           Executor& executor, RunControl& control) {
  if (options.multiclass == "crammer-singer") {
    return train_crammer_singer(options, data, executor, control);
  }
  require_one_vs_rest_options(options);
  return train_ovr(options, options.loss, data, executor, control);
}

std::uint64_t flat_svm_memory(const FlatSvmOptions& options, const TrainingSet& data) {
  if (options.multiclass == "ovr") return ovr_memory(options.loss, data);
  const OccurringLabels occurring = occurring_labels(*data.labels, data.codec->size());
  const auto num_nodes = static_cast<std::uint32_t>(occurring.labels.size());
  return path_svm_bytes(data.X, LabelGraph::flat(num_nodes),
                        std::vector<double>(num_nodes, kRootWeight));
}

}  // namespace

Method flat_svm() {
  return make_method<FlatSvmOptions>("flat-svm",
                                     "linear support vector machines without the hierarchy",
                                     train_flat_svm, flat_svm_memory);
}

Method flat_lr() {
  return make_method<FlatOptions>(
      "flat-lr", "logistic regression, each label against the rest, without the hierarchy",
      [](const FlatOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) { return train_ovr(options, "logistic", data, executor, control); },
      [](const FlatOptions&, const TrainingSet& data) { return ovr_memory("logistic", data); });
}

}  // namespace margrove
