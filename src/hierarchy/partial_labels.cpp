#include "hierarchy/partial_labels.hpp"

#include <algorithm>
#include <utility>

namespace margrove {
namespace {

bool is_partial(const LabelGraph& graph, std::span<const LabelId> set) {
  return set.size() == 1 && !graph.is_leaf(set.front());
}

}  // namespace

PartialLabels::PartialLabels(const LabelGraph& graph, const LabelSets& sets) {
  for (std::uint32_t i = 0; i < sets.num_rows(); ++i) {
    if (!is_partial(graph, sets[i])) continue;
    rows_of_.resize(graph.num_nodes());
    rows_of_[sets[i].front()].push_back(i);
    graph_ = &graph;
  }
}

std::vector<NodeId> PartialLabels::labels_above(NodeId leaf) const {
  if (empty()) return {};
  std::vector<NodeId> above = graph_->ancestors(leaf);
  std::erase_if(above, [&](NodeId n) { return rows_of_[n].empty(); });
  std::sort(above.begin(), above.end());
  return above;
}

LeafChoices::LeafChoices(const LabelGraph& graph, std::span<const NodeId> label_of_row,
                         std::span<const NodeId> candidates) {
  std::vector<bool> is_candidate(graph.num_nodes(), false);
  for (const NodeId leaf : candidates) is_candidate[leaf] = true;
  std::vector<std::uint32_t> set_of_label(graph.num_nodes(), kKnown);
  for (const NodeId label : label_of_row) {
    if (!graph.is_leaf(label) && set_of_label[label] == kKnown) {
      set_of_label[label] = static_cast<std::uint32_t>(sets_.size());
      std::vector<NodeId> below = graph.descendants(label);
      std::erase_if(below, [&](NodeId n) { return !is_candidate[n]; });
      std::sort(below.begin(), below.end());
      sets_.push_back(std::move(below));
    }
    set_of_row_.push_back(set_of_label[label]);
  }
}

LabelSets known_leaves(const LabelGraph& graph, const LabelSets& sets) {
  LabelSets known;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    known.append(is_partial(graph, sets[i]) ? std::span<const LabelId>() : sets[i]);
  }
  return known;
}

}  // namespace margrove
