#pragma once
// A hierarchy reduced by what holds whatever the scores of its nodes are.

#include <cstdint>
#include <vector>

#include "margrove/label_graph.hpp"
#include "numerics/row_lists.hpp"

namespace margrove::detail {

/// A node 0 above all roots; nodes that are selected together whatever the scores (an inner node
/// and its only child) merged; edges that a longer path implies left out. Numbers are topological.
struct CompactHierarchy {
  /// O(sum over nodes with several parents of |A(n)|).
  explicit CompactHierarchy(const LabelGraph& graph);
  std::uint32_t size() const { return static_cast<std::uint32_t>(parents.size()); }

  std::vector<std::uint32_t> class_of;  // node -> compact node
  RowLists parents, children;           // ascending
  bool is_tree = true;
};

}  // namespace margrove::detail
