// top-down-svm: one-vs-rest classifiers among the children of each node, trained on the rows below
// it (HR's baseline TD). In a DAG a node has one classifier, whatever the number of its parents.

#include <memory>
#include <utility>
#include <vector>

#include "base/time_share.hpp"
#include "hierarchy/graph_operations.hpp"
#include "margrove/linear_estimators.hpp"
#include "methods/decision_tuning.hpp"
#include "methods/family_fit.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "methods/top_down_families.hpp"
#include "model/splits.hpp"
#include "model/top_down_predictor.hpp"

namespace margrove {
namespace {

/// To learn the scale, one of so many folds is held out.
constexpr int kScaleFolds = 3;

struct TopDownPlan {
  TopDownSvmOptions options;
  LeafSets leaves;
  PlannedRows rows;
  std::uint32_t num_known_labels;
  double bias;  // value of the constant feature
};

FamilySolver solver_of(const TopDownPlan& plan) {
  return {one_vs_rest_options(plan.options, plan.options.loss),
          plan.options.intercept_penalty == 0};
}

/// A linear model that chooses among `candidates`; the intercept is a column of the rows.
LinearPredictor::Parts parts_of(const TopDownPlan& plan, WeightMatrix weights,
                                std::vector<NodeId> candidates) {
  LinearPredictor::Parts parts;
  parts.weights = std::move(weights);
  parts.graph = plan.leaves.tree.graph;
  parts.label_of_node = plan.leaves.tree.label_of_node;
  parts.candidates = std::move(candidates);
  parts.num_labels = plan.num_known_labels;
  return parts;
}

FamilyFit fit_part(const TopDownPlan& plan, const std::vector<std::uint32_t>& rows,
                   FamilySource& source, Executor& executor, RunControl& control) {
  const LabelGraph& graph = plan.leaves.tree.graph;
  return fit_families(solver_of(plan), families_of(graph, select_rows(plan.leaves.sets, rows)),
                      graph.num_nodes(), select_rows(plan.rows.X, rows),
                      kept_weights(plan.rows.weights, rows), source, executor, control);
}

/// A greedy search compares only siblings, whose order no scale changes.
bool needs_scale(const TopDownPlan& plan) {
  return plan.options.beam != 1 && plan.rows.X.num_rows() >= kScaleFolds;
}

/// Of which the first fold is held out.
Split scale_split(const TopDownPlan& plan) {
  return stratified_folds(plan.leaves.sets, kScaleFolds, plan.options.seed).front();
}

/// Learned on held-out rows, because margins of training rows are larger than those of new rows.
/// The model is trained on the other rows and chooses among their labels.
double learned_scale(const TopDownPlan& plan, FamilySource& source, Executor& executor,
                     RunControl& control) {
  if (!needs_scale(plan)) return TopDownPredictor::kDefaultScale;
  const LabelSets& sets = plan.leaves.sets;
  const Split split = scale_split(plan);
  // A third of the time, because at least one longer training follows.
  RunControl share = time_share(control, control.seconds_left() / 3);
  FamilyFit fit = fit_part(plan, split.training, source, executor, share);
  std::vector<NodeId> candidates =
      occurring_labels(select_rows(sets, split.training), plan.leaves.tree.graph.num_nodes())
          .labels;
  std::erase_if(candidates, [&](NodeId n) { return !plan.leaves.tree.graph.is_leaf(n); });
  const TopDownPredictor predictor(parts_of(plan, std::move(fit.weights), std::move(candidates)),
                                   plan.options.beam);
  return predictor.fitted_scale(select_rows(plan.rows.X, split.validation),
                                select_rows(sets, split.validation),
                                kept_weights(plan.rows.weights, split.validation), executor);
}

/// The families of the rows that train_top_down() trains on, in its order.
LabelProblems family_problems_of(const TopDownPlan& plan) {
  const LabelGraph& graph = plan.leaves.tree.graph;
  const LabelSets& sets = plan.leaves.sets;
  LabelProblems all{plan.rows.X,
                    plan.rows.weights,
                    one_vs_rest_options(plan.options, plan.options.loss),
                    plan.options.intercept_penalty == 0,
                    {}};
  const auto add_part = [&](const std::vector<std::uint32_t>& rows) {
    add_problems(families_of(graph, select_rows(sets, rows)), &rows, all);
  };
  if (needs_scale(plan)) add_part(scale_split(plan).training);
  for (const Split& fold : decision_folds(decision_options(plan.options), sets)) {
    add_part(fold.training);
  }
  add_problems(families_of(graph, sets), nullptr, all);
  return all;
}

TrainResult train_top_down(const TopDownPlan& plan, const LabelFitSource& fits, Executor& executor,
                           RunControl& control) {
  const LeafSets& leaves = plan.leaves;
  const LabelGraph& graph = leaves.tree.graph;
  const CsrView X = plan.rows.X;
  FamilySource source{fits};
  const double scale = learned_scale(plan, source, executor, control);
  const auto predictor_of = [&](LinearPredictor::Parts parts) {
    return std::make_unique<TopDownPredictor>(std::move(parts), plan.options.beam, scale);
  };
  const auto fit_fold = [&](const std::vector<std::uint32_t>& rows, RunControl& share) {
    FamilyFit fit = fit_part(plan, rows, source, executor, share);
    note_end(fit.report.stop, share);
    return predictor_of(parts_of(plan, std::move(fit.weights), leaves.candidates));
  };
  Decision decision =
      tuned_decision(decision_options(plan.options), X, leaves.sets, plan.rows.weights,
                     leaves.tree.label_of_node, fit_fold, executor, control);
  FamilyFit fit = fit_families(solver_of(plan), families_of(graph, leaves.sets), graph.num_nodes(),
                               X, plan.rows.weights, source, executor, control);
  TrainResult result;
  result.report = std::move(fit.report);
  result.report.warnings = leaves.warnings;
  LinearPredictor::Parts parts = parts_of(plan, std::move(fit.weights), leaves.candidates);
  parts.bias = plan.bias;
  parts.decision = std::move(decision);
  result.predictor = predictor_of(std::move(parts));
  return result;
}

MemoryEstimate memory_of(const TopDownPlan& plan, int num_threads) {
  const CsrView X = plan.rows.X;
  const LeafSets& leaves = plan.leaves;
  const LabelGraph& graph = leaves.tree.graph;
  MemoryEstimate training = families_memory(solver_of(plan), families_of(graph, leaves.sets),
                                            graph.num_nodes(), X, num_threads);
  if (needs_scale(plan)) {
    MemoryEstimate fold = training.times(1 - 1.0 / kScaleFolds);
    fold.add("rows of a fold", 8.0 * static_cast<double>(X.num_nonzeros()) +
                                   24.0 * static_cast<double>(X.num_rows()));
    training = larger_of(std::move(training), std::move(fold));
  }
  MemoryEstimate memory = planned_rows_memory(plan.rows, leaves.sets);
  memory.add(tuned_memory(decision_options(plan.options), X, leaves.sets,
                          static_cast<std::uint32_t>(leaves.candidates.size()),
                          std::move(training)));
  return memory;
}

Plan make_top_down_plan(const TopDownSvmOptions& options, const TrainingSet& data,
                        Executor& executor, RunControl&) {
  // Computed before: where an initialiser throws, g++ 12 destroys the members before it twice.
  const double bias = intercept_value_or_free(options, data.X, options.loss);
  TopDownPlan plan{options,
                   leaf_sets_of(options, data),
                   {},
                   static_cast<std::uint32_t>(data.codec->size()),
                   bias};
  plan.rows = planned_rows(data, plan.leaves.kept, plan.bias);
  MemoryEstimate memory = memory_of(plan, executor.size());
  return planned(std::move(memory), std::move(plan), train_top_down, family_problems_of);
}

}  // namespace

Method top_down_svm() {
  Method method = make_method<TopDownSvmOptions>(
      "one-vs-rest classifiers among the children of each node, from the top down",
      make_top_down_plan,
      [](const TopDownSvmOptions& options) { return weight_of_hinge(options.loss); });
  method.needs_hierarchy = true;
  return method;
}

}  // namespace margrove
