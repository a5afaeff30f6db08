// shared-svm: the structured SVM over paths or label sets whose node weights are learned (NHSVM,
// section 6).

#include "hierarchy/graph_operations.hpp"
#include "margrove/path_estimators.hpp"
#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "outputs/path/path_svm.hpp"
#include "outputs/shared_norm_svm.hpp"

namespace margrove {
namespace {

TrainResult train(const SharedSvmOptions& options, const TrainingSet& data, Executor& executor,
                  RunControl& control) {
  const LeafSets leaves = without_common_roots(leaf_sets(data));
  const SharedNormSvmOptions solver{.task_loss = std::string(name_of(options.task_loss)),
                                    .C = loss_weight(options),
                                    .tolerance = options.tolerance,
                                    .max_rounds = options.max_rounds,
                                    .max_passes = options.max_passes,
                                    .seed = options.seed};
  const CsrMatrix X = kept_rows_with_intercept(data.X, leaves.kept, options.bias);
  const std::vector<double> row_weights = kept_weights(data.row_weights, leaves.kept);
  const auto fit_to = [&](const auto& labels) {
    return train_shared_norm_svm(X, labels, leaves.tree.graph, solver, executor, control,
                                 row_weights);
  };
  SharedNormSvmResult fit =
      leaves.sets.single_label() ? fit_to(leaf_of_row(leaves)) : fit_to(leaves.sets);
  TrainResult result;
  result.report = to_report(fit.fit);
  result.report.warnings = leaves.warnings;
  auto parts = path_parts(leaves, std::move(fit.weights), options.bias,
                          static_cast<std::uint32_t>(data.codec->size()));
  parts.alpha = std::move(fit.alpha);
  result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  return result;
}

std::uint64_t memory(const SharedSvmOptions&, const TrainingSet& data) {
  const LeafSets leaves = without_common_roots(leaf_sets(data));
  const std::vector<double> alpha(leaves.tree.graph.num_nodes(), 1.0);
  return 2 * path_svm_bytes(data.X, leaves.tree.graph, alpha) +
         12 * static_cast<std::uint64_t>(data.X.num_nonzeros());  // X with the intercept
}

}  // namespace

Method shared_svm() {
  Method method = make_method<SharedSvmOptions>(
      "structured SVM with shared norm: node weights learned with the classifiers", train, memory);
  method.needs_hierarchy = true;
  return method;
}

}  // namespace margrove
