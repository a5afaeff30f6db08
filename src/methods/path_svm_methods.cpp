// hsvm and nhsvm: structured SVMs over root-to-leaf paths, or over label sets if rows have several
// labels (NHSVM, sections 3 to 5).

#include "hierarchy/graph_operations.hpp"
#include "hierarchy/weight_paths.hpp"
#include "margrove/path_estimators.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "outputs/label_set/label_set_decision.hpp"
#include "outputs/label_set/label_set_svm.hpp"
#include "outputs/path/path_svm.hpp"

namespace margrove {
namespace {

/// The plan of both methods.
struct PathPlan {
  StructuredTraining solver;
  TaskLoss loss;              // of paths
  std::vector<double> costs;  // of a cost matrix in place of the loss; empty: none
  LabelSetTask task;          // of label sets
  double bias;
  Continuation continuation;
  LeafSets leaves;
  LeafChoices choices;  // of rows with partial labels
  std::vector<double> alpha;
  PlannedRows rows;
  LabelSetTuning tuning;
  std::uint32_t num_known_labels;
  bool has_label_sets() const { return !leaves.sets.single_label(); }
};

PathSvmResult fit_label_sets(const PathPlan& plan, const PlannedRows& rows, const LabelSets& sets,
                             const Continuation& continuation, Executor& executor,
                             RunControl& control) {
  return train_label_set_svm(rows.X, sets, plan.leaves.tree.graph, plan.alpha, plan.task,
                             plan.solver, executor, control, rows.weights, continuation);
}

PathSvmResult fit(const PathPlan& plan, Executor& executor, RunControl& control) {
  const LeafSets& leaves = plan.leaves;
  if (plan.has_label_sets()) {
    return fit_label_sets(plan, plan.rows, leaves.sets, plan.continuation, executor, control);
  }
  if (!plan.choices.all_known()) {
    return train_partial_path_svm(plan.rows.X, leaf_of_row(leaves), plan.choices, leaves.tree.graph,
                                  plan.alpha, {plan.loss, plan.costs}, plan.solver, executor,
                                  control, plan.rows.weights, plan.continuation);
  }
  return train_path_svm(plan.rows.X, leaf_of_row(leaves), leaves.tree.graph, plan.alpha,
                        {plan.loss, plan.costs}, plan.solver, executor, control, plan.rows.weights,
                        plan.continuation);
}

Decision decide(const PathPlan& plan, Executor& executor, RunControl& control) {
  if (!plan.has_label_sets()) return ArgmaxDecision{};
  const auto fit_part = [&](const PlannedRows& rows, const LabelSets& sets, RunControl& share) {
    // Like the training on all rows, sgd makes its epochs after those of an earlier run.
    return fit_label_sets(plan, rows, sets, {.start = plan.continuation.start}, executor, share)
        .weights;
  };
  return label_set_decision(plan.tuning, plan.leaves, plan.rows, fit_part, executor, control);
}

TrainResult train_paths(const PathPlan& plan, Executor& executor, RunControl& control) {
  Decision decision = decide(plan, executor, control);
  PathSvmResult found = fit(plan, executor, control);
  TrainResult result;
  result.report = to_report(found.fit, plan.leaves.warnings);
  for (const auto& round : found.rounds) {
    result.report.curve.push_back({round.passes, round.objective, round.dual});
  }
  std::string warning = unweighted_leaves(plan.leaves.tree.graph, plan.alpha);
  if (!warning.empty()) result.report.warnings.push_back(std::move(warning));
  auto parts = path_parts(plan.leaves, std::move(found.weights), plan.bias, plan.num_known_labels,
                          std::move(decision));
  parts.alpha = plan.alpha;
  result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  result.state = std::move(found.state);
  return result;
}

MemoryEstimate memory_of(const PathPlan& plan, int num_threads) {
  const LeafSets& leaves = plan.leaves;
  MemoryEstimate memory = planned_rows_memory(plan.rows, leaves.sets);
  if (!plan.choices.all_known()) {
    memory.add(partial_path_svm_memory(plan.rows.X, plan.choices, leaves.tree.graph, plan.alpha,
                                       plan.solver, num_threads));
    return memory;
  }
  memory.add(plan.has_label_sets()
                 ? label_set_decision_memory(
                       plan.tuning, leaves, plan.rows,
                       label_set_svm_memory(plan.rows.X, leaves.sets, leaves.tree.graph, plan.alpha,
                                            plan.solver, plan.continuation, num_threads))
                 : path_svm_memory(plan.rows.X, leaves.tree.graph, plan.alpha, !plan.costs.empty(),
                                   plan.solver, plan.continuation, num_threads));
  return memory;
}

/// The normalized loss is the root of the criterion g: psi = m + g^(1/2).
void set_label_set_loss(LabelSetLoss loss, PathPlan& plan) {
  if (loss == LabelSetLoss::leaves) return;  // the default, of rows with one label, too
  require<InvalidOption>(plan.has_label_sets(), "option set_loss is ", name_of(loss),
                         ", but every row has one label; it is for rows with several");
  if (loss != LabelSetLoss::normalized) return;
  AnySurrogate& surrogate = plan.solver.surrogate;
  require<InvalidOption>(is<MarginRescaling>(surrogate),
                         "option set_loss is normalized, which needs surrogate margin, but "
                         "surrogate is ",
                         surrogate.to_text());
  require<InvalidOption>(plan.task.inference == Inference::exact,
                         "option set_loss is normalized, but inference is relaxed, whose task loss "
                         "is a sum over nodes");
  surrogate = GeneralisedScaling(0, 0.5);
}

/// Options: HSvmOptions or NhSvmOptions.
template <class Options, TaskLoss loss>
Plan make_path_plan(const Options& options, const TrainingSet& data, Executor& executor,
                    RunControl& control) {
  PathPlan plan{.solver = structured_training(options, loss_weight(options)),
                .loss = loss,
                .costs = {},
                .task = {options.inference, options.set_loss},
                .bias = intercept_value(options),
                .continuation = data.continuation,
                .leaves = without_common_roots(leaf_sets_of(options, data)),
                .choices = {},
                .alpha = {},
                .rows = {},
                .tuning = {decision_options(options), data.hierarchy},
                .num_known_labels = static_cast<std::uint32_t>(data.codec->size())};
  require_label_sets(plan.tuning.options, plan.leaves);
  set_label_set_loss(options.set_loss, plan);
  if (options.partial_labels) {
    plan.choices =
        LeafChoices(plan.leaves.tree.graph, leaf_of_row(plan.leaves), plan.leaves.candidates);
  }
  plan.costs = leaf_costs(options.cost_matrix, plan.leaves, *data.codec);
  plan.alpha = node_weights(plan.leaves.tree.graph, options.alpha,
                            {.merge_duplicates = options.merge_duplicates}, &control)
                   .alpha;
  plan.rows = planned_rows(data, plan.leaves.kept, plan.bias);
  MemoryEstimate memory = memory_of(plan, executor.size());
  const bool keeps_checkpoints = plan.choices.all_known() && writes_checkpoints(plan.solver);
  Plan made = planned(std::move(memory), std::move(plan), train_paths);
  made.keeps_checkpoints = keeps_checkpoints;
  return made;
}

}  // namespace

Method hsvm() {
  Method method =
      make_method<HSvmOptions>("hierarchical SVM: a structured SVM over paths with Hamming loss",
                               make_path_plan<HSvmOptions, TaskLoss::hamming>,
                               [](const HSvmOptions&) { return kEqualNodesWeight; });
  method.needs_hierarchy = true;
  return method;
}

Method nhsvm() {
  Method method = make_method<NhSvmOptions>(
      "normalized hierarchical SVM: paths of equal weight, normalized loss",
      make_path_plan<NhSvmOptions, TaskLoss::normalized>,
      [](const NhSvmOptions&) { return kNormalizedPathWeight; });
  method.needs_hierarchy = true;
  return method;
}

}  // namespace margrove
