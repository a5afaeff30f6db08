#include "margrove/model/linear_training.hpp"

#include <algorithm>
#include <numeric>

#include "margrove/base/random.hpp"

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

LeafRows leaf_rows(const TrainingSet& data, std::string_view method) {
  const LabelSets& sets = *data.labels;
  const auto num_labels = static_cast<std::uint32_t>(data.codec->size());
  LeafRows rows;
  std::vector<bool> carries_data(num_labels, false);
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    const auto set = sets[i];
    if (set.empty()) continue;
    require(set.size() == 1, data.source, ": row ", i + 1, " has ", set.size(), " labels, '",
            data.codec->name(set[0]), "' among them, but method ", method, " needs one a row");
    rows.kept.push_back(static_cast<std::uint32_t>(i));
    carries_data[set[0]] = true;
  }
  require(!rows.kept.empty(), data.source, ": no row has a label, but method ", method,
          " needs one a row");
  if (const std::size_t skipped = sets.num_rows() - rows.kept.size(); skipped > 0) {
    rows.warnings.push_back(concat(data.source, ": ", skipped, " of ", sets.num_rows(),
                                   " rows have no label and were left out"));
  }
  rows.tree = spawn_leaves(
      data.hierarchy != nullptr ? *data.hierarchy : LabelGraph::flat(num_labels), carries_data);
  for (const std::uint32_t i : rows.kept) {
    rows.leaf_of_row.push_back(rows.tree.leaf_of_label[sets[i][0]]);
  }
  for (LabelId label = 0; label < num_labels; ++label) {
    if (carries_data[label]) rows.candidates.push_back(rows.tree.leaf_of_label[label]);
  }
  std::sort(rows.candidates.begin(), rows.candidates.end());
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

HoldOut hold_out(std::size_t num_rows, std::uint64_t seed) {
  std::vector<std::uint32_t> rows(num_rows);
  std::iota(rows.begin(), rows.end(), 0u);
  Random random(seed);
  random.shuffle(std::span(rows));
  const std::size_t size = num_rows < 2 ? 0 : std::max<std::size_t>(1, num_rows / 5);
  const auto split = rows.begin() + static_cast<std::ptrdiff_t>(size);
  HoldOut parts{{split, rows.end()}, {rows.begin(), split}};
  std::sort(parts.training.begin(), parts.training.end());
  std::sort(parts.validation.begin(), parts.validation.end());
  return parts;
}

}  // namespace margrove
