// level-svm: one-vs-rest classifiers at all levels of the hierarchy, and a leaf's score as the sum
// of those on its paths, with a weight for each level that held-out rows choose.

#include <memory>
#include <utility>

#include "base/out_of_time.hpp"
#include "data/csr_operations.hpp"
#include "linear/one_vs_rest.hpp"
#include "margrove/linear_estimators.hpp"
#include "methods/decision_tuning.hpp"
#include "methods/level_fit.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "model/splits.hpp"

namespace margrove {
namespace {

struct LevelPlan {
  OneVsRestOptions solver;
  DecisionOptions decision;
  double bias;  // value of the constant feature
  bool free_intercept;
  LeafSets leaves;
  PlannedRows rows;
  OccurringLabels at_nodes;  // the nodes at or above the leaves of each row
  std::uint32_t num_known_labels;

  LevelNodes nodes() const { return {leaves.tree.graph, at_nodes.labels, leaves.candidates}; }
  std::uint32_t num_nodes() const { return static_cast<std::uint32_t>(at_nodes.labels.size()); }
};

/// The set of a row becomes the nodes at or above it: the union of A(l).
OccurringLabels sets_at_nodes(const LeafSets& leaves) {
  const LabelGraph& graph = leaves.tree.graph;
  const NodeLists above = ancestor_sets(graph, leaves.candidates);
  LabelSets sets;
  std::vector<NodeId> set;
  for (std::size_t i = 0; i < leaves.sets.num_rows(); ++i) {
    set.clear();
    for (const NodeId leaf : leaves.sets[i]) {
      set.insert(set.end(), above[leaf].begin(), above[leaf].end());
    }
    std::ranges::sort(set);
    set.erase(std::unique(set.begin(), set.end()), set.end());
    sets.append(set);
  }
  return occurring_labels(sets, graph.num_nodes());
}

/// The folds that fit the level weights and tune the decision.
std::vector<Split> folds_of(const LevelPlan& plan) {
  if (plan.leaves.sets.num_rows() < 2) return {};
  return validation_folds(plan.leaves.sets, plan.decision.folds, plan.decision.seed);
}

/// The folds, then all rows: the order of train_level_svm().
LabelProblems level_problems_of(const LevelPlan& plan) {
  LabelProblems all{plan.rows.X, plan.rows.weights, plan.solver, plan.free_intercept, {}};
  for (const Split& split : folds_of(plan)) {
    all.problems.push_back(
        {split.training, select_rows(plan.at_nodes.sets, split.training), plan.num_nodes()});
  }
  all.problems.push_back({std::nullopt, plan.at_nodes.sets, plan.num_nodes()});
  return all;
}

OneVsRestFit fit_nodes(const LevelPlan& plan, const CsrView& X, const LabelSets& sets,
                       std::span<const double> row_weights, Executor& executor,
                       RunControl& control) {
  OneVsRestExtras extras;
  extras.row_weights = row_weights;
  extras.free_intercept = plan.free_intercept;
  return train_one_vs_rest(X, sets, plan.num_nodes(), plan.solver, executor, control, extras);
}

/// Classifiers and the rows that they were not trained on.
struct Fold {
  std::vector<std::uint32_t> held_out;
  WeightMatrix classifiers;
};

std::unique_ptr<LinearPredictor> predictor_of(const LevelPlan& plan,
                                              const WeightMatrix& classifiers,
                                              const LevelWeights& levels, double bias,
                                              Decision decision) {
  LinearPredictor::Parts parts =
      path_parts(plan.leaves, path_weights(plan.nodes(), classifiers, levels, plan.bias), bias,
                 plan.num_known_labels, std::move(decision));
  parts.levels = levels;
  return std::make_unique<LinearPredictor>(std::move(parts));
}

TrainResult train_level_svm(const LevelPlan& plan, const LabelFitSource& source, Executor& executor,
                            RunControl& control) {
  const CsrView X = plan.rows.X;
  const LabelSets& sets = plan.leaves.sets;
  const std::vector<double>& weights = plan.rows.weights;
  std::size_t problem = 0;
  const auto next_fit = [&] { return joined(X.num_columns(), source(problem++), executor); };
  HeldOutLevels scores(plan.nodes(), sets, weights);
  DecisionTuner tuner(plan.decision, sets, weights, plan.leaves.tree.label_of_node);
  std::vector<Fold> folds;
  bool has_fold = false;
  const auto score_fold = [&](const Split& split, RunControl& share) {
    const auto& rows = split.training;
    OneVsRestFit fit =
        source ? next_fit()
               : fit_nodes(plan, select_rows(X, rows), select_rows(plan.at_nodes.sets, rows),
                           kept_weights(weights, rows), executor, share);
    end_if_interrupted(control);
    if (std::exchange(has_fold, true) && !control.proceed()) return;  // earlier folds must do
    scores.add(X, split.validation, fit.weights, executor);
    if (tuner.needs_scores()) folds.push_back({split.validation, std::move(fit.weights)});
  };
  if (sets.num_rows() >= 2) {
    cross_validate(sets, plan.decision.folds, plan.decision.seed, control, score_fold);
  }
  const LevelWeights levels = scores.fit(plan.bias > 0, executor, control);
  for (Fold& fold : folds) {
    const WeightMatrix classifiers = std::exchange(fold.classifiers, {});
    tuner.add(*predictor_of(plan, classifiers, levels, 0, {}), X, fold.held_out, executor);
  }
  const OneVsRestFit fit =
      source ? next_fit() : fit_nodes(plan, X, plan.at_nodes.sets, weights, executor, control);
  TrainResult result;
  result.report = to_report(fit);
  result.report.warnings = plan.leaves.warnings;
  result.predictor = predictor_of(plan, fit.weights, levels, plan.bias, tuner.tuned());
  return result;
}

MemoryEstimate memory_of(const LevelPlan& plan, int num_threads) {
  const CsrView X = plan.rows.X;
  const auto rows = static_cast<double>(X.num_rows());
  const LabelSets& at_nodes = plan.at_nodes.sets;
  double nonzeros = 0;
  for (const double count :
       expected_nonzeros(X, at_nodes, plan.num_nodes(), plan.solver.loss, plan.solver.C)) {
    nonzeros += count;
  }
  MemoryEstimate training =
      one_vs_rest_memory(X, at_nodes, plan.num_nodes(), plan.solver, num_threads);
  training.add("weights of the paths", 8 * nonzeros);
  MemoryEstimate fold = training.times(1 - 1.0 / plan.decision.folds);
  fold.add("rows of a fold", 8.0 * static_cast<double>(X.num_nonzeros()) + 8 * rows);
  training = larger_of(std::move(fold), std::move(training));
  MemoryEstimate memory = planned_rows_memory(plan.rows, plan.leaves.sets);
  memory.add("nodes of rows", 12 * rows + 8.0 * static_cast<double>(at_nodes.num_labels_total()));
  memory.add("scores of held-out rows",
             HeldOutLevels::num_bytes(X.num_rows(), plan.at_nodes.labels.size()));
  const DecisionTuner tuner(plan.decision, plan.leaves.sets, plan.rows.weights, {});
  if (tuner.needs_scores()) {
    memory.add("classifiers of the folds", 8 * nonzeros * plan.decision.folds);
  }
  memory.add(tuned_memory(plan.decision, X, plan.leaves.sets,
                          static_cast<std::uint32_t>(plan.leaves.candidates.size()),
                          std::move(training)));
  return memory;
}

Plan plan_level_svm(const LevelSvmOptions& options, const TrainingSet& data, Executor& executor,
                    RunControl&) {
  // Computed before: where an initialiser throws, g++ 12 destroys the members before it twice.
  const double bias = intercept_value_or_free(options, data.X, options.loss);
  TrainingSet occurring = data;
  occurring.expected_labels = {};  // only labels that occur have classifiers
  LeafSets leaves = without_common_roots(leaf_sets(occurring));
  LevelPlan plan{.solver = one_vs_rest_options(options, options.loss),
                 .decision = decision_options(options),
                 .bias = bias,
                 .free_intercept = options.intercept_penalty == 0,
                 .leaves = std::move(leaves),
                 .rows = {},
                 .at_nodes = {},
                 .num_known_labels = static_cast<std::uint32_t>(data.codec->size())};
  plan.rows = planned_rows(data, plan.leaves.kept, bias);
  plan.at_nodes = sets_at_nodes(plan.leaves);
  MemoryEstimate memory = memory_of(plan, executor.size());
  return planned(std::move(memory), std::move(plan), train_level_svm, level_problems_of);
}

}  // namespace

Method level_svm() {
  Method method = make_method<LevelSvmOptions>(
      "one-vs-rest classifiers at all levels, with level weights from held-out rows",
      plan_level_svm, [](const LevelSvmOptions& options) { return weight_of_hinge(options.loss); });
  method.needs_hierarchy = true;
  return method;
}

}  // namespace margrove
