// shared-svm: the structured SVM over paths or label sets that learns its node weights (NHSVM,
// section 6).

#include <cmath>
#include <limits>

#include "hierarchy/graph_operations.hpp"
#include "margrove/path_estimators.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "outputs/label_set/label_set_decision.hpp"
#include "outputs/path/path_svm.hpp"
#include "outputs/shared_norm_svm.hpp"

namespace margrove {
namespace {

struct SharedSvmPlan {
  SharedNormSvmOptions solver;
  std::vector<double> costs;  // of a cost matrix in place of the task loss; empty: none
  double bias;
  LeafSets leaves;
  PlannedRows rows;
  LabelSetTuning tuning;
  std::uint32_t num_known_labels;
  bool has_label_sets() const { return !leaves.sets.single_label(); }
};

SharedNormSvmResult fit_label_sets(const SharedSvmPlan& plan, const PlannedRows& rows,
                                   const LabelSets& sets, Executor& executor, RunControl& control) {
  return train_shared_norm_svm(rows.X, sets, plan.leaves.tree.graph, plan.solver, executor, control,
                               rows.weights);
}

Decision decide(const SharedSvmPlan& plan, Executor& executor, RunControl& control) {
  if (!plan.has_label_sets()) return ArgmaxDecision{};
  const auto fit_part = [&](const PlannedRows& rows, const LabelSets& sets, RunControl& share) {
    return fit_label_sets(plan, rows, sets, executor, share).weights;
  };
  return label_set_decision(plan.tuning, plan.leaves, plan.rows, fit_part, executor, control);
}

TrainResult train_shared_norm(const SharedSvmPlan& plan, Executor& executor, RunControl& control) {
  const LeafSets& leaves = plan.leaves;
  Decision decision = decide(plan, executor, control);
  SharedNormSvmResult fit =
      plan.has_label_sets()
          ? fit_label_sets(plan, plan.rows, leaves.sets, executor, control)
          : train_shared_norm_svm(plan.rows.X, leaf_of_row(leaves), leaves.tree.graph, plan.solver,
                                  executor, control, plan.rows.weights, plan.costs);
  TrainResult result;
  result.report = to_report(fit.fit, leaves.warnings);
  for (std::size_t round = 0; round < fit.objectives.size(); ++round) {
    if (!std::isfinite(fit.objectives[round])) continue;  // the time limit came before
    result.report.curve.push_back(
        {static_cast<int>(round), fit.objectives[round], std::numeric_limits<double>::quiet_NaN()});
  }
  auto parts = path_parts(leaves, std::move(fit.weights), plan.bias, plan.num_known_labels,
                          std::move(decision));
  parts.alpha = std::move(fit.alpha);
  result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  return result;
}

/// There are two models at a time: that of the last node weights, and the one being solved or
/// measured.
MemoryEstimate memory_of(const SharedSvmPlan& plan, int num_threads) {
  const LabelGraph& graph = plan.leaves.tree.graph;
  const std::vector<double> alpha(graph.num_nodes(), 1.0);
  const CsrView X = plan.rows.X;
  MemoryEstimate memory = planned_rows_memory(plan.rows, plan.leaves.sets);
  const MemoryEstimate one =
      plan.has_label_sets()
          ? label_set_svm_memory(X, plan.leaves.sets, graph, alpha, {}, {}, num_threads)
          : path_svm_memory(X, graph, alpha, !plan.costs.empty(), {}, {}, num_threads);
  memory.add(plan.has_label_sets()
                 ? label_set_decision_memory(plan.tuning, plan.leaves, plan.rows, one.times(2))
                 : one.times(2));
  return memory;
}

Plan plan_shared(const SharedSvmOptions& options, const TrainingSet& data, Executor& executor,
                 RunControl&) {
  SharedSvmPlan plan{.solver = {.task_loss = options.task_loss,
                                .C = loss_weight(options),
                                .tolerance = options.tolerance,
                                .max_rounds = options.max_rounds,
                                .max_passes = options.max_passes,
                                .seed = options.seed},
                     .costs = {},
                     .bias = intercept_value(options),
                     .leaves = without_common_roots(leaf_sets(data)),
                     .rows = {},
                     .tuning = {decision_options(options), data.hierarchy},
                     .num_known_labels = static_cast<std::uint32_t>(data.codec->size())};
  require_label_sets(plan.tuning.options, plan.leaves);
  plan.costs = leaf_costs(options.cost_matrix, plan.leaves, *data.codec);
  plan.rows = planned_rows(data, plan.leaves.kept, plan.bias);
  MemoryEstimate memory = memory_of(plan, executor.size());
  return planned(std::move(memory), std::move(plan), train_shared_norm);
}

}  // namespace

Method shared_svm() {
  Method method = make_method<SharedSvmOptions>(
      "structured SVM with shared norm: node weights learned with the classifiers", plan_shared,
      [](const SharedSvmOptions&) { return kPathHingeWeight; });
  method.needs_hierarchy = true;
  return method;
}

}  // namespace margrove
