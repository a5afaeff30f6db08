// level-svm: linear classifiers at all levels of the hierarchy, and a leaf's score as the sum of
// those on its paths, with a weight for each level that held-out rows choose.

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "base/out_of_time.hpp"
#include "base/time_share.hpp"
#include "data/column_use.hpp"
#include "data/csr_operations.hpp"
#include "hierarchy/closed_sets.hpp"
#include "linear/one_vs_rest.hpp"
#include "margrove/linear_estimators.hpp"
#include "methods/crammer_singer.hpp"
#include "methods/decision_tuning.hpp"
#include "methods/level_fit.hpp"
#include "methods/level_stack.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "methods/name_matching.hpp"
#include "model/splits.hpp"

namespace margrove {
namespace {

/// Nodes whose classifiers are trained together.
struct NodeGroup {
  std::vector<std::uint32_t> places;  // in LevelPlan::at_nodes, ascending
  LabelSets sets;                     // of the rows: positions in `places`
  std::optional<CrammerSinger>
      joint;  // where every row has one of the nodes; otherwise one-vs-rest
};

struct LevelPlan {
  /// Not a braced list, of which g++ 12 destroys the members twice where a later one throws.
  LevelPlan(const OneVsRestOptions& of_nodes, const DecisionOptions& of_labels, LeafSets of_rows)
      : solver(of_nodes), decision(of_labels), leaves(std::move(of_rows)) {}

  OneVsRestOptions solver;
  DecisionOptions decision;
  double bias = 0;  // value of the constant feature
  bool free_intercept = false;
  LeafSets leaves;
  PlannedRows rows;
  OccurringLabels at_nodes;           // the nodes at or above the leaves of each row
  std::vector<NodeGroup> groups;      // in the order in which they are trained
  std::optional<WeightMatrix> names;  // of the candidates, where names of labels count
  bool requires_names = false;        // by the option, so that they ought to say something
  std::vector<StackedMethod> stacked;
  std::vector<std::vector<NodeId>> stacked_nodes;  // of the columns of each
  NodeLists above;                                 // of the candidates: A(l)
  std::uint32_t num_known_labels = 0;

  LevelNodes nodes() const {
    return {leaves.tree.graph,         at_nodes.labels, leaves.candidates, above,
            names ? &*names : nullptr, stacked_nodes};
  }
  std::uint32_t num_nodes() const { return static_cast<std::uint32_t>(at_nodes.labels.size()); }
  /// Then nodes can be trained one by one, elsewhere.
  bool is_one_vs_rest() const {
    return groups.size() == 1 && !groups.front().joint &&
           std::ranges::none_of(stacked, &StackedMethod::is_trained);
  }
};

/// The set of a row becomes the nodes at or above it: the union of A(l).
OccurringLabels sets_at_nodes(const LeafSets& leaves) {
  const LabelGraph& graph = leaves.tree.graph;
  SetCloser closer(graph, SetCloser::Nodes::all);
  LabelSets sets;
  std::vector<NodeId> set;
  for (std::size_t i = 0; i < leaves.sets.num_rows(); ++i) {
    closer.close(leaves.sets[i], set);
    sets.append(set);
  }
  return occurring_labels(sets, graph.num_nodes());
}

/// The sets of the rows among some of the nodes only.
LabelSets sets_among(const LabelSets& at_nodes, const std::vector<std::uint32_t>& places,
                     std::uint32_t num_nodes) {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> position(num_nodes, kNone);
  for (std::uint32_t k = 0; k < places.size(); ++k) position[places[k]] = k;
  LabelSets sets;
  std::vector<LabelId> set;
  for (std::size_t i = 0; i < at_nodes.num_rows(); ++i) {
    set.clear();
    for (const LabelId place : at_nodes[i]) {
      if (position[place] != kNone) set.push_back(position[place]);
    }
    sets.append(set);
  }
  return sets;
}

/// The levels at which every row has one node, from the leaves up, as problems of Crammer and
/// Singer, and the nodes of all other levels. `most_pairs`: of a column and a node.
std::vector<NodeGroup> joint_groups(const LevelPlan& plan, const FlatSvmOptions& options,
                                    double most_pairs) {
  const GraphLevels levels(plan.leaves.tree.graph);
  std::vector<std::vector<std::uint32_t>> of_level(levels.size());
  for (std::uint32_t place = 0; place < plan.num_nodes(); ++place) {
    of_level[levels.of(plan.at_nodes.labels[place])].push_back(place);
  }
  std::vector<NodeGroup> groups;
  std::vector<std::uint32_t> others;
  for (std::size_t level = of_level.size(); level-- > 0;) {
    std::vector<std::uint32_t>& places = of_level[level];
    const auto num_nodes = static_cast<std::uint32_t>(places.size());
    LabelSets sets = sets_among(plan.at_nodes.sets, places, plan.num_nodes());
    const double pairs = static_cast<double>(num_nodes) * plan.rows.X.view().num_columns();
    if (num_nodes < 2 || pairs > most_pairs || !has_one_each(sets)) {
      others.insert(others.end(), places.begin(), places.end());
    } else {
      groups.push_back(
          {std::move(places), std::move(sets), CrammerSinger(options, plan.solver.C, num_nodes)});
    }
  }
  if (others.empty()) return groups;
  std::ranges::sort(others);
  LabelSets sets = sets_among(plan.at_nodes.sets, others, plan.num_nodes());
  groups.push_back({std::move(others), std::move(sets), {}});
  return groups;
}

/// Whether each level is trained jointly.
std::vector<std::uint8_t> joint_levels(const LevelPlan& plan) {
  const GraphLevels levels(plan.leaves.tree.graph);
  std::vector<std::uint8_t> joint(levels.size(), 0);
  for (const NodeGroup& group : plan.groups) {
    if (group.joint) joint[levels.of(plan.at_nodes.labels[group.places.front()])] = 1;
  }
  return joint;
}

/// All nodes against the rest.
std::vector<NodeGroup> one_vs_rest_group(const LevelPlan& plan) {
  std::vector<std::uint32_t> places(plan.num_nodes());
  std::iota(places.begin(), places.end(), 0U);
  return {{std::move(places), plan.at_nodes.sets, {}}};
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

NodeFit fit_group(const LevelPlan& plan, const NodeGroup& group, const CsrView& X,
                  const LabelSets& sets, std::span<const double> row_weights, Executor& executor,
                  RunControl& control) {
  if (group.joint) {
    std::vector<std::uint32_t> node_of_row;
    for (std::size_t i = 0; i < sets.num_rows(); ++i) node_of_row.push_back(sets[i].front());
    CrammerSinger::Fit fit = group.joint->train(X, node_of_row, row_weights, {}, executor, control);
    return {std::move(fit.weights), std::move(fit.report)};
  }
  OneVsRestExtras extras;
  extras.row_weights = row_weights;
  extras.free_intercept = plan.free_intercept;
  return to_node_fit(train_one_vs_rest(X, sets, static_cast<std::uint32_t>(group.places.size()),
                                       plan.solver, executor, control, extras));
}

/// One column for each node, from the groups' columns.
WeightMatrix merged(const LevelPlan& plan, std::vector<WeightMatrix> of_groups) {
  if (of_groups.size() == 1) return std::move(of_groups.front());
  CsrMatrix by_feature(plan.num_nodes());
  WeightSums row(plan.num_nodes());
  for (FeatureId feature = 0; feature < of_groups.front().num_features(); ++feature) {
    for (std::size_t g = 0; g < of_groups.size(); ++g) {
      const std::vector<std::uint32_t>& places = plan.groups[g].places;
      of_groups[g].for_each_of(feature,
                               [&](std::uint32_t n, float weight) { row.add(places[n], weight); });
    }
    row.append_to(by_feature);
  }
  return WeightMatrix::sparse(std::move(by_feature));
}

/// The classifiers of the nodes and of the stacked methods, of one training.
struct LevelClassifiers {
  WeightMatrix of_nodes;
  std::vector<WeightMatrix> stacked;
};
struct ClassifierFit {
  LevelClassifiers classifiers;
  FitReport report;
};

/// Trains on the given rows, or on all. The groups and stacked methods share a time limit evenly.
/// of_nodes: the classifiers of the nodes, where they are trained already.
ClassifierFit fit_classifiers(const LevelPlan& plan, const std::vector<std::uint32_t>* rows,
                              std::optional<NodeFit> of_nodes, Executor& executor,
                              RunControl& control) {
  CsrMatrix own_rows;
  if (rows != nullptr) own_rows = select_rows(plan.rows.X, *rows);
  const CsrView X = rows != nullptr ? own_rows.view() : plan.rows.X.view();
  const std::vector<double> weights =
      rows != nullptr ? kept_weights(plan.rows.weights, *rows) : plan.rows.weights;
  const auto own = [&](const LabelSets& sets) {
    return rows != nullptr ? select_rows(sets, *rows) : sets;
  };
  ClassifierFit all;
  all.report.primal = all.report.dual = all.report.relative_gap = 0;
  std::size_t problems = plan.groups.size() + plan.stacked.size();
  const auto fit_next = [&](const auto& train) {
    RunControl share =
        time_share(control, control.seconds_left() / static_cast<double>(problems--));
    NodeFit fit = train(share);
    add_to(all.report, fit.report);
    return std::move(fit.weights);
  };
  std::vector<WeightMatrix> of_groups;
  for (const NodeGroup& group : plan.groups) {
    of_groups.push_back(fit_next([&](RunControl& share) {
      if (of_nodes) return *std::exchange(of_nodes, {});
      return fit_group(plan, group, X, own(group.sets), weights, executor, share);
    }));
  }
  all.classifiers.of_nodes = merged(plan, std::move(of_groups));
  for (const StackedMethod& method : plan.stacked) {
    all.classifiers.stacked.push_back(fit_next([&](RunControl& share) {
      return method.train(plan.leaves, X, own(plan.leaves.sets), weights, executor, share);
    }));
  }
  return all;
}

/// Classifiers, the nodes of the rows that they were trained on, and the rows that they were not.
struct Fold {
  std::vector<std::uint32_t> held_out;
  LevelClassifiers classifiers;
  std::vector<bool> has_rows;  // empty: all
};

/// Whether each node has one of these rows.
std::vector<bool> nodes_with_rows(const LevelPlan& plan, const std::vector<std::uint32_t>& rows) {
  std::vector<bool> has_rows(plan.num_nodes(), false);
  for (const std::uint32_t row : rows) {
    for (const LabelId place : plan.at_nodes.sets[row]) has_rows[place] = true;
  }
  return has_rows;
}

std::unique_ptr<LinearPredictor> predictor_of(const LevelPlan& plan,
                                              const LevelClassifiers& classifiers,
                                              const std::vector<bool>& has_rows,
                                              const LevelFit& fit, double bias, Decision decision) {
  LinearPredictor::Parts parts =
      path_parts(plan.leaves,
                 path_weights(plan.nodes(), classifiers.of_nodes, has_rows, fit, plan.bias,
                              classifiers.stacked),
                 bias, plan.num_known_labels, std::move(decision));
  parts.levels = fit.levels;
  return std::make_unique<LinearPredictor>(std::move(parts));
}

/// What held-out rows say of the names of labels.
void add_to(FitReport& report, const LevelPlan& plan, const LevelFit& fit) {
  if (!plan.names) return;
  report.name_weight = fit.name;
  if (fit.name == 0 && plan.requires_names) report.warnings.emplace_back(kNamesSayNothing);
  report.unseen_score = fit.levels.offsets.back() - fit.absent.back();
}

TrainResult train_level_svm(const LevelPlan& plan, const LabelFitSource& source, Executor& executor,
                            RunControl& control) {
  const CsrView X = plan.rows.X;
  const LabelSets& sets = plan.leaves.sets;
  const std::vector<double>& weights = plan.rows.weights;
  std::size_t problem = 0;
  const auto fit_on = [&](const std::vector<std::uint32_t>* rows, RunControl& share) {
    std::optional<NodeFit> of_nodes;
    if (source) of_nodes = to_node_fit(joined(X.num_columns(), source(problem++), executor));
    return fit_classifiers(plan, rows, std::move(of_nodes), executor, share);
  };
  HeldOutLevels scores(plan.nodes(), sets, weights);
  DecisionTuner tuner(plan.decision, sets, weights, plan.leaves.tree.label_of_node);
  std::vector<Fold> folds;
  bool has_fold = false;
  const auto score_fold = [&](const Split& split, RunControl& share) {
    ClassifierFit fit = fit_on(&split.training, share);
    note_end(fit.report.stop, share);
    end_if_interrupted(control);
    if (std::exchange(has_fold, true) && !control.proceed()) return;  // earlier folds must do
    std::vector<bool> has_rows = nodes_with_rows(plan, split.training);
    scores.add(X, split.validation, fit.classifiers.of_nodes, has_rows, executor,
               fit.classifiers.stacked);
    if (!tuner.needs_scores()) return;
    folds.push_back({split.validation, std::move(fit.classifiers), std::move(has_rows)});
  };
  if (sets.num_rows() >= 2) {
    const std::string_view result =
        tuner.needs_scores() ? "the level weights and the decision" : "the level weights";
    cross_validate(sets, plan.decision.folds, plan.decision.seed, result, control, score_fold);
  }
  // The training on all rows gets half of the time left.
  RunControl share = time_share(control, control.seconds_left() / 2);
  LevelFit levels = scores.fit(plan.bias > 0, executor, share);
  levels.levels.joint = joint_levels(plan);
  if (share.stop_reason() == Stop::time_limit) {
    control.note("the time limit ended the fit of the level weights early");
  }
  for (Fold& fold : folds) {
    if (tuner.has_scores() && !control.proceed()) break;  // earlier folds must do
    const LevelClassifiers classifiers = std::exchange(fold.classifiers, {});
    tuner.add(*predictor_of(plan, classifiers, fold.has_rows, levels, 0, {}), X, fold.held_out,
              executor);
  }
  ClassifierFit fit = fit_on(nullptr, control);
  TrainResult result;
  result.report = std::move(fit.report);
  result.report.warnings.insert(result.report.warnings.begin(), plan.leaves.warnings.begin(),
                                plan.leaves.warnings.end());
  add_to(result.report, plan, levels);
  result.predictor = predictor_of(plan, fit.classifiers, {}, levels, plan.bias, tuner.tuned());
  return result;
}

MemoryEstimate memory_of(const LevelPlan& plan, int num_threads, RunControl& control) {
  const CsrView X = plan.rows.X;
  const auto rows = static_cast<double>(X.num_rows());
  const LabelSets& at_nodes = plan.at_nodes.sets;
  MemoryEstimate largest;
  double nonzeros = 0;  // of the groups that are trained
  for (const NodeGroup& group : plan.groups) {
    const auto num_nodes = static_cast<std::uint32_t>(group.places.size());
    if (group.joint) {
      largest = larger_of(std::move(largest), group.joint->memory(X, {}, num_threads));
      nonzeros += group.joint->weight_bytes(X) / 8;
      continue;
    }
    const std::vector<double> counts =
        measured_nonzeros(X, group.sets, num_nodes, plan.solver, control);
    largest = larger_of(std::move(largest), one_vs_rest_memory(X, group.sets, num_nodes,
                                                               plan.solver, num_threads, counts));
    nonzeros += std::accumulate(counts.begin(), counts.end(), 0.0);
  }
  for (const StackedMethod& method : plan.stacked) {
    largest = larger_of(std::move(largest), method.memory(plan.leaves, X, num_threads));
    nonzeros += method.num_weights;
  }
  // Weights are held of each group and stacked method, then of all nodes together, and of the
  // paths, whose two lists grow by doubling, one after the other.
  const bool has_groups = plan.groups.size() + plan.stacked.size() > 1;
  if (has_groups) largest.add("weights of the groups", 8 * nonzeros);
  MemoryEstimate paths;
  const double most = static_cast<double>(num_used_columns(X)) * plan.leaves.tree.graph.num_nodes();
  paths.add("weights of the paths", 8 * nonzeros + 12 * std::min(nonzeros, most));
  MemoryEstimate training = larger_of(std::move(largest), std::move(paths));
  MemoryEstimate fold = training.times(1 - 1.0 / plan.decision.folds);
  fold.add("rows of a fold", 8.0 * static_cast<double>(X.num_nonzeros()) + 8 * rows);
  training = larger_of(std::move(fold), std::move(training));
  MemoryEstimate memory = planned_rows_memory(plan.rows, plan.leaves.sets);
  memory.add("nodes of rows", 24 * rows + 12.0 * static_cast<double>(at_nodes.num_labels_total()));
  if (plan.names) {
    const double of_names = 8.0 * static_cast<double>(plan.names->num_nonzeros());
    memory.add("names of labels", 3 * of_names);  // and in the weights of the paths
  }
  memory.add("scores of held-out rows",
             HeldOutLevels(plan.nodes(), plan.leaves.sets, plan.rows.weights).num_bytes());
  MemoryEstimate classifiers;  // until the level weights are fitted
  classifiers.add("classifiers of the folds", 8 * nonzeros * plan.decision.folds);
  memory.add(tuned_memory(plan.decision, X, plan.leaves.sets,
                          static_cast<std::uint32_t>(plan.leaves.candidates.size()),
                          std::move(training), classifiers));
  return memory;
}

/// The pairs of a column and a node beyond which a level is not trained jointly by default, as this
/// takes 8 bytes for each.
constexpr double kMostPairs = 2.5e8;

void set_groups(const LevelSvmOptions& options, LevelPlan& plan) {
  const bool is_joint = options.multiclass == MulticlassKind::crammer_singer ||
                        (options.multiclass == MulticlassKind::automatic &&
                         plan.leaves.sets.single_label() && options.intercept_penalty > 0);
  if (!is_joint) {
    plan.groups = one_vs_rest_group(plan);
    return;
  }
  const FlatSvmOptions joint{.seed = options.seed,
                             .tolerance = options.tolerance,
                             .max_passes = options.max_passes,
                             .multiclass = MulticlassKind::crammer_singer};
  const bool is_bounded = options.multiclass == MulticlassKind::automatic;
  plan.groups =
      joint_groups(plan, joint, is_bounded ? kMostPairs : std::numeric_limits<double>::infinity());
}

/// Labels that can be answered by their names, although no row has them: those with names. Inner
/// nodes only where rows have inner nodes as labels.
std::vector<LabelId> answerable_by_name(std::span<const std::string> names, const TrainingSet& data,
                                        double bias) {
  const LabelGraph& graph = *data.hierarchy;
  bool has_inner_labels = false;
  for (std::size_t i = 0; i < data.labels->num_rows() && !has_inner_labels; ++i) {
    has_inner_labels =
        std::ranges::any_of((*data.labels)[i], [&](LabelId n) { return !graph.is_leaf(n); });
  }
  std::vector<LabelId> labels = named_labels(names, data, bias);
  if (!has_inner_labels) std::erase_if(labels, [&](LabelId n) { return !graph.is_leaf(n); });
  return labels;
}

bool matches_names(const LevelSvmOptions& options, std::span<const std::string> names,
                   const TrainingSet& data, double bias) {
  if (options.match_names.value) return *options.match_names.value;
  if (excludes_names(options)) return false;
  return obstacle_of_names(names, data, bias).empty();
}

WeightMatrix names_of_leaves(std::span<const std::string> names, const TrainingSet& data,
                             const LeafSets& leaves) {
  std::vector<LabelId> labels;
  for (const NodeId leaf : leaves.candidates) labels.push_back(leaves.tree.label_of_node[leaf]);
  return name_vectors(names, data, labels);
}

void set_stack(const std::vector<std::string>& names, const LevelSvmOptions& options,
               const TrainingSet& data, RunControl& control, LevelPlan& plan) {
  plan.stacked = stacked_methods(names, options, data, plan.leaves, plan.rows.X, control);
  for (const StackedMethod& method : plan.stacked) plan.stacked_nodes.push_back(method.nodes);
}

Plan plan_level_svm(const LevelSvmOptions& options, const TrainingSet& data, Executor& executor,
                    RunControl& control) {
  require_stack(options);
  const bool is_joint = options.multiclass == MulticlassKind::crammer_singer;
  if (is_joint) require_single_labels(data, "level-svm with crammer-singer");
  const double bias =
      is_joint ? intercept_value(options) : intercept_value_or_free(options, data.X, options.loss);
  TrainingSet answered = data;
  std::vector<LabelId> by_name;
  std::vector<std::string> names;
  if (options.match_names.value.value_or(true)) names = names_of_labels(data);
  const bool has_names = matches_names(options, names, data, bias);
  if (has_names) by_name = answerable_by_name(names, data, bias);
  answered.expected_labels = by_name;  // other labels without rows have no score
  LevelPlan plan(one_vs_rest_options(options, options.loss), decision_options(options),
                 without_common_roots(leaf_sets(answered)));
  plan.bias = bias;
  plan.free_intercept = options.intercept_penalty == 0;
  plan.requires_names = options.match_names.value.value_or(false);
  plan.num_known_labels = static_cast<std::uint32_t>(data.codec->size());
  plan.rows = planned_rows(data, plan.leaves.kept, bias);
  plan.at_nodes = sets_at_nodes(plan.leaves);
  plan.above = ancestor_sets(plan.leaves.tree.graph, plan.leaves.candidates);
  if (has_names) plan.names = names_of_leaves(names, data, plan.leaves);
  set_groups(options, plan);
  detail::Stack stack;
  stack.methods = stacked_names(options, has_names, plan.leaves, plan.rows.X, control);
  set_stack(*stack.methods, options, data, control, plan);
  MemoryEstimate memory = memory_of(plan, executor.size(), control);
  Plan made;
  if (plan.is_one_vs_rest()) {
    made = planned(std::move(memory), std::move(plan), train_level_svm, level_problems_of);
  } else {
    made = planned(std::move(memory), std::move(plan),
                   [](const LevelPlan& settled, Executor& threads, RunControl& run) {
                     return train_level_svm(settled, {}, threads, run);
                   });
  }
  if (!options.stack.methods) made.settled_options.emplace_back("stack", stack.to_text());
  return made;
}

}  // namespace

Method level_svm() {
  Method method = make_method<LevelSvmOptions>(
      "linear classifiers at all levels, with level weights from held-out rows", plan_level_svm,
      [](const LevelSvmOptions& options) { return weight_of_hinge(options.loss); });
  method.needs_hierarchy = true;
  return method;
}

}  // namespace margrove
