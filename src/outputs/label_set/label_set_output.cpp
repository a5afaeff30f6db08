#include "outputs/label_set/label_set_output.hpp"

#include "outputs/label_set/label_set_decision.hpp"
#include "outputs/label_set/label_set_svm.hpp"
#include "outputs/leaf_sets.hpp"

namespace margrove {
namespace {

/// Every node has weight 1.
std::vector<double> node_weights_of(const LeafSets& leaves) {
  return std::vector<double>(leaves.tree.graph.num_nodes(), 1.0);
}

LabelSetTuning tuning_of(const StructuredOptions& options, const TrainingSet& data) {
  return {decision_options(options), data.hierarchy};
}

TrainResult train(const StructuredOptions& options, const TrainingSet& data, Executor& executor,
                  RunControl& control) {
  const LeafSets leaves = without_common_roots(leaf_sets(data));
  const PlannedRows rows = planned_rows(data, leaves.kept, options.bias);
  const auto fit_rows = [&](const PlannedRows& part, const LabelSets& sets, RunControl& share,
                            Checkpoint* checkpoint) {
    return train_label_set_svm(
        part.X, sets, leaves.tree.graph, node_weights_of(leaves),
        {Inference::exact, LabelSetLoss::nodes, criteria_for(options.surrogate)},
        options.training(StructuredSolver::automatic), executor, share, part.weights,
        {.checkpoint = checkpoint});
  };
  // Predicts label sets even if each row has one label.
  Decision decision = label_set_decision(
      tuning_of(options, data), leaves, rows,
      [&](const PlannedRows& part, const LabelSets& sets, RunControl& share) {
        return fit_rows(part, sets, share, nullptr).weights;
      },
      executor, control);
  PathSvmResult fit = fit_rows(rows, leaves.sets, control, data.continuation.checkpoint);
  TrainResult result;
  result.report = to_report(fit.fit, leaves.warnings);
  result.predictor = std::make_unique<LinearPredictor>(
      path_parts(leaves, std::move(fit.weights), options.bias,
                 static_cast<std::uint32_t>(data.codec->size()), std::move(decision)));
  return result;
}

MemoryEstimate memory(const StructuredOptions& options, const TrainingSet& data) {
  const LeafSets leaves = without_common_roots(leaf_sets(data));
  const PlannedRows rows = planned_rows(data, leaves.kept, options.bias);
  MemoryEstimate memory = planned_rows_memory(rows, leaves.sets);
  memory.add(label_set_decision_memory(
      tuning_of(options, data), leaves, rows,
      label_set_svm_memory(rows.X, leaves.sets, leaves.tree.graph, node_weights_of(leaves),
                           options.training(StructuredSolver::automatic), {}, 1)));
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
      .takes_offset = true,
      .keeps_checkpoints = true,
  };
  return of_rows(type, RowTraining<StructuredOptions>{train, memory});
}

}  // namespace margrove
