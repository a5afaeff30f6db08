#pragma once
// Confusions of siblings.

#include <map>
#include <utility>
#include <vector>

#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// For a pair (true, predicted) of siblings, the number of rows in which the first is missed and
/// the second is wrongly predicted, while a parent of both is right. Roots are siblings of each
/// other.
using SiblingConfusion = std::map<std::pair<NodeId, NodeId>, std::int64_t>;
/// Adds one row's pairs. The sets are ancestor-closed, roots included, ascending.
void count_confused(const LabelGraph& graph, std::span<const NodeId> truth,
                    std::span<const NodeId> predicted, SiblingConfusion& confused);
/// Over all rows; labels that are not nodes of the graph are left out.
SiblingConfusion sibling_confusion(const LabelGraph& graph, const LabelSets& truth,
                                   const LabelSets& predicted);

}  // namespace margrove
