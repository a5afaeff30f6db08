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

using Solver = SharedSvmOptions::Solver;

struct SharedSvmPlan {
  Solver kind;
  SharedNormSvmOptions solver;  // alternating
  SharedNormSgdOptions sgd;
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

SharedNormSvmResult fit(const SharedSvmPlan& plan, Executor& executor, RunControl& control) {
  const LeafSets& leaves = plan.leaves;
  if (plan.has_label_sets()) {
    return fit_label_sets(plan, plan.rows, leaves.sets, executor, control);
  }
  if (plan.kind == Solver::sgd) {
    return train_shared_norm_svm_by_sgd(plan.rows.X, leaf_of_row(leaves), leaves.tree.graph,
                                        plan.sgd, executor, control, plan.rows.weights);
  }
  return train_shared_norm_svm(plan.rows.X, leaf_of_row(leaves), leaves.tree.graph, plan.solver,
                               executor, control, plan.rows.weights, plan.costs);
}

TrainResult train_shared_norm(const SharedSvmPlan& plan, Executor& executor, RunControl& control) {
  const LeafSets& leaves = plan.leaves;
  Decision decision = decide(plan, executor, control);
  SharedNormSvmResult found = fit(plan, executor, control);
  TrainResult result;
  result.report = to_report(found.fit, leaves.warnings);
  for (std::size_t round = 0; round < found.objectives.size(); ++round) {
    if (!std::isfinite(found.objectives[round])) continue;  // the time limit came before
    result.report.curve.push_back({static_cast<int>(round), found.objectives[round],
                                   std::numeric_limits<double>::quiet_NaN()});
  }
  auto parts = path_parts(leaves, std::move(found.weights), plan.bias, plan.num_known_labels,
                          std::move(decision));
  parts.alpha = std::move(found.alpha);
  result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  return result;
}

/// By alternation there are two solutions at a time: that of the last node weights, and the one
/// being solved or measured. The model is made of the last one alone.
MemoryEstimate memory_of(const SharedSvmPlan& plan, int num_threads) {
  const LabelGraph& graph = plan.leaves.tree.graph;
  const std::vector<double> alpha(graph.num_nodes(), 1.0);
  const CsrView X = plan.rows.X;
  MemoryEstimate memory = planned_rows_memory(plan.rows, plan.leaves.sets);
  if (plan.kind == Solver::sgd) {
    const StructuredTraining training{.solver = StructuredSolver::sgd};
    memory.add(path_svm_memory(X, graph, alpha, false, training, {}, num_threads));
    memory.add("model of the last round", path_weight_bytes(X, graph, alpha));
    return memory;
  }
  const MemoryEstimate one =
      plan.has_label_sets()
          ? label_set_svm_memory(X, plan.leaves.sets, graph, alpha, {}, {}, num_threads)
          : path_svm_memory(X, graph, alpha, !plan.costs.empty(), {}, {}, num_threads);
  MemoryEstimate two;
  for (const MemoryEstimate::Part& part : one.parts()) {
    if (part.name != "model") two.add(part.name, 2 * part.bytes);
  }
  MemoryEstimate training = larger_of(std::move(two), one);
  memory.add(plan.has_label_sets()
                 ? label_set_decision_memory(plan.tuning, plan.leaves, plan.rows, training)
                 : training);
  return memory;
}

/// Throws InvalidOption if an option is set that the solver does not use, or sgd cannot train on
/// the rows.
void require_suitable(SharedSvmOptions options, const LeafSets& leaves) {
  const OptionTable table(options);
  if (options.solver == Solver::alternating) {
    require_defaults(table, {"epochs"}, "solver sgd", "solver is alternating");
    return;
  }
  require_defaults(table, {"tolerance", "max_passes", "cost_matrix"}, "solver alternating",
                   "solver is sgd");
  require<InvalidOption>(leaves.sets.single_label(),
                         "option solver is sgd, which is for rows with one label, but some rows "
                         "have several");
  require<InvalidOption>(leaves.tree.graph.is_tree(),
                         "option solver is sgd, which is for trees, but some nodes of the "
                         "hierarchy have several parents");
}

Plan plan_shared(const SharedSvmOptions& options, const TrainingSet& data, Executor& executor,
                 RunControl&) {
  const double C = loss_weight(options);
  SharedSvmPlan plan{
      .kind = options.solver,
      .solver = {.task_loss = options.task_loss,
                 .C = C,
                 .tolerance = options.tolerance,
                 .max_rounds = options.max_rounds.value_or(SharedNormSvmOptions{}.max_rounds),
                 .max_passes = options.max_passes,
                 .seed = options.seed},
      .sgd = {.task_loss = options.task_loss,
              .C = C,
              .epochs = options.epochs,
              .max_rounds = options.max_rounds.value_or(SharedNormSgdOptions{}.max_rounds),
              .seed = options.seed},
      .costs = {},
      .bias = intercept_value(options),
      .leaves = without_common_roots(leaf_sets(data)),
      .rows = {},
      .tuning = {decision_options(options), data.hierarchy},
      .num_known_labels = static_cast<std::uint32_t>(data.codec->size())};
  require_suitable(options, plan.leaves);
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
