#include "margrove/model/linear_training.hpp"

#include <algorithm>

namespace margrove {

OccurringLabels occurring_labels(const LabelSets& sets, std::size_t num_labels) {
  constexpr LabelId kAbsent = ~LabelId{0};
  std::vector<LabelId> position(num_labels, kAbsent);
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    for (const LabelId label : sets[i]) position[label] = 0;
  }
  OccurringLabels occurring;
  for (LabelId label = 0; label < num_labels; ++label) {
    if (position[label] == kAbsent) continue;
    position[label] = static_cast<LabelId>(occurring.labels.size());
    occurring.labels.push_back(label);
  }
  std::vector<LabelId> set;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    set.clear();
    for (const LabelId label : sets[i]) set.push_back(position[label]);
    occurring.sets.append(set);
  }
  return occurring;
}

LeafSets leaf_sets(const TrainingSet& data) {
  const LabelSets& sets = *data.labels;
  const auto num_labels = static_cast<std::uint32_t>(data.codec->size());
  LeafSets leaves;
  std::vector<bool> carries_data(num_labels, false);
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

LeafRows leaf_rows(const TrainingSet& data, std::string_view method) {
  const LabelSets& sets = *data.labels;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    require(sets[i].size() <= 1, data.source, ": row ", i + 1, " has ", sets[i].size(),
            " labels, '", sets[i].empty() ? "" : data.codec->name(sets[i][0]),
            "' among them, but method ", method, " needs one a row");
  }
  LeafSets leaves = leaf_sets(data);
  LeafRows rows;
  for (std::size_t i = 0; i < leaves.kept.size(); ++i) {
    rows.leaf_of_row.push_back(leaves.sets[i][0]);
  }
  rows.tree = std::move(leaves.tree);
  rows.kept = std::move(leaves.kept);
  rows.candidates = std::move(leaves.candidates);
  rows.warnings = std::move(leaves.warnings);
  return rows;
}

LeafRows without_common_roots(LeafRows rows) {
  WithoutCommonRoots cut = without_common_roots(rows.tree.graph);
  std::vector<NodeId> new_number(rows.tree.graph.num_nodes());
  std::vector<NodeId> label_of_node;
  for (NodeId k = 0; k < cut.kept.size(); ++k) {
    new_number[cut.kept[k]] = k;
    label_of_node.push_back(rows.tree.label_of_node[cut.kept[k]]);
  }
  rows.tree.graph = std::move(cut.graph);
  rows.tree.label_of_node = std::move(label_of_node);
  rows.tree.leaf_of_label.clear();  // in the old numbers
  for (NodeId& leaf : rows.leaf_of_row) leaf = new_number[leaf];
  for (NodeId& leaf : rows.candidates) leaf = new_number[leaf];
  return rows;
}

CsrMatrix kept_rows_with_intercept(const CsrView& X, const std::vector<std::uint32_t>& kept,
                                   double bias) {
  if (kept.size() == X.num_rows()) return with_intercept(X, bias);
  return with_intercept(select_rows(X, kept), bias);
}

std::vector<double> kept_weights(std::span<const double> row_weights,
                                 const std::vector<std::uint32_t>& kept) {
  std::vector<double> weights;
  if (row_weights.empty()) return weights;
  for (const std::uint32_t i : kept) weights.push_back(row_weights[i]);
  return weights;
}

LinearPredictor::Parts path_parts(const LeafRows& rows, WeightMatrix weights, double bias,
                                  std::uint32_t num_labels) {
  LinearPredictor::Parts parts;
  parts.weights = std::move(weights);
  parts.bias = bias;
  parts.graph = rows.tree.graph;
  parts.label_of_node = rows.tree.label_of_node;
  parts.candidates = rows.candidates;
  parts.num_labels = num_labels;
  return parts;
}

FitReport to_report(const StructuredFit& fit) {
  FitReport report;
  report.stop = fit.stop;
  report.passes = fit.passes;
  report.primal = fit.primal;
  report.dual = fit.dual;
  report.relative_gap = fit.relative_gap;
  return report;
}

}  // namespace margrove
