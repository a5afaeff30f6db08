#include "outputs/label_set/node_set_output.hpp"

#include "data/csr_operations.hpp"
#include "hierarchy/graph_operations.hpp"
#include "outputs/label_set/node_set_predictor.hpp"

namespace margrove {
namespace {

/// The rows that have a label, with their leaves: an inner label that rows carry gets a leaf below
/// it, and the nodes above all leaves, which cancel in every margin, are left out.
struct LeafRows {
  LabelGraph graph;
  std::vector<LabelId> label_of_node;
  std::vector<std::uint32_t> kept;
  std::vector<std::vector<NodeId>> leaves;  // of the kept rows
};

LeafRows leaf_rows(const TrainingSet& data) {
  const LabelSets& labels = *data.labels;
  const auto num_labels = static_cast<std::uint32_t>(data.codec->size());
  LeafRows rows;
  std::vector<bool> carries(num_labels, false);
  for (std::size_t i = 0; i < labels.num_rows(); ++i) {
    for (const LabelId l : labels[i]) carries[l] = true;
    if (!labels[i].empty()) rows.kept.push_back(static_cast<std::uint32_t>(i));
  }
  require(!rows.kept.empty(), data.source, ": no row has a label, but one must have");
  const LeafLabelled tree = spawn_leaves(
      data.hierarchy != nullptr ? *data.hierarchy : LabelGraph::flat(num_labels), carries);
  WithoutCommonRoots cut = without_common_roots(tree.graph);
  std::vector<NodeId> node_of(tree.graph.num_nodes(), 0);
  for (NodeId k = 0; k < cut.kept.size(); ++k) {
    node_of[cut.kept[k]] = k;
    rows.label_of_node.push_back(tree.label_of_node[cut.kept[k]]);
  }
  rows.graph = std::move(cut.graph);
  for (const std::uint32_t i : rows.kept) {
    auto& leaves = rows.leaves.emplace_back();
    for (const LabelId l : labels[i]) leaves.push_back(node_of[tree.leaf_of_label[l]]);
  }
  return rows;
}

TrainResult train(const StructuredOptions& options, const TrainingSet& data, Executor& executor,
                  RunControl& control) {
  LeafRows rows = leaf_rows(data);
  const std::size_t left_out = data.labels->num_rows() - rows.kept.size();
  const CsrMatrix X = left_out == 0 ? with_intercept(data.X, options.bias)
                                    : with_intercept(select_rows(data.X, rows.kept), options.bias);
  StructuredWeights fit = fit_node_sets(X, rows.leaves, rows.graph, options, executor, control);
  TrainResult result;
  result.report = to_report(fit.fit);
  if (left_out > 0) {
    result.report.warnings.push_back(
        concat(data.source, ": ", left_out, " rows without a label are left out"));
  }
  result.predictor = std::make_unique<NodeSetPredictor>(
      RowShape{data.X.num_columns(), options.bias}, static_cast<std::uint32_t>(data.codec->size()),
      std::move(rows.graph), std::move(rows.label_of_node), std::move(fit.weights));
  return result;
}

MemoryEstimate memory(const StructuredOptions&, const TrainingSet& data) {
  const auto nodes = static_cast<double>(data.codec->size());
  constexpr double kLabellings = 4;  // of a row
  MemoryEstimate memory;
  memory.add("rows of the solver", solver_row_bytes(data.X));
  // The solver's sums and the model.
  memory.add("weights", 8 * (data.X.num_columns() + 1.0) * nodes);
  memory.add("dual variables",
             static_cast<double>(data.X.num_rows()) * (kLabellings * (6 * nodes + 150) + 500));
  return memory;
}

}  // namespace

OutputType node_set_output() {
  const OutputType type{
      .name = "hierarchy",
      .plural = "hierarchical label sets",
      .summary = "label sets of a hierarchy",
      .kind = "node-sets",
      .load = NodeSetPredictor::load,
  };
  return of_rows(type, RowTraining<StructuredOptions>{train, memory});
}

}  // namespace margrove
