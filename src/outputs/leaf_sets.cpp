#include "outputs/leaf_sets.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>

#include "data/csr_operations.hpp"

namespace margrove {
namespace {

/// Rows whose label has no candidate below.
struct LeftOutRows {
  std::size_t count = 0;
  std::size_t first = 0;
  LabelId label = 0;  // of the first one
};

/// The label itself if there are several candidates at or below it, the candidate if there is one,
/// and nothing if there is none.
class PossibleLeaves {
 public:
  PossibleLeaves(const LabelGraph& graph, const std::vector<bool>& is_candidate)
      : graph_(graph), is_candidate_(is_candidate), known_(graph.num_nodes()) {}
  std::optional<NodeId> of(NodeId label) {
    auto& known = known_[label];
    if (!known) known = find(label);
    return *known;
  }

 private:
  std::optional<NodeId> find(NodeId label) const {
    std::optional<NodeId> only;
    for (const NodeId n : graph_.descendants(label)) {
      if (!is_candidate_[n]) continue;
      if (only) return label;
      only = n;
    }
    return only;
  }
  const LabelGraph& graph_;
  const std::vector<bool>& is_candidate_;
  std::vector<std::optional<std::optional<NodeId>>> known_;
};

/// Whether each node is a leaf that is the label of a row or expected.
std::vector<bool> candidate_leaves(const TrainingSet& data) {
  const LabelGraph& graph = *data.hierarchy;
  std::vector<bool> is_candidate(graph.num_nodes(), false);
  for (const LabelId label : data.expected_labels) is_candidate[label] = graph.is_leaf(label);
  for (std::size_t i = 0; i < data.labels->num_rows(); ++i) {
    const auto set = (*data.labels)[i];
    require(set.size() <= 1, data.source, ": row ", i + 1, " has ", set.size(),
            " labels, but must have one where option partial_labels is given");
    if (!set.empty() && graph.is_leaf(set.front())) is_candidate[set.front()] = true;
  }
  return is_candidate;
}

void warn_of_rows_without_label(const TrainingSet& data, std::size_t count, LeafSets& leaves) {
  if (count == 0) return;
  leaves.warnings.push_back(concat(data.source, ": ", count, " of ", data.labels->num_rows(),
                                   " rows have no label and were left out"));
}

void warn_of(const LeftOutRows& rows, const TrainingSet& data, LeafSets& leaves) {
  if (rows.count == 0) return;
  leaves.warnings.push_back(
      concat(data.source, ": ", rows.count, " of ", data.labels->num_rows(),
             " rows were left out, because no row has a leaf below their label as label: row ",
             rows.first + 1, " has '", data.codec->name(rows.label), "'"));
}

}  // namespace

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
  warn_of_rows_without_label(data, sets.num_rows() - leaves.kept.size(), leaves);
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

LeafSets partial_leaf_sets(const TrainingSet& data) {
  require<InvalidOption>(data.hierarchy != nullptr,
                         "option partial_labels is given, which needs a hierarchy");
  const LabelGraph& graph = *data.hierarchy;
  const std::vector<bool> is_candidate = candidate_leaves(data);
  LeafSets leaves;
  leaves.tree = spawn_leaves(graph, std::vector<bool>(graph.num_nodes(), false));
  PossibleLeaves possible(graph, is_candidate);
  LeftOutRows left_out;
  std::size_t num_without_label = 0;
  bool has_leaf = false;
  for (std::uint32_t i = 0; i < data.labels->num_rows(); ++i) {
    if ((*data.labels)[i].empty()) {
      ++num_without_label;
      continue;
    }
    const LabelId label = (*data.labels)[i].front();
    has_leaf = has_leaf || graph.is_leaf(label);
    const auto node = possible.of(label);
    if (!node) {
      if (left_out.count++ == 0) left_out = {1, i, label};
      continue;
    }
    leaves.kept.push_back(i);
    leaves.sets.append(std::span(&*node, 1));
  }
  require(has_leaf, data.source,
          ": no row has a leaf as label, but one must where option partial_labels is given");
  warn_of_rows_without_label(data, num_without_label, leaves);
  warn_of(left_out, data, leaves);
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (is_candidate[n]) leaves.candidates.push_back(n);
  }
  return leaves;
}

std::vector<NodeId> leaf_of_row(const LeafSets& leaves) {
  std::vector<NodeId> leaf;
  for (std::size_t i = 0; i < leaves.sets.num_rows(); ++i) leaf.push_back(leaves.sets[i][0]);
  return leaf;
}

LeafSets without_common_roots(LeafSets leaves) {
  WithoutCommonRoots cut = without_common_roots(leaves.tree.graph);
  constexpr NodeId kNone = std::numeric_limits<NodeId>::max();
  std::vector<NodeId> new_number(leaves.tree.graph.num_nodes(), kNone);
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
  std::vector<std::uint32_t> kept;
  for (std::size_t i = 0; i < leaves.sets.num_rows(); ++i) {
    set.clear();
    for (const NodeId node : leaves.sets[i]) set.push_back(new_number[node]);
    if (set.front() == kNone) continue;  // a partial label
    sets.append(set);
    kept.push_back(leaves.kept[i]);
  }
  if (kept.size() < leaves.kept.size()) {
    leaves.warnings.push_back(concat(leaves.kept.size() - kept.size(), " of ", leaves.kept.size(),
                                     " rows were left out, because every leaf is below their "
                                     "label, which says nothing"));
  }
  leaves.kept = std::move(kept);
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
