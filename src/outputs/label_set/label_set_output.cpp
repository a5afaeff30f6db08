#include "outputs/label_set/label_set_output.hpp"

#include "outputs/label_set/label_set_svm.hpp"
#include "outputs/leaf_sets.hpp"

namespace margrove {
namespace {

/// Every node has weight 1.
std::vector<double> node_weights_of(const LeafSets& leaves) {
  return std::vector<double>(leaves.tree.graph.num_nodes(), 1.0);
}

TrainResult train(const StructuredOptions& options, const TrainingSet& data, Executor& executor,
                  RunControl& control) {
  require_hamming(options);
  const LeafSets leaves = without_common_roots(leaf_sets(data));
  const PlannedRows rows = planned_rows(data, leaves.kept, options.bias);
  PathSvmResult fit = train_label_set_svm(
      rows.X, leaves.sets, leaves.tree.graph, node_weights_of(leaves),
      {Inference::exact, LabelSetLoss::nodes}, options.training(), executor, control);
  TrainResult result;
  result.report = to_report(fit.fit);
  result.report.warnings = leaves.warnings;
  auto parts = path_parts(leaves, std::move(fit.weights), options.bias,
                          static_cast<std::uint32_t>(data.codec->size()));
  parts.decision = LabelSetDecision{};  // also where each row has one label
  result.predictor = std::make_unique<LinearPredictor>(std::move(parts));
  return result;
}

MemoryEstimate memory(const StructuredOptions& options, const TrainingSet& data) {
  const LeafSets leaves = without_common_roots(leaf_sets(data));
  const PlannedRows rows = planned_rows(data, leaves.kept, options.bias);
  MemoryEstimate memory = planned_rows_memory(rows, leaves.sets);
  memory.add(label_set_svm_memory(rows.X, leaves.sets, leaves.tree.graph, node_weights_of(leaves),
                                  options.training(), {}, 1));
  return memory;
}

}  // namespace

OutputType label_set_output() {
  const OutputType type{
      .name = "hierarchy",
      .plural = "hierarchical label sets",
      .summary = "label sets of a hierarchy",
      .kind = "linear",
      .load = LinearPredictor::load,
  };
  return of_rows(type, RowTraining<StructuredOptions>{train, memory});
}

}  // namespace margrove
