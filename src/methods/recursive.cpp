// hr-svm and hr-lr: one classifier per leaf, pulled towards its relatives in the hierarchy (HR).

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "data/label_graph_reader.hpp"
#include "margrove/linear_estimators.hpp"
#include "methods/decision_tuning.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "recursive/recursive.hpp"

namespace margrove {
namespace {

/// What the two methods' options come down to.
struct Plan {
  HrSvmOptions options;  // of hr-lr too
  PointLossKind loss;
  bool joint;
};

Plan plan_of(const HrSvmOptions& options) {
  return {options, options.loss, options.solver == RecursiveSolver::joint};
}

Plan plan_of(const HrLrOptions& options) {
  return {{.C = options.C,
           .lambda = options.lambda,
           .bias = options.bias,
           .seed = options.seed,
           .decision = options.decision,
           .decision_folds = options.decision_folds,
           .alpha = options.alpha,
           .dag = options.dag,
           .label_graph = options.label_graph,
           .anchor = options.anchor,
           .tolerance = options.tolerance,
           .max_passes = options.max_passes},
          PointLossKind::logistic,
          false};
}

// Label graphs ------------------------------------------------------------------------------------

/// The anchors of all labels: `text` is a number for all, or LABEL=number,... for some.
std::vector<double> parse_anchors(const std::string& text, const LabelCodec& codec) {
  if (text.empty()) return std::vector<double>(codec.size(), 0.0);
  const auto number = [&](std::string_view digits) {
    double value = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    require<InvalidOption>(error == std::errc() && end == digits.data() + digits.size() &&
                               std::isfinite(value) && value >= 0,
                           "option anchor is '", text,
                           "', but must be a number >= 0 or LABEL=number,LABEL=number");
    return value;
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
  require<InvalidOption>(alpha.kind == NodeWeightRule::Kind::uniform, "option alpha is ",
                         alpha.to_text(), ", but must be uniform where ", where);
}

/// Over the labels of the codec. Nothing where there is no label graph.
std::optional<SimilarityGraph> read_similarity_graph(const HrSvmOptions& options,
                                                     const LabelCodec& codec) {
  if (options.label_graph.empty()) {
    require<InvalidOption>(options.anchor.empty(), "option anchor is '", options.anchor,
                           "', but must not be given without label_graph");
    return std::nullopt;
  }
  require_uniform(options.alpha, "label_graph is given");
  SimilarityGraph pull;
  pull.num_nodes = static_cast<std::uint32_t>(codec.size());
  pull.anchors = parse_anchors(options.anchor, codec);
  for (const auto& [first, second] : read_label_graph(options.label_graph, codec)) {
    pull.edges.push_back({first, second, 1.0});
  }
  return pull;
}

/// Labels are nodes of the label graph themselves: none is above another.
LeafSets leaves_of(const HrSvmOptions& options, const TrainingSet& data) {
  TrainingSet rows = data;
  if (!options.label_graph.empty()) rows.hierarchy = nullptr;
  return leaf_sets(rows);
}

// Training ----------------------------------------------------------------------------------------

struct Fit {
  WeightMatrix weights;  // of the nodes of `graph`
  LabelGraph graph;      // along which scores add up
  std::vector<double> alpha;
  FitReport report;
};

NodeWeights weights_of(const HrSvmOptions& options, const LabelGraph& graph, RunControl* control) {
  return node_weights(graph, options.alpha, {}, control);
}

FitReport report_of(const RecursiveFit& fit) {
  return {.stop = fit.stop,
          .passes = fit.passes,
          .primal = fit.primal,
          .dual = fit.dual,
          .relative_gap = fit.relative_gap(),
          .curve = {},
          .warnings = {}};
}

template <class Problem>
RecursiveFit newton(const HrSvmOptions& options, const Problem& problem, Executor& executor,
                    RunControl& control) {
  return train_joint_newton(
      problem,
      {.C = loss_weight(options), .tolerance = options.tolerance, .max_passes = options.max_passes},
      executor, control);
}

/// The paper's alternation, over the nodes of `graph`.
template <class Problem>
Fit alternate(const Plan& plan, const Problem& problem, LabelGraph graph, Executor& executor,
              RunControl& control) {
  AlternatingFit fit = train_alternating(problem,
                                         {.loss = plan.loss,
                                          .C = loss_weight(plan.options),
                                          .tolerance = plan.options.tolerance,
                                          .max_passes = plan.options.max_passes,
                                          .seed = plan.options.seed},
                                         executor, control);
  Fit result;
  result.weights = std::move(fit.weights);
  result.graph = std::move(graph);
  result.report.stop = fit.stop;
  result.report.passes = fit.passes;
  result.report.primal = fit.primal;
  return result;
}

Fit fit_along_edges(const Plan& plan, const CsrView& X, const LabelSets& sets,
                    std::span<const double> row_weights, const LeafSets& leaves,
                    const SimilarityGraph& pull, Executor& executor, RunControl& control) {
  SimilarityProblem problem{.X = X,
                            .labels = &sets,
                            .graph = &pull,
                            .targets = leaves.candidates,
                            .row_weights = row_weights};
  LabelGraph flat = LabelGraph::flat(leaves.tree.graph.num_nodes());
  if (plan.loss != PointLossKind::logistic || !suits_joint_newton(problem)) {
    return alternate(plan, problem, std::move(flat), executor, control);
  }
  RecursiveFit fit = newton(plan.options, problem, executor, control);
  return {std::move(fit.weights), std::move(flat), {}, report_of(fit)};
}

Fit fit_along_paths(const Plan& plan, const CsrView& X, const LabelSets& sets,
                    std::span<const double> row_weights, const LeafSets& leaves, Executor& executor,
                    RunControl& control) {
  Fit result;
  result.graph = leaves.tree.graph;
  result.alpha = weights_of(plan.options, result.graph, &control).alpha;
  AdditiveProblem problem{.X = X,
                          .labels = &sets,
                          .graph = &leaves.tree.graph,
                          .alpha = result.alpha,
                          .targets = leaves.candidates,
                          .row_weights = row_weights};
  if (plan.joint || (plan.loss == PointLossKind::logistic && suits_joint_newton(problem))) {
    RecursiveFit fit = plan.loss == PointLossKind::logistic
                           ? newton(plan.options, problem, executor, control)
                           : train_joint_dual(problem,
                                              {.loss = plan.loss,
                                               .C = loss_weight(plan.options),
                                               .tolerance = plan.options.tolerance,
                                               .max_passes = plan.options.max_passes,
                                               .seed = plan.options.seed},
                                              executor, control);
    result.report = report_of(fit);
    result.weights = std::move(fit.weights);
    return result;
  }
  Fit alternated = alternate(plan, problem, std::move(result.graph), executor, control);
  alternated.alpha = std::move(result.alpha);
  return alternated;
}

/// The graph along whose edges the plan pulls; nothing where it adds up along paths.
std::optional<SimilarityGraph> similarity_graph(const Plan& plan, const LabelCodec& codec,
                                                const LabelGraph& hierarchy) {
  auto pull = read_similarity_graph(plan.options, codec);
  if (pull || plan.options.dag != DagRule::graph || hierarchy.is_tree()) return pull;
  require_uniform(plan.options.alpha, "dag is graph");
  return SimilarityGraph::of_hierarchy(hierarchy);
}

LinearPredictor::Parts parts_of(Fit fit, const LeafSets& leaves, double bias,
                                std::uint32_t num_labels) {
  LinearPredictor::Parts parts;
  parts.weights = std::move(fit.weights);
  parts.bias = bias;
  parts.graph = std::move(fit.graph);
  parts.alpha = std::move(fit.alpha);
  parts.label_of_node = leaves.tree.label_of_node;
  parts.candidates = leaves.candidates;
  parts.num_labels = num_labels;
  return parts;
}

TrainResult train(const Plan& plan, const TrainingSet& data, Executor& executor,
                  RunControl& control) {
  const LeafSets leaves = leaves_of(plan.options, data);
  const auto pull = similarity_graph(plan, *data.codec, leaves.tree.graph);
  const auto fit_rows = [&](const CsrView& X, const LabelSets& sets,
                            std::span<const double> row_weights, RunControl& share) {
    return pull ? fit_along_edges(plan, X, sets, row_weights, leaves, *pull, executor, share)
                : fit_along_paths(plan, X, sets, row_weights, leaves, executor, share);
  };
  const CsrMatrix X = kept_rows_with_intercept(data.X, leaves.kept, plan.options.bias);
  const std::vector<double> row_weights = kept_weights(data.row_weights, leaves.kept);
  const auto num_labels = static_cast<std::uint32_t>(data.codec->size());

  const auto fit_part = [&](const std::vector<std::uint32_t>& rows, RunControl& share) {
    Fit fit = fit_rows(select_rows(X, rows), select_rows(leaves.sets, rows),
                       kept_weights(row_weights, rows), share);
    return std::make_unique<LinearPredictor>(parts_of(std::move(fit), leaves, 0, num_labels));
  };
  Decision decision = tuned_decision(decision_options(plan.options), X, leaves.sets,
                                     leaves.tree.label_of_node, fit_part, executor, control);
  Fit fit = fit_rows(X, leaves.sets, row_weights, control);
  TrainResult result;
  result.report = fit.report;
  result.report.warnings = leaves.warnings;
  if (result.report.stop == Stop::converged &&
      result.report.relative_gap > plan.options.tolerance) {
    result.report.warnings.push_back(concat("rounding ended training at a relative gap of ",
                                            result.report.relative_gap, ", above the tolerance"));
  }
  auto parts = parts_of(std::move(fit), leaves, plan.options.bias, num_labels);
  parts.decision = std::move(decision);
  result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  return result;
}

/// Whether hr-lr is solved by the joint Newton method, as far as the label graph decides it.
bool suits_joint_newton(const Plan& plan, const TrainingSet& data, const LeafSets& leaves) {
  const LabelGraph& graph = leaves.tree.graph;
  if (const auto pull = similarity_graph(plan, *data.codec, graph)) {
    SimilarityProblem problem;
    problem.graph = &*pull;
    problem.targets = leaves.candidates;
    return margrove::suits_joint_newton(problem);
  }
  const std::vector<double> alpha(graph.num_nodes(), 1.0);
  AdditiveProblem problem;
  problem.graph = &graph;
  problem.alpha = alpha;
  problem.targets = leaves.candidates;
  return margrove::suits_joint_newton(problem);
}

enum class Solver { joint_dual, joint_newton, alternating };

/// The nodes' vectors over the columns, feature-major, and what the solver keeps: those of the
/// inner nodes (joint dual) or the nodes' vectors twice (alternation) beside them; fourteen bytes a
/// leaf and column and one per leaf and row before, four a leaf and column beside them (joint
/// Newton); and the rows.
std::uint64_t memory(const TrainingSet& data, const LeafSets& leaves, Solver solver) {
  const LabelGraph& graph = leaves.tree.graph;
  const std::uint64_t num_leaves = leaves.candidates.size();
  const std::uint64_t num_nodes = graph.num_nodes();
  const std::uint64_t columns = static_cast<std::uint64_t>(data.X.num_columns()) + 1;
  const std::uint64_t rows = 24 * static_cast<std::uint64_t>(data.X.num_nonzeros());
  const std::uint64_t result = 4 * columns * num_nodes;
  switch (solver) {
    case Solver::joint_dual:
      return rows + result + 4 * columns * (num_nodes - graph.leaves().size());
    case Solver::joint_newton:
      return rows + std::max(num_leaves * (14 * columns + data.X.num_rows()),
                             result + 4 * num_leaves * columns);
    case Solver::alternating:
      break;
  }
  return rows + 3 * result;
}

}  // namespace

Method hr_svm() {
  Method method = make_method<HrSvmOptions>(
      "recursive regularisation: one-vs-rest classifiers pulled towards their relatives",
      [](const HrSvmOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) { return train(plan_of(options), data, executor, control); },
      [](const HrSvmOptions& options, const TrainingSet& data) {
        const bool joint = options.solver == RecursiveSolver::joint && options.label_graph.empty();
        return memory(data, leaves_of(options, data),
                      joint ? Solver::joint_dual : Solver::alternating);
      });
  method.needs_hierarchy = true;
  method.hierarchy_substitute = "label_graph";
  return method;
}

Method hr_lr() {
  Method method = make_method<HrLrOptions>(
      "recursive regularisation with logistic regression at the leaves",
      [](const HrLrOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) { return train(plan_of(options), data, executor, control); },
      [](const HrLrOptions& options, const TrainingSet& data) {
        const Plan plan = plan_of(options);
        const LeafSets leaves = leaves_of(plan.options, data);
        return memory(
            data, leaves,
            suits_joint_newton(plan, data, leaves) ? Solver::joint_newton : Solver::alternating);
      });
  method.needs_hierarchy = true;
  method.hierarchy_substitute = "label_graph";
  return method;
}

}  // namespace margrove
