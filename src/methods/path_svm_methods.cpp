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

struct HsvmOptions : CommonOptions {
  std::string alpha = "uniform";
  bool merge_duplicates = false;
  std::string inference = "exact";
  std::string solver = "bcfw";
  double tolerance = 1e-3;
  int max_passes = 1000;
  int epochs = 50;
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
            field(
                "solver", &HsvmOptions::solver, Choices{{"bcfw", "sgd"}},
                "bcfw: block-coordinate Frank-Wolfe, up to a duality gap; sgd: averaged stochastic "
                "subgradients, for a number of passes"),
            field("tolerance", &HsvmOptions::tolerance, positive,
                  "bcfw: relative duality gap at which training stops"),
            field("max_passes", &HsvmOptions::max_passes, at_least(1),
                  "bcfw: passes over the rows, at most"),
            field("epochs", &HsvmOptions::epochs, at_least(1), "sgd: passes over the rows"),
        });
  }
};

struct NhsvmOptions : HsvmOptions {
  std::string surrogate = "margin";
  NhsvmOptions() { alpha = "maxmin"; }
  static auto fields() {
    return std::tuple_cat(
        HsvmOptions::fields(),
        std::tuple{field("surrogate", &NhsvmOptions::surrogate,
                         Choices{{"margin", "normalized-difference"}},
                         "margin: score difference plus path loss; normalized-difference: 1 plus "
                         "the score difference divided by the path loss")});
  }
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

PathSvmResult fit_paths(const HsvmOptions& options, const std::string& task_loss,
                        const std::string& surrogate, const CsrView& X, const LeafSets& leaves,
                        std::span<const double> alpha, std::span<const double> row_weights,
                        const Continuation& continuation, Executor& executor, RunControl& control) {
  const PathSvmOptions solver{.task_loss = task_loss,
                              .surrogate = surrogate,
                              .C = options.loss_weight(),
                              .solver = options.solver,
                              .tolerance = options.tolerance,
                              .max_passes = options.max_passes,
                              .epochs = options.epochs,
                              .seed = options.seed};
  return train_path_svm(X, leaf_of_row(leaves), leaves.tree.graph, alpha, solver, executor, control,
                        row_weights, continuation);
}

PathSvmResult fit_label_sets(const HsvmOptions& options, const std::string& surrogate,
                             const CsrView& X, const LeafSets& leaves,
                             std::span<const double> alpha, std::span<const double> row_weights,
                             const Continuation& continuation, Executor& executor,
                             RunControl& control) {
  require<InvalidOption>(surrogate == "margin", "option surrogate is ", surrogate,
                         ", but must be margin where rows have several labels");
  const LabelSetSvmOptions solver{.C = options.loss_weight(),
                                  .inference = options.inference,
                                  .solver = options.solver,
                                  .tolerance = options.tolerance,
                                  .max_passes = options.max_passes,
                                  .epochs = options.epochs,
                                  .seed = options.seed};
  return train_label_set_svm(X, leaves.sets, leaves.tree.graph, alpha, solver, executor, control,
                             row_weights, continuation);
}

TrainResult train(const HsvmOptions& options, const std::string& task_loss,
                  const std::string& surrogate, const TrainingSet& data, Executor& executor,
                  RunControl& control) {
  const LeafSets leaves = without_common_roots(leaf_sets(data));
  const NodeWeights weights = weights_of(options, leaves.tree.graph, &control);
  const CsrMatrix X = kept_rows_with_intercept(data.X, leaves.kept, options.bias);
  const std::vector<double> row_weights = kept_weights(data.row_weights, leaves.kept);
  PathSvmResult fit = leaves.sets.single_label()
                          ? fit_paths(options, task_loss, surrogate, X, leaves, weights.alpha,
                                      row_weights, data.continuation, executor, control)
                          : fit_label_sets(options, surrogate, X, leaves, weights.alpha,
                                           row_weights, data.continuation, executor, control);
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
  return (options.solver == "sgd" ? 3 * fit : fit) +  // SGD keeps two sums beside the weights
         12 * static_cast<std::uint64_t>(data.X.num_nonzeros());  // X with the intercept
}

}  // namespace

Method hsvm() {
  Method method = make_method<HsvmOptions>(
      "hsvm", "hierarchical SVM: a structured SVM over paths with Hamming loss",
      [](const HsvmOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) {
        return train(options, "hamming", "margin", data, executor, control);
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
        return train(options, "normalized", options.surrogate, data, executor, control);
      },
      memory);
  method.needs_hierarchy = true;
  return method;
}

}  // namespace margrove
