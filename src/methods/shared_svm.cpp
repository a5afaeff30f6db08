// shared-svm: the structured SVM over paths or label sets whose node weights are learned (NHSVM,
// section 6).

#include "methods/linear_training.hpp"
#include "methods/methods.hpp"
#include "outputs/path/path_svm.hpp"
#include "outputs/shared_norm_svm.hpp"

namespace margrove {
namespace {

struct SharedSvmOptions : CommonOptions {
  std::string task_loss = "zero-one";
  double tolerance = 1e-3;
  int max_rounds = 200;
  int max_passes = 1000;
  std::string cost_matrix;
  static auto fields() {
    return std::tuple_cat(
        CommonOptions::fields(),
        std::tuple{
            field(
                "task_loss", &SharedSvmOptions::task_loss, Choices{{"zero-one", "hamming"}},
                "what a wrong path costs: 1, or the number of nodes on one of the two paths only; "
                "rows with several labels pay 1 for each wrong leaf"),
            field("tolerance", &SharedSvmOptions::tolerance, positive,
                  "relative duality gap of the joint problem at which training stops"),
            field("max_rounds", &SharedSvmOptions::max_rounds, at_least(1),
                  "changes of the node weights, at most"),
            field("max_passes", &SharedSvmOptions::max_passes, at_least(1),
                  "passes over the rows for one choice of node weights, at most"),
            field("cost_matrix", &SharedSvmOptions::cost_matrix, Choices{}, kCostMatrixHelp),
        });
  }
};

TrainResult train(const SharedSvmOptions& options, const TrainingSet& data, Executor& executor,
                  RunControl& control) {
  const LeafSets leaves = without_common_roots(leaf_sets(data));
  const SharedNormSvmOptions solver{.task_loss = options.task_loss,
                                    .C = options.loss_weight(),
                                    .tolerance = options.tolerance,
                                    .max_rounds = options.max_rounds,
                                    .max_passes = options.max_passes,
                                    .seed = options.seed};
  const CsrMatrix X = kept_rows_with_intercept(data.X, leaves.kept, options.bias);
  const std::vector<double> row_weights = kept_weights(data.row_weights, leaves.kept);
  const std::vector<double> costs = leaf_costs(options.cost_matrix, leaves, *data.codec);
  const LabelGraph& graph = leaves.tree.graph;
  SharedNormSvmResult fit =
      leaves.sets.single_label()
          ? train_shared_norm_svm(X, leaf_of_row(leaves), graph, solver, executor, control,
                                  row_weights, costs)
          : train_shared_norm_svm(X, leaves.sets, graph, solver, executor, control, row_weights);
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
      "shared-svm", "structured SVM with shared norm: node weights learned with the classifiers",
      train, memory);
  method.needs_hierarchy = true;
  return method;
}

}  // namespace margrove
