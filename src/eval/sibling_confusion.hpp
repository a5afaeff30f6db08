#pragma once
// Siblings that are taken for each other.

#include <map>
#include <utility>
#include <vector>

#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// The rows in which the first node of a pair is missed and the second, its sibling, wrongly
/// predicted, while a parent of both is right; roots are siblings of each other.
using SiblingConfusion = std::map<std::pair<NodeId, NodeId>, std::int64_t>;
/// Adds one row's pairs. The sets are ancestor-closed, roots included, ascending.
void count_confused(const LabelGraph& graph, std::span<const NodeId> truth,
                    std::span<const NodeId> predicted, SiblingConfusion& confused);
/// Of all rows; labels that are no nodes of the graph are left out.
SiblingConfusion sibling_confusion(const LabelGraph& graph, const LabelSets& truth,
                                   const LabelSets& predicted);

/// The labels and their ancestors, roots included, ascending; without labels that are no nodes.
std::vector<NodeId> closed_with_roots(const LabelGraph& graph, std::span<const LabelId> labels);

}  // namespace margrove
