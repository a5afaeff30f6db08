#include "outputs/leaf_sets.hpp"

#include <algorithm>

#include "data/csr_operations.hpp"

namespace margrove {

LeafSets leaf_sets(const TrainingSet& data) {
  const LabelSets& sets = *data.labels;
  const auto num_labels = static_cast<std::uint32_t>(data.codec->size());
  LeafSets leaves;
  std::vector<bool> carries_data(num_labels, false);
  for (const LabelId label : data.expected_labels) carries_data[label] = true;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    if (sets[i].empty()) continue;
    leaves.kept.push_back(static_cast<std::uint32_t>(i));
    for (const LabelId label : sets[i]) carries_data[label] = true;
  }
  require(!leaves.kept.empty(), data.source, ": no row has a label");
  if (const std::size_t skipped = sets.num_rows() - leaves.kept.size(); skipped > 0) {
    leaves.warnings.push_back(concat(data.source, ": ", skipped, " of ", sets.num_rows(),
                                     " rows have no label and were left out"));
  }
  leaves.tree = spawn_leaves(
      data.hierarchy != nullptr ? *data.hierarchy : LabelGraph::flat(num_labels), carries_data);
  std::vector<LabelId> set;
  for (const std::uint32_t i : leaves.kept) {
    set.clear();
    for (const LabelId label : sets[i]) set.push_back(leaves.tree.leaf_of_label[label]);
    leaves.sets.append(set);
  }
  for (LabelId label = 0; label < num_labels; ++label) {
    if (carries_data[label]) leaves.candidates.push_back(leaves.tree.leaf_of_label[label]);
  }
  std::sort(leaves.candidates.begin(), leaves.candidates.end());
  return leaves;
}

std::vector<NodeId> leaf_of_row(const LeafSets& leaves) {
  std::vector<NodeId> leaf;
  for (std::size_t i = 0; i < leaves.sets.num_rows(); ++i) leaf.push_back(leaves.sets[i][0]);
  return leaf;
}

LeafSets without_common_roots(LeafSets leaves) {
  WithoutCommonRoots cut = without_common_roots(leaves.tree.graph);
  std::vector<NodeId> new_number(leaves.tree.graph.num_nodes());
  std::vector<NodeId> label_of_node;
  for (NodeId k = 0; k < cut.kept.size(); ++k) {
    new_number[cut.kept[k]] = k;
    label_of_node.push_back(leaves.tree.label_of_node[cut.kept[k]]);
  }
  leaves.tree.graph = std::move(cut.graph);
  leaves.tree.label_of_node = std::move(label_of_node);
  leaves.tree.leaf_of_label.clear();  // in the old numbers
  LabelSets sets;
  std::vector<NodeId> set;
  for (std::size_t i = 0; i < leaves.sets.num_rows(); ++i) {
    set.clear();
    for (const NodeId leaf : leaves.sets[i]) set.push_back(new_number[leaf]);
    sets.append(set);
  }
  leaves.sets = std::move(sets);
  for (NodeId& leaf : leaves.candidates) leaf = new_number[leaf];
  return leaves;
}

CsrMatrix kept_rows_with_intercept(const CsrView& X, const std::vector<std::uint32_t>& kept,
                                   double bias) {
  if (kept.size() == X.num_rows()) return with_intercept(X, bias);
  return with_intercept(select_rows(X, kept), bias);
}

PlannedRows planned_rows(const TrainingSet& data, const std::vector<std::uint32_t>& kept,
                         double bias) {
  return {kept_rows_with_intercept(data.X, kept, bias), kept_weights(data.row_weights, kept)};
}

MemoryEstimate planned_rows_memory(const PlannedRows& rows, const LabelSets& sets) {
  const auto num_rows = static_cast<double>(sets.num_rows());
  MemoryEstimate memory;
  memory.add("rows with the intercept",
             8.0 * static_cast<double>(rows.X.view().num_nonzeros()) + 8 * num_rows);
  memory.add("labels of rows", 20 * num_rows + 4.0 * static_cast<double>(sets.num_labels_total()));
  return memory;
}

std::vector<double> kept_weights(std::span<const double> row_weights,
                                 const std::vector<std::uint32_t>& kept) {
  std::vector<double> weights;
  if (row_weights.empty()) return weights;
  for (const std::uint32_t i : kept) weights.push_back(row_weights[i]);
  return weights;
}

LinearPredictor::Parts path_parts(const LeafSets& leaves, WeightMatrix weights, double bias,
                                  std::uint32_t num_labels, Decision decision) {
  LinearPredictor::Parts parts;
  parts.weights = std::move(weights);
  parts.bias = bias;
  parts.graph = leaves.tree.graph;
  parts.label_of_node = leaves.tree.label_of_node;
  parts.candidates = leaves.candidates;
  parts.num_labels = num_labels;
  parts.decision = std::move(decision);
  return parts;
}

}  // namespace margrove
