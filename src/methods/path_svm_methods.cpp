// hsvm and nhsvm: structured SVMs over root-to-leaf paths, or over unions of them where rows have
// several labels (NHSVM, sections 3 to 5).

#include <algorithm>

#include "hierarchy/graph_operations.hpp"
#include "hierarchy/weight_paths.hpp"
#include "margrove/path_estimators.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "outputs/label_set/label_set_svm.hpp"
#include "outputs/path/path_svm.hpp"

namespace margrove {
namespace {

/// Of both methods, the one without a surrogate as the other with this one.
NhSvmOptions with_surrogate(const HSvmOptions& options, PathSurrogate surrogate) {
  return {.C = options.C,
          .lambda = options.lambda,
          .bias = options.bias,
          .seed = options.seed,
          .alpha = options.alpha,
          .merge_duplicates = options.merge_duplicates,
          .inference = options.inference,
          .solver = options.solver,
          .tolerance = options.tolerance,
          .max_passes = options.max_passes,
          .epochs = options.epochs,
          .surrogate = surrogate};
}

template <class Options>
NodeWeights weights_of(const Options& options, const LabelGraph& graph, RunControl* control) {
  return node_weights(graph, options.alpha, {.merge_duplicates = options.merge_duplicates},
                      control);
}

void warn_of_unweighted_leaves(const LabelGraph& graph, std::span<const double> alpha,
                               std::vector<std::string>& warnings) {
  std::string warning = unweighted_leaves(graph, alpha);
  if (!warning.empty()) warnings.push_back(std::move(warning));
}

PathSvmResult fit_paths(const NhSvmOptions& options, TaskLoss task_loss, const CsrView& X,
                        const LeafSets& leaves, std::span<const double> alpha,
                        std::span<const double> row_weights, const Continuation& continuation,
                        Executor& executor, RunControl& control) {
  const PathSvmOptions solver{.task_loss = std::string(name_of(task_loss)),
                              .surrogate = std::string(name_of(options.surrogate)),
                              .C = loss_weight(options),
                              .solver = std::string(name_of(options.solver)),
                              .tolerance = options.tolerance,
                              .max_passes = options.max_passes,
                              .epochs = options.epochs,
                              .seed = options.seed};
  return train_path_svm(X, leaf_of_row(leaves), leaves.tree.graph, alpha, solver, executor, control,
                        row_weights, continuation);
}

PathSvmResult fit_label_sets(const NhSvmOptions& options, const CsrView& X, const LeafSets& leaves,
                             std::span<const double> alpha, std::span<const double> row_weights,
                             const Continuation& continuation, Executor& executor,
                             RunControl& control) {
  require<InvalidOption>(options.surrogate == PathSurrogate::margin, "option surrogate is ",
                         name_of(options.surrogate),
                         ", but must be margin where rows have several labels");
  const LabelSetSvmOptions solver{.C = loss_weight(options),
                                  .inference = std::string(name_of(options.inference)),
                                  .solver = std::string(name_of(options.solver)),
                                  .tolerance = options.tolerance,
                                  .max_passes = options.max_passes,
                                  .epochs = options.epochs,
                                  .seed = options.seed};
  return train_label_set_svm(X, leaves.sets, leaves.tree.graph, alpha, solver, executor, control,
                             row_weights, continuation);
}

TrainResult train(const NhSvmOptions& options, TaskLoss task_loss, const TrainingSet& data,
                  Executor& executor, RunControl& control) {
  const LeafSets leaves = without_common_roots(leaf_sets(data));
  const NodeWeights weights = weights_of(options, leaves.tree.graph, &control);
  const CsrMatrix X = kept_rows_with_intercept(data.X, leaves.kept, options.bias);
  const std::vector<double> row_weights = kept_weights(data.row_weights, leaves.kept);
  PathSvmResult fit = leaves.sets.single_label()
                          ? fit_paths(options, task_loss, X, leaves, weights.alpha, row_weights,
                                      data.continuation, executor, control)
                          : fit_label_sets(options, X, leaves, weights.alpha, row_weights,
                                           data.continuation, executor, control);
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

template <class Options>
std::uint64_t memory(const Options& options, const TrainingSet& data) {
  const LeafSets leaves = without_common_roots(leaf_sets(data));
  const NodeWeights weights = weights_of(options, leaves.tree.graph, nullptr);
  const std::uint64_t fit = path_svm_bytes(data.X, leaves.tree.graph, weights.alpha);
  return (options.solver == PathSolver::sgd ? 3 * fit
                                            : fit) +  // SGD keeps two sums beside the weights
         12 * static_cast<std::uint64_t>(data.X.num_nonzeros());  // X with the intercept
}

}  // namespace

Method hsvm() {
  Method method = make_method<HSvmOptions>(
      "hierarchical SVM: a structured SVM over paths with Hamming loss",
      [](const HSvmOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) {
        return train(with_surrogate(options, PathSurrogate::margin), TaskLoss::hamming, data,
                     executor, control);
      },
      memory<HSvmOptions>);
  method.needs_hierarchy = true;
  return method;
}

Method nhsvm() {
  Method method = make_method<NhSvmOptions>(
      "normalized hierarchical SVM: paths of equal weight, normalized loss",
      [](const NhSvmOptions& options, const TrainingSet& data, Executor& executor,
         RunControl& control) {
        return train(options, TaskLoss::normalized, data, executor, control);
      },
      memory<NhSvmOptions>);
  method.needs_hierarchy = true;
  return method;
}

}  // namespace margrove
