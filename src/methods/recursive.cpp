// hr-svm and hr-lr: one classifier per leaf, regularised towards its relatives in the hierarchy
// (HR).

#include <algorithm>
#include <cmath>
#include <optional>
#include <type_traits>

#include "base/number_text.hpp"
#include "data/label_graph_reader.hpp"
#include "margrove/linear_estimators.hpp"
#include "methods/decision_tuning.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "methods/softmax.hpp"
#include "model/splits.hpp"
#include "recursive/recursive.hpp"

namespace margrove {
namespace {

/// The options of hr-lr, or of flat-lr, which has fewer, as those of hr-svm.
template <class Options>
HrSvmOptions as_svm(const Options& options) {
  HrSvmOptions svm{.C = options.C,
                   .lambda = options.lambda,
                   .bias = options.bias,
                   .intercept_penalty = options.intercept_penalty,
                   .seed = options.seed,
                   .decision = options.decision,
                   .decision_folds = options.decision_folds,
                   .tolerance = options.tolerance,
                   .max_passes = options.max_passes,
                   .partial_labels = options.partial_labels,
                   .loss = PointLossKind::logistic};
  if constexpr (std::is_same_v<Options, HrLrOptions>) {
    svm.alpha = options.alpha;
    svm.dag = options.dag;
    svm.label_graph = options.label_graph;
    svm.anchor = options.anchor;
  }
  return svm;
}

// Label graphs ------------------------------------------------------------------------------------

/// The anchors of all labels. `text` is one number for all labels, or LABEL=number,... for some.
std::vector<double> parse_anchors(const std::string& text, const LabelCodec& codec) {
  if (text.empty()) return std::vector<double>(codec.size(), 0.0);
  const auto number = [&](std::string_view digits) {
    const auto value = read_number<double>(digits);
    require<InvalidOption>(value && std::isfinite(*value) && *value >= 0, "option anchor is '",
                           text, "', but must be a number >= 0 or LABEL=number,LABEL=number");
    return *value;
  };
  if (text.find('=') == std::string::npos) {
    return std::vector<double>(codec.size(), number(text));
  }
  std::vector<double> anchors(codec.size(), 0.0);
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = std::string_view(text).substr(begin, end - begin);
    const std::size_t equals = std::min(part.rfind('='), part.size());
    const double value = number(part.substr(std::min(equals + 1, part.size())));
    const auto label = codec.find(part.substr(0, equals));
    require<InvalidOption>(label.has_value(), "option anchor names label '", part.substr(0, equals),
                           "', but must name one of the ", codec.size(), " known labels");
    anchors[*label] = value;
    begin = end + 1;
  }
  return anchors;
}

void require_uniform(const NodeWeightRule& alpha, std::string_view where) {
  require<InvalidOption>(alpha.name == "uniform", "option alpha is ", alpha.to_text(),
                         ", but must be uniform where ", where);
}

/// The label graph over the labels of the codec; none if the options name no file.
std::optional<SimilarityGraph> read_similarity_graph(const HrSvmOptions& options,
                                                     const LabelCodec& codec) {
  if (options.label_graph.empty()) {
    require<InvalidOption>(options.anchor.empty(), "option anchor is '", options.anchor,
                           "', but must not be given without label_graph");
    return std::nullopt;
  }
  require_uniform(options.alpha, "label_graph is given");
  SimilarityGraph similarity;
  similarity.num_nodes = static_cast<std::uint32_t>(codec.size());
  similarity.anchors = parse_anchors(options.anchor, codec);
  for (const auto& [first, second] : read_label_graph(options.label_graph, codec)) {
    similarity.edges.push_back({first, second, 1.0});
  }
  return similarity;
}

/// The graph along whose edges differences of classifiers are regularised: the label graph, or the
/// hierarchy with dag = graph. None if classifiers are sums along paths.
std::optional<SimilarityGraph> similarity_graph(const HrSvmOptions& options,
                                                const LabelCodec& codec,
                                                const LabelGraph& hierarchy) {
  auto similarity = read_similarity_graph(options, codec);
  if (similarity || options.dag != DagRule::graph || hierarchy.is_tree()) return similarity;
  require_uniform(options.alpha, "dag is graph");
  return SimilarityGraph::of_hierarchy(hierarchy);
}

// The plan ----------------------------------------------------------------------------------------

enum class Algorithm { joint_dual, joint_newton, alternating };

struct HrPlan {
  HrSvmOptions options;
  bool softmax;  // the loss of all targets of a row, by Newton's method
  LeafSets leaves;
  std::optional<SimilarityGraph> similarity;
  std::vector<double> alpha;  // of additive problems
  Algorithm algorithm;
  PlannedRows rows;
  double bias;  // value of the constant feature
  std::uint32_t num_known_labels;

  SimilarityProblem similarity_problem(const CsrView& X, const LabelSets& sets,
                                       std::span<const double> row_weights,
                                       const PartialLabels* partial = &kNoPartialLabels) const {
    return {.X = X,
            .labels = &sets,
            .graph = &*similarity,
            .targets = leaves.candidates,
            .row_weights = row_weights,
            .partial = partial};
  }
  AdditiveProblem additive_problem(const CsrView& X, const LabelSets& sets,
                                   std::span<const double> row_weights,
                                   const PartialLabels* partial = &kNoPartialLabels) const {
    return {.X = X,
            .labels = &sets,
            .graph = &leaves.tree.graph,
            .alpha = alpha,
            .targets = leaves.candidates,
            .row_weights = row_weights,
            .partial = partial,
            .free_intercept = options.intercept_penalty == 0};
  }
  JointNewtonOptions newton_solver() const {
    return {.softmax = softmax,
            .C = loss_weight(options),
            .tolerance = options.tolerance,
            .max_passes = options.max_passes};
  }
  JointDualOptions dual_solver() const {
    return {.loss = options.loss,
            .C = loss_weight(options),
            .tolerance = options.tolerance,
            .max_passes = options.max_passes,
            .seed = options.seed};
  }
};

/// Logistic regression is solved by Newton's method if the graph allows it.
Algorithm algorithm_of(const HrPlan& plan) {
  if (plan.options.loss != PointLossKind::logistic) {
    const bool is_joint = plan.options.solver == RecursiveSolver::joint && !plan.similarity;
    return is_joint ? Algorithm::joint_dual : Algorithm::alternating;
  }
  const bool suits = plan.similarity ? suits_joint_newton(plan.similarity_problem({}, {}, {}))
                                     : suits_joint_newton(plan.additive_problem({}, {}, {}));
  require<InvalidOption>(suits || !plan.softmax,
                         "option multiclass is softmax, which needs a hierarchy that is nearly a "
                         "tree, or a label graph with few cycles and anchors");
  return suits ? Algorithm::joint_newton : Algorithm::alternating;
}

MemoryEstimate memory_of(const HrPlan& plan, int num_threads) {
  const CsrView X = plan.rows.X;
  const LabelSets& sets = plan.leaves.sets;
  const std::size_t num_targets = plan.leaves.candidates.size();
  const std::uint32_t num_nodes = plan.leaves.tree.graph.num_nodes();
  MemoryEstimate training;
  switch (plan.algorithm) {
    case Algorithm::joint_dual:
      training =
          joint_dual_memory(plan.additive_problem(X, sets, {}), plan.dual_solver(), num_threads);
      break;
    case Algorithm::joint_newton:
      training = joint_newton_memory(X, num_targets, num_nodes, plan.softmax, num_threads);
      break;
    case Algorithm::alternating:
      training = alternating_memory(X, num_targets, num_nodes, plan.options.loss, num_threads);
      break;
  }
  MemoryEstimate memory = planned_rows_memory(plan.rows, sets);
  memory.add(tuned_memory(decision_options(plan.options), X, sets,
                          static_cast<std::uint32_t>(num_targets), std::move(training)));
  return memory;
}

/// With a label graph there is no hierarchy: labels are its nodes, and none is above another.
LeafSets leaves_of(const HrSvmOptions& options, const TrainingSet& data) {
  TrainingSet rows = data;
  require<InvalidOption>(options.label_graph.empty() || !options.partial_labels,
                         "option partial_labels is given, but so is a label graph, in which no "
                         "label is below another");
  if (!options.label_graph.empty()) rows.hierarchy = nullptr;
  return leaf_sets_of(options, rows);
}

void require_softmax_options(const HrSvmOptions& options, const TrainingSet& data) {
  require<InvalidOption>(!options.partial_labels,
                         "option partial_labels is given, but multiclass is softmax");
  require<InvalidOption>(options.intercept_penalty > 0,
                         "option intercept_penalty is 0, but must be > 0 where multiclass is "
                         "softmax");
  require<InvalidOption>(
      options.decision == DecisionKind::automatic || options.decision == DecisionKind::argmax,
      "option decision is ", name_of(options.decision),
      ", but must be argmax where multiclass is softmax");
  require_single_labels(data, "flat-lr or hr-lr with softmax");
}

HrPlan settle(const HrSvmOptions& options, bool softmax, const TrainingSet& data,
              RunControl& control) {
  if (softmax) require_softmax_options(options, data);
  HrPlan plan{.options = options,
              .softmax = softmax,
              .leaves = leaves_of(options, data),
              .similarity = {},
              .alpha = {},
              .algorithm = Algorithm::alternating,
              .rows = {},
              .bias = 0,
              .num_known_labels = static_cast<std::uint32_t>(data.codec->size())};
  const LabelGraph& graph = plan.leaves.tree.graph;
  plan.similarity = similarity_graph(options, *data.codec, graph);
  if (!plan.similarity) plan.alpha = node_weights(graph, options.alpha, {}, &control).alpha;
  plan.algorithm = algorithm_of(plan);
  const bool is_joint = plan.algorithm != Algorithm::alternating && !plan.similarity;
  plan.bias =
      is_joint ? intercept_value_or_free(options, data.X, options.loss) : intercept_value(options);
  plan.rows = planned_rows(data, plan.leaves.kept, plan.bias);
  return plan;
}

// Training ----------------------------------------------------------------------------------------

struct Fit {
  WeightMatrix weights;
  FitReport report;
};

Fit fit_of(RecursiveFit fit) {
  FitReport report{.stop = fit.stop,
                   .passes = fit.passes,
                   .primal = fit.primal,
                   .dual = fit.dual,
                   .relative_gap = fit.relative_gap(),
                   .curve = {},
                   .warnings = {}};
  return {std::move(fit.weights), std::move(report)};
}

Fit fit_of(AlternatingFit fit) {
  Fit result{std::move(fit.weights), {}};
  result.report.stop = fit.stop;
  result.report.passes = fit.passes;
  result.report.primal = fit.primal;
  return result;
}

template <class Problem>
Fit fit_alternating(const HrSvmOptions& options, const Problem& problem, Executor& executor,
                    RunControl& control) {
  return fit_of(train_alternating(problem,
                                  {.loss = options.loss,
                                   .C = loss_weight(options),
                                   .tolerance = options.tolerance,
                                   .max_passes = options.max_passes,
                                   .seed = options.seed},
                                  executor, control));
}

/// Trains by Newton's method, and by the alternation of HR where rounding ends that far from the
/// optimum, as at very large C: residuals have 8 bits. The dual value stays that of the former.
template <class Problem>
Fit fit_newton(const HrPlan& plan, const Problem& problem, Executor& executor,
               RunControl& control) {
  const HrSvmOptions& options = plan.options;
  Fit fit = fit_of(train_joint_newton(problem, plan.newton_solver(), executor, control));
  const bool is_rounded =
      fit.report.stop == Stop::converged && fit.report.relative_gap > options.tolerance;
  if (!is_rounded || plan.softmax) return fit;
  Problem penalised = problem;
  // The alternation has no free intercepts. The objective of its weights without the penalty of
  // their intercepts is at most the one reported.
  if constexpr (std::is_same_v<Problem, AdditiveProblem>) penalised.free_intercept = false;
  Fit other = fit_alternating(options, penalised, executor, control);
  if (!(other.report.primal < fit.report.primal)) return fit;
  other.report.passes += fit.report.passes;
  other.report.dual = fit.report.dual;
  other.report.relative_gap = (other.report.primal - fit.report.dual) / other.report.primal;
  return other;
}

Fit fit_rows(const HrPlan& plan, const CsrView& X, const LabelSets& labels,
             std::span<const double> row_weights, Executor& executor, RunControl& control) {
  const PartialLabels partial(plan.leaves.tree.graph, labels);
  const LabelSets sets = known_leaves(plan.leaves.tree.graph, labels);
  if (plan.similarity) {
    const SimilarityProblem problem = plan.similarity_problem(X, sets, row_weights, &partial);
    return plan.algorithm == Algorithm::joint_newton
               ? fit_newton(plan, problem, executor, control)
               : fit_alternating(plan.options, problem, executor, control);
  }
  const AdditiveProblem problem = plan.additive_problem(X, sets, row_weights, &partial);
  switch (plan.algorithm) {
    case Algorithm::joint_dual:
      return fit_of(train_joint_dual(problem, plan.dual_solver(), executor, control));
    case Algorithm::joint_newton:
      return fit_newton(plan, problem, executor, control);
    case Algorithm::alternating:
      return fit_alternating(plan.options, problem, executor, control);
  }
  return {};
}

/// Scores are sums along paths of the hierarchy; with a similarity graph each node has its own
/// classifier.
LinearPredictor::Parts parts_of(const HrPlan& plan, WeightMatrix weights, double bias) {
  const LabelGraph& graph = plan.leaves.tree.graph;
  LinearPredictor::Parts parts;
  parts.weights = std::move(weights);
  parts.bias = bias;
  parts.graph = plan.similarity ? LabelGraph::flat(graph.num_nodes()) : graph;
  parts.alpha = plan.alpha;
  parts.label_of_node = plan.leaves.tree.label_of_node;
  parts.candidates = plan.leaves.candidates;
  parts.num_labels = plan.num_known_labels;
  return parts;
}

TrainResult train_recursive(const HrPlan& plan, Executor& executor, RunControl& control) {
  const CsrView X = plan.rows.X;
  const LabelSets& sets = plan.leaves.sets;
  const auto fit_part = [&](const std::vector<std::uint32_t>& rows, RunControl& share) {
    Fit fit = fit_rows(plan, select_rows(X, rows), select_rows(sets, rows),
                       kept_weights(plan.rows.weights, rows), executor, share);
    note_end(fit.report.stop, share);
    return std::make_unique<LinearPredictor>(parts_of(plan, std::move(fit.weights), 0));
  };
  Decision decision = tuned_decision(decision_options(plan.options), X, sets, plan.rows.weights,
                                     plan.leaves.tree.label_of_node, fit_part, executor, control);
  Fit fit = fit_rows(plan, X, sets, plan.rows.weights, executor, control);
  TrainResult result;
  result.report = std::move(fit.report);
  result.report.warnings = plan.leaves.warnings;
  auto parts = parts_of(plan, std::move(fit.weights), plan.bias);
  parts.decision = std::move(decision);
  result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  return result;
}

Plan make_recursive_plan(const HrSvmOptions& options, bool softmax, const TrainingSet& data,
                         Executor& executor, RunControl& control) {
  HrPlan plan = settle(options, softmax, data, control);
  MemoryEstimate memory = memory_of(plan, executor.size());
  return planned(std::move(memory), std::move(plan), train_recursive);
}

}  // namespace

/// hr-lr with labels that have no relatives.
Plan plan_softmax(const FlatLrOptions& options, const TrainingSet& data, Executor& executor,
                  RunControl& control) {
  require<InvalidOption>(!options.match_names,
                         "option match_names is given, but multiclass is softmax");
  TrainingSet flat = data;
  flat.hierarchy = nullptr;
  return make_recursive_plan(as_svm(options), true, flat, executor, control);
}

Method hr_svm() {
  Method method = make_method<HrSvmOptions>(
      "recursive regularisation: one-vs-rest classifiers regularised towards their parents",
      [](const HrSvmOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) {
        return make_recursive_plan(options, false, data, executor, control);
      },
      [](const HrSvmOptions&) { return kPathHingeWeight; });
  method.needs_hierarchy = true;
  method.hierarchy_substitute = "label_graph";
  return method;
}

Method hr_lr() {
  Method method = make_method<HrLrOptions>(
      "recursive regularisation with logistic regression at the leaves",
      [](const HrLrOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) {
        return make_recursive_plan(as_svm(options), options.multiclass == MulticlassKind::softmax,
                                   data, executor, control);
      },
      [](const HrLrOptions& options) {
        return options.multiclass == MulticlassKind::softmax ? kSoftmaxWeight : kPathLogisticWeight;
      });
  method.needs_hierarchy = true;
  method.hierarchy_substitute = "label_graph";
  return method;
}

}  // namespace margrove
