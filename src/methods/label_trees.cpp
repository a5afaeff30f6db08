// label-trees: ensembles of learned trees of labels, with one-vs-rest classifiers among the
// children of each node, as those of Parabel (Prabhu, Kag, Harsola, Agrawal and Varma, 2018).

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "data/csr_operations.hpp"
#include "margrove/linear_estimators.hpp"
#include "methods/decision_tuning.hpp"
#include "methods/family_fit.hpp"
#include "methods/label_tree.hpp"
#include "methods/linear_training.hpp"
#include "methods/memory_obstacle.hpp"
#include "methods/methods.hpp"
#include "methods/top_down_families.hpp"
#include "model/label_trees_predictor.hpp"

namespace margrove {
namespace {

struct LabelTreesPlan {
  LabelTreesOptions options;
  double bias;  // value of the constant feature
  PlannedRows rows;
  OccurringLabels occurring;
  LabelGraph trees;  // learned_label_trees() of the occurring labels
  std::vector<std::string> warnings;
  std::uint32_t num_known_labels;

  auto num_labels() const { return static_cast<std::uint32_t>(occurring.labels.size()); }
};

FamilySolver solver_of(const LabelTreesPlan& plan) {
  return {one_vs_rest_options(plan.options, plan.options.loss),
          plan.options.intercept_penalty == 0};
}

/// The leaves of each row's labels in all trees.
LabelSets leaves_of(const LabelTreesPlan& plan, const LabelSets& sets) {
  LabelSets leaves;
  std::vector<LabelId> set;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    set.clear();
    for (NodeId tree = 0; tree < plan.trees.roots().size(); ++tree) {
      const NodeId first = plan.num_labels() * tree;
      for (const LabelId label : sets[i]) set.push_back(first + label);
    }
    leaves.append(set);
  }
  return leaves;
}

/// Of rows with these sets. The roots are no family: all rows are below each.
std::vector<Family> families_below_roots(const LabelTreesPlan& plan, const LabelSets& sets) {
  std::vector<Family> families = families_of(plan.trees, leaves_of(plan, sets));
  std::erase_if(families,
                [&](const Family& family) { return plan.trees.is_root(family.children.front()); });
  mirror_pairs(families);
  return families;
}

FamilyFit fit_part(const LabelTreesPlan& plan, const std::vector<std::uint32_t>& rows,
                   FamilySource& source, Executor& executor, RunControl& control) {
  return fit_families(solver_of(plan),
                      families_below_roots(plan, select_rows(plan.occurring.sets, rows)),
                      plan.trees.num_nodes(), select_rows(plan.rows.X, rows),
                      kept_weights(plan.rows.weights, rows), source, executor, control);
}

/// An inner node has the label of the first leaf below it.
std::vector<LabelId> labels_of_nodes(const LabelTreesPlan& plan) {
  std::vector<LabelId> labels(plan.trees.num_nodes());
  const auto order = plan.trees.topological_order();
  for (auto n = order.rbegin(); n != order.rend(); ++n) {
    labels[*n] = plan.trees.is_leaf(*n) ? plan.occurring.labels[*n % plan.num_labels()]
                                        : labels[plan.trees.children(*n).front()];
  }
  return labels;
}

/// Chooses among `candidates`, leaves of the first tree. The intercept is a column of the rows
/// unless `bias` is given.
std::unique_ptr<LabelTreesPredictor> predictor_of(const LabelTreesPlan& plan, WeightMatrix weights,
                                                  std::vector<NodeId> candidates, double bias,
                                                  Decision decision) {
  LinearPredictor::Parts parts;
  parts.weights = std::move(weights);
  parts.bias = bias;
  parts.graph = plan.trees;
  parts.label_of_node = labels_of_nodes(plan);
  parts.candidates = std::move(candidates);
  parts.num_labels = plan.num_known_labels;
  parts.decision = std::move(decision);
  return std::make_unique<LabelTreesPredictor>(std::move(parts), plan.options.beam);
}

/// The families of the rows that train_label_trees() trains on, in its order.
LabelProblems problems_of(const LabelTreesPlan& plan) {
  const LabelSets& sets = plan.occurring.sets;
  const FamilySolver solver = solver_of(plan);
  LabelProblems all{plan.rows.X, plan.rows.weights, solver.options, solver.free_intercept, {}};
  for (const Split& fold : decision_folds(decision_options(plan.options), sets)) {
    add_problems(families_below_roots(plan, select_rows(sets, fold.training)), &fold.training, all);
  }
  add_problems(families_below_roots(plan, sets), nullptr, all);
  return all;
}

/// The decision is tuned with the trees of all rows, and classifiers that held-out rows had no part
/// in.
TrainResult train_label_trees(const LabelTreesPlan& plan, const LabelFitSource& fits,
                              Executor& executor, RunControl& control) {
  const CsrView X = plan.rows.X;
  const LabelSets& sets = plan.occurring.sets;
  FamilySource source{fits};
  const auto fit_fold = [&](const std::vector<std::uint32_t>& rows, RunControl& share) {
    FamilyFit fit = fit_part(plan, rows, source, executor, share);
    note_end(fit.report.stop, share);
    // Labels without rows here have no classifiers, and are not chosen.
    std::vector<NodeId> known = occurring_labels(select_rows(sets, rows), plan.num_labels()).labels;
    return predictor_of(plan, std::move(fit.weights), std::move(known), 0, {});
  };
  Decision decision = tuned_decision(decision_options(plan.options), X, sets, plan.rows.weights,
                                     plan.occurring.labels, fit_fold, executor, control);
  FamilyFit fit =
      fit_families(solver_of(plan), families_below_roots(plan, sets), plan.trees.num_nodes(), X,
                   plan.rows.weights, source, executor, control);
  TrainResult result;
  result.report = std::move(fit.report);
  result.report.warnings = plan.warnings;
  std::vector<NodeId> all(plan.num_labels());
  std::iota(all.begin(), all.end(), NodeId{0});
  result.predictor =
      predictor_of(plan, std::move(fit.weights), std::move(all), plan.bias, std::move(decision));
  return result;
}

/// Of the trees: their nodes, and the leaves of the rows.
MemoryEstimate trees_memory(const LabelTreesOptions& options, const LabelSets& sets,
                            std::uint32_t num_labels) {
  constexpr double kNodeBytes = 200;  // of a node's edges, lists and weights without features
  const bool is_divided = num_labels > static_cast<std::uint32_t>(options.max_leaves);
  const double trees = is_divided ? options.trees + 1.0 : 1.0;
  const double nodes = num_labels * (1 + 4.0 / options.max_leaves);  // halves have half as many
  MemoryEstimate memory;
  memory.add("trees",
             trees * (kNodeBytes * nodes + 24.0 * static_cast<double>(sets.num_labels_total())));
  return memory;
}

MemoryEstimate memory_of(const LabelTreesPlan& plan, int num_threads) {
  const CsrView X = plan.rows.X;
  const LabelSets& sets = plan.occurring.sets;
  MemoryEstimate memory = planned_rows_memory(plan.rows, sets);
  memory.add(trees_memory(plan.options, sets, plan.num_labels()));
  memory.add(tuned_memory(decision_options(plan.options), X, sets, plan.num_labels(),
                          families_memory(solver_of(plan), families_below_roots(plan, sets),
                                          plan.trees.num_nodes(), X, num_threads)));
  return memory;
}

Plan plan_label_trees(const LabelTreesOptions& options, const TrainingSet& data, Executor& executor,
                      RunControl& control) {
  // Computed before: where an initialiser throws, g++ 12 destroys the members before it twice.
  const double bias = intercept_value_or_free(options, data.X, options.loss);
  TrainingSet flat = data;
  flat.hierarchy = nullptr;
  LeafSets leaves = leaf_sets(flat);
  LabelTreesPlan plan{options,
                      bias,
                      planned_rows(data, leaves.kept, bias),
                      occurring_labels(leaves.sets, data.codec->size()),
                      {},
                      std::move(leaves.warnings),
                      static_cast<std::uint32_t>(data.codec->size())};
  const MemoryEstimate of_trees = trees_memory(options, plan.occurring.sets, plan.num_labels());
  const std::string obstacle = memory_obstacle(of_trees, control.memory_limit() / 1e9);
  require(obstacle.empty(), data.source, ": option trees is ", options.trees, ", but ", obstacle);
  plan.trees = learned_label_trees(
      select_rows(data.X, leaves.kept), plan.occurring.sets, plan.num_labels(),
      {options.trees, options.one_vs_rest, options.max_leaves, options.seed}, control);
  MemoryEstimate memory = memory_of(plan, executor.size());
  return planned(std::move(memory), std::move(plan), train_label_trees, problems_of);
}

}  // namespace

Method label_trees() {
  Method method = make_method<LabelTreesOptions>(
      "ensembles of learned trees of labels, for many labels without a hierarchy", plan_label_trees,
      [](const LabelTreesOptions& options) { return weight_of_hinge(options.loss); });
  method.uses_hierarchy = false;
  return method;
}

}  // namespace margrove
