// hsvm and nhsvm: structured SVMs over root-to-leaf paths, or over unions of them where rows have
// several labels (NHSVM, sections 3 to 5).

#include <algorithm>

#include "margrove/node_weights.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "outputs/label_set/label_set_svm.hpp"
#include "outputs/path/path_svm.hpp"

namespace margrove {
namespace {

constexpr const char* kPathSurrogateHelp =
    "margin: score difference plus path loss; slack, generalised:BETA,A, beta:BETA, log, prob, "
    "prob-convex: other functions of both; normalized-difference: 1 plus the score difference "
    "divided by the path loss, for rows with one label";

struct HsvmOptions : CommonOptions {
  std::string alpha = "uniform";
  bool merge_duplicates = false;
  std::string inference = "exact";
  AnySurrogate surrogate = MarginRescaling{};
  SearchKind search = SearchKind::automatic;
  StructuredSolver solver = StructuredSolver::bcfw;
  double tolerance = 1e-3;
  int max_passes = 1000;
  int epochs = 50;
  int max_bans = 10;
  std::string cost_matrix;
  static auto fields() {
    return std::tuple_cat(
        CommonOptions::fields(),
        std::tuple{
            field("alpha", &HsvmOptions::alpha, Choices{},
                  "rule of the node weights: uniform, leaves, power:RHO, directional, maxmin, "
                  "relaxed:T"),
            field("merge_duplicates", &HsvmOptions::merge_duplicates,
                  "weigh the hierarchy whose nodes with the same leaves below them are merged, and "
                  "split each weight evenly over the copies"),
            field("inference", &HsvmOptions::inference, Choices{{"exact", "relaxed"}},
                  "training rows with several labels on DAGs: the most violating label set, or the "
                  "maximum of its linear relaxation; predictions are exact"),
            field("surrogate", &HsvmOptions::surrogate, kPathSurrogateHelp),
            field("search", &HsvmOptions::search, kSearchHelp),
            field("solver", &HsvmOptions::solver, kSolverHelp),
            field("tolerance", &HsvmOptions::tolerance, positive,
                  "bcfw and cutting planes: relative duality gap at which training stops"),
            field("max_passes", &HsvmOptions::max_passes, at_least(1),
                  "bcfw and cutting planes: passes over the rows, at most"),
            field("epochs", &HsvmOptions::epochs, at_least(1), "sgd: passes over the rows"),
            field("max_bans", &HsvmOptions::max_bans, at_least(0), kMaxBansHelp),
            field("cost_matrix", &HsvmOptions::cost_matrix, Choices{}, kCostMatrixHelp),
        });
  }

  StructuredTraining training() const {
    return {.surrogate = surrogate,
            .search = search,
            .solver = solver,
            .C = loss_weight(),
            .tolerance = tolerance,
            .max_passes = max_passes,
            .epochs = epochs,
            .max_bans = max_bans,
            .seed = seed};
  }
};

struct NhsvmOptions : HsvmOptions {
  NhsvmOptions() { alpha = "maxmin"; }
};

NodeWeights weights_of(const HsvmOptions& options, const LabelGraph& graph, RunControl* control) {
  return node_weights(graph, NodeWeightRule::parse(options.alpha),
                      {.merge_duplicates = options.merge_duplicates}, control);
}

void warn_of_unweighted_leaves(const LabelGraph& graph, std::span<const double> alpha,
                               std::vector<std::string>& warnings) {
  std::string warning = unweighted_leaves(graph, alpha);
  if (!warning.empty()) warnings.push_back(std::move(warning));
}

TrainResult train(const HsvmOptions& options, TaskLoss loss, const TrainingSet& data,
                  Executor& executor, RunControl& control) {
  const LeafSets leaves = without_common_roots(leaf_sets(data));
  const NodeWeights weights = weights_of(options, leaves.tree.graph, &control);
  const CsrMatrix X = kept_rows_with_intercept(data.X, leaves.kept, options.bias);
  const std::vector<double> row_weights = kept_weights(data.row_weights, leaves.kept);
  const std::vector<double> costs = leaf_costs(options.cost_matrix, leaves, *data.codec);
  const LabelSetMaximum maximum =
      options.inference == "exact" ? LabelSetMaximum::exact : LabelSetMaximum::relaxed;
  PathSvmResult fit =
      leaves.sets.single_label()
          ? train_path_svm(X, leaf_of_row(leaves), leaves.tree.graph, weights.alpha,
                           costs.empty() ? LeafLoss(loss) : LeafLoss::of_costs(costs),
                           options.training(), executor, control, row_weights, data.continuation)
          : train_label_set_svm(X, leaves.sets, leaves.tree.graph, weights.alpha, maximum,
                                options.training(), executor, control, row_weights,
                                data.continuation);
  TrainResult result;
  result.report = to_report(fit.fit);
  result.report.warnings = leaves.warnings;
  warn_of_unweighted_leaves(leaves.tree.graph, weights.alpha, result.report.warnings);
  auto parts = path_parts(leaves, std::move(fit.weights), options.bias,
                          static_cast<std::uint32_t>(data.codec->size()));
  parts.alpha = weights.alpha;
  result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  result.state = std::move(fit.state);
  return result;
}

std::uint64_t memory(const HsvmOptions& options, const TrainingSet& data) {
  const LeafSets leaves = without_common_roots(leaf_sets(data));
  const NodeWeights weights = weights_of(options, leaves.tree.graph, nullptr);
  const std::uint64_t fit = path_svm_bytes(data.X, leaves.tree.graph, weights.alpha);
  const bool is_sgd = chosen_solver(options.solver, options.surrogate) == StructuredSolver::sgd;
  return (is_sgd ? 3 * fit : fit) +  // SGD keeps two sums beside the weights
         12 * static_cast<std::uint64_t>(data.X.num_nonzeros());  // X with the intercept
}

}  // namespace

Method hsvm() {
  Method method = make_method<HsvmOptions>(
      "hsvm", "hierarchical SVM: a structured SVM over paths with Hamming loss",
      [](const HsvmOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) {
        return train(options, TaskLoss::hamming, data, executor, control);
      },
      memory);
  method.needs_hierarchy = true;
  return method;
}

Method nhsvm() {
  Method method = make_method<NhsvmOptions>(
      "nhsvm", "normalized hierarchical SVM: paths of equal weight, normalized loss",
      [](const NhsvmOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) {
        return train(options, TaskLoss::normalized, data, executor, control);
      },
      memory);
  method.needs_hierarchy = true;
  return method;
}

}  // namespace margrove
