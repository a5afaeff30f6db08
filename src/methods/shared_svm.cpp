// shared-svm: the structured SVM over paths or label sets that learns its node weights (NHSVM,
// section 6).

#include "hierarchy/graph_operations.hpp"
#include "margrove/path_estimators.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
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
  std::uint32_t num_known_labels;
};

TrainResult train(const SharedSvmPlan& plan, Executor& executor, RunControl& control) {
  const LeafSets& leaves = plan.leaves;
  const LabelGraph& graph = leaves.tree.graph;
  SharedNormSvmResult fit =
      leaves.sets.single_label()
          ? train_shared_norm_svm(plan.rows.X, leaf_of_row(leaves), graph, plan.solver, executor,
                                  control, plan.rows.weights, plan.costs)
          : train_shared_norm_svm(plan.rows.X, leaves.sets, graph, plan.solver, executor, control,
                                  plan.rows.weights);
  TrainResult result;
  result.report = to_report(fit.fit);
  result.report.warnings = leaves.warnings;
  auto parts = path_parts(leaves, std::move(fit.weights), plan.bias, plan.num_known_labels);
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
      plan.leaves.sets.single_label()
          ? path_svm_memory(X, graph, alpha, !plan.costs.empty(), {}, {}, num_threads)
          : label_set_svm_memory(X, plan.leaves.sets, graph, alpha, {}, {}, num_threads);
  memory.add(one.times(2));
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
                     .bias = options.bias,
                     .leaves = without_common_roots(leaf_sets(data)),
                     .rows = {},
                     .num_known_labels = static_cast<std::uint32_t>(data.codec->size())};
  plan.costs = leaf_costs(options.cost_matrix, plan.leaves, *data.codec);
  plan.rows = planned_rows(data, plan.leaves.kept, options.bias);
  MemoryEstimate memory = memory_of(plan, executor.size());
  return planned(std::move(memory), std::move(plan), train);
}

}  // namespace

Method shared_svm() {
  Method method = make_method<SharedSvmOptions>(
      "structured SVM with shared norm: node weights learned with the classifiers", plan_shared);
  method.needs_hierarchy = true;
  return method;
}

}  // namespace margrove
