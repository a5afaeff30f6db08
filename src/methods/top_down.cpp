// top-down-svm: one-vs-rest classifiers among the children of each node, trained on the rows below
// it (HR's baseline TD). In a DAG a node has one classifier, whatever the number of its parents.

#include <algorithm>
#include <numeric>

#include "base/time_share.hpp"
#include "hierarchy/graph_operations.hpp"
#include "linear/one_vs_rest.hpp"
#include "margrove/linear_estimators.hpp"
#include "methods/decision_tuning.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "methods/top_down_families.hpp"
#include "model/splits.hpp"
#include "model/top_down_predictor.hpp"

namespace margrove {
namespace {

/// Rows with only the columns that they use.
struct NarrowRows {
  CsrMatrix X;
  std::vector<FeatureId> columns;  // column of X -> original column, ascending
};

NarrowRows narrow(const CsrView& X, std::span<const std::uint32_t> rows) {
  NarrowRows narrow;
  std::vector<bool> is_used(X.num_columns(), false);
  for (const std::uint32_t i : rows) {
    for (const FeatureId j : X.row(i).columns) is_used[j] = true;
  }
  std::vector<FeatureId> position(X.num_columns());
  for (FeatureId j = 0; j < X.num_columns(); ++j) {
    if (!is_used[j]) continue;
    position[j] = static_cast<FeatureId>(narrow.columns.size());
    narrow.columns.push_back(j);
  }
  narrow.X = CsrMatrix(static_cast<std::uint32_t>(narrow.columns.size()));
  std::vector<FeatureId> columns;
  for (const std::uint32_t i : rows) {
    columns.clear();
    for (const FeatureId j : X.row(i).columns) columns.push_back(position[j]);
    narrow.X.append_row(columns, X.row(i).values);
  }
  return narrow;
}

/// With features in the columns of X.
std::vector<LabelFit> fit_children(const TopDownSvmOptions& options, const Family& family,
                                   const CsrView& X, std::span<const double> row_weights,
                                   Executor& executor, RunControl& control) {
  const NarrowRows rows = narrow(X, family.rows);
  const std::vector<double> weights = kept_weights(row_weights, family.rows);
  OneVsRestExtras extras;
  extras.row_weights = weights;
  extras.free_intercept = options.intercept_penalty == 0;
  std::vector<LabelFit> children =
      train_label_blocks(rows.X, family.sets, static_cast<std::uint32_t>(family.children.size()),
                         one_vs_rest_options(options, options.loss), {}, executor, control, extras);
  for (LabelFit& child : children) {
    for (FeatureId& j : child.weights.features) j = rows.columns[j];
  }
  return children;
}

/// The fits of one training, whose labels become nodes.
struct NodeFits {
  explicit NodeFits(std::uint32_t num_nodes) : of_node(num_nodes) {}

  std::vector<LabelFit> of_node;

  /// Takes those of a family. Families have no node in common, so that threads may add them.
  void take(const Family& family, std::vector<LabelFit> children) {
    for (std::size_t k = 0; k < children.size(); ++k) {
      of_node[family.children[k]] = std::move(children[k]);
    }
  }

  /// In the order of the families.
  FitReport report(const std::vector<Family>& families) const {
    FitReport report;
    report.primal = report.dual = 0;
    for (const Family& family : families) {
      double primal = 0, dual = 0;
      for (const NodeId child : family.children) {
        const BinaryFit& fit = of_node[child].fit;
        primal += fit.primal;
        dual += fit.dual;
        report.passes = std::max(report.passes, fit.passes);
        report.stop = std::max(report.stop, fit.stop);
      }
      report.primal += primal;
      report.dual += dual;
    }
    report.relative_gap = report.primal > 0 ? (report.primal - report.dual) / report.primal : 0.0;
    return report;
  }
};

struct TopDownFit {
  WeightMatrix weights;
  FitReport report;
};

/// The fits of families that were trained elsewhere, in the order of family_problems_of(); null:
/// none.
struct FamilySource {
  const LabelFitSource& fits;
  std::size_t next = 0;
};

/// X has the intercept column; `sets` has leaves of `graph`, and inner nodes that are partial
/// labels.
TopDownFit fit_rows(const TopDownSvmOptions& options, const LabelGraph& graph, const CsrView& X,
                    const LabelSets& sets, std::span<const double> row_weights,
                    FamilySource& source, Executor& executor, RunControl& control) {
  constexpr std::size_t kManyRows = 4096;  // families with at least so many rows use all threads
  const std::vector<Family> families = families_of(graph, sets);
  NodeFits fits(graph.num_nodes());
  std::vector<std::size_t> small;
  for (std::size_t f = 0; f < families.size(); ++f) {
    if (source.fits) {
      fits.take(families[f], source.fits(source.next++));
    } else if (families[f].rows.size() < kManyRows) {
      small.push_back(f);
    } else {
      fits.take(families[f], fit_children(options, families[f], X, row_weights, executor, control));
    }
  }
  executor.for_each(small.size(), [&](std::size_t k, int) {
    const Family& family = families[small[k]];
    fits.take(family, fit_children(options, family, X, row_weights, executor, control));
  });
  TopDownFit result;
  result.report = fits.report(families);
  result.weights = joined(X.num_columns(), std::move(fits.of_node), executor).weights;
  return result;
}

/// To learn the scale, one of so many folds is held out.
constexpr int kScaleFolds = 3;

struct TopDownPlan {
  TopDownSvmOptions options;
  LeafSets leaves;
  PlannedRows rows;
  std::uint32_t num_known_labels;
  double bias;  // value of the constant feature
};

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

TopDownFit fit_part(const TopDownPlan& plan, const std::vector<std::uint32_t>& rows,
                    FamilySource& source, Executor& executor, RunControl& control) {
  return fit_rows(plan.options, plan.leaves.tree.graph, select_rows(plan.rows.X, rows),
                  select_rows(plan.leaves.sets, rows), kept_weights(plan.rows.weights, rows),
                  source, executor, control);
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
  TopDownFit fit = fit_part(plan, split.training, source, executor, share);
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
  const auto add = [&](std::vector<Family> families, const std::vector<std::uint32_t>* rows) {
    for (Family& family : families) {
      for (std::uint32_t& i : family.rows) i = rows != nullptr ? (*rows)[i] : i;
      all.problems.push_back({std::move(family.rows), std::move(family.sets),
                              static_cast<std::uint32_t>(family.children.size())});
    }
  };
  const auto add_part = [&](const std::vector<std::uint32_t>& rows) {
    add(families_of(graph, select_rows(sets, rows)), &rows);
  };
  if (needs_scale(plan)) add_part(scale_split(plan).training);
  for (const Split& fold : decision_folds(decision_options(plan.options), sets)) {
    add_part(fold.training);
  }
  add(families_of(graph, sets), nullptr);
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
    TopDownFit fit = fit_part(plan, rows, source, executor, share);
    note_end(fit.report.stop, share);
    return predictor_of(parts_of(plan, std::move(fit.weights), leaves.candidates));
  };
  Decision decision =
      tuned_decision(decision_options(plan.options), X, leaves.sets, plan.rows.weights,
                     leaves.tree.label_of_node, fit_fold, executor, control);
  TopDownFit fit =
      fit_rows(plan.options, graph, X, leaves.sets, plan.rows.weights, source, executor, control);
  TrainResult result;
  result.report = std::move(fit.report);
  result.report.warnings = leaves.warnings;
  LinearPredictor::Parts parts = parts_of(plan, std::move(fit.weights), leaves.candidates);
  parts.bias = plan.bias;
  parts.decision = std::move(decision);
  result.predictor = predictor_of(std::move(parts));
  return result;
}

/// The weights of the nodes and then the model, and the narrowed rows and the solver of the largest
/// family.
MemoryEstimate memory_of(const TopDownPlan& plan, int num_threads) {
  const CsrView X = plan.rows.X;
  const LeafSets& leaves = plan.leaves;
  const OneVsRestOptions solver = one_vs_rest_options(plan.options, plan.options.loss);
  MemoryEstimate largest;
  double weights = 0, members = 0;
  for (const Family& family : families_of(leaves.tree.graph, leaves.sets)) {
    const auto num_children = static_cast<std::uint32_t>(family.children.size());
    const CsrMatrix rows = narrow(X, family.rows).X;
    for (const double each :
         expected_nonzeros(rows, family.sets, num_children, solver.loss, solver.C)) {
      weights += each;
    }
    MemoryEstimate own = one_vs_rest_memory(rows, family.sets, num_children, solver, 1);
    own.add("rows of a family", 8.0 * static_cast<double>(rows.view().num_nonzeros()) +
                                    8.0 * static_cast<double>(X.num_columns()));
    largest = larger_of(std::move(largest), std::move(own));
    members += static_cast<double>(family.rows.size() + family.sets.num_labels_total());
  }
  MemoryEstimate training = largest.times(num_threads), model;
  const double dense = 4.0 * static_cast<double>(X.num_columns()) * leaves.tree.graph.num_nodes();
  model.add("model", std::min(8 * weights, dense) + 8.0 * static_cast<double>(X.num_columns()));
  training = larger_of(std::move(training), std::move(model));
  training.add("families", 12 * members);
  training.add("weights of the nodes", 8 * weights);
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
