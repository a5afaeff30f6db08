#pragma once
// Reductions of a hierarchy that are valid for all node scores.

#include <cstdint>
#include <vector>

#include "margrove/label_graph.hpp"
#include "numerics/row_lists.hpp"

namespace margrove::detail {

/// The hierarchy with a node 0 above all roots, with inner nodes merged with their only child
/// (the two are always selected together), and without edges that a longer path implies. Numbers
/// are topological.
struct CompactHierarchy {
  /// O(sum over nodes with several parents of |A(n)|).
  explicit CompactHierarchy(const LabelGraph& graph);
  std::uint32_t size() const { return static_cast<std::uint32_t>(parents.size()); }

  std::vector<std::uint32_t> class_of;  // node -> compact node
  RowLists parents, children;           // ascending
  bool is_tree = true;
  std::vector<std::uint32_t> shared;        // the nodes with several parents, ascending
  std::vector<std::uint32_t> above_shared;  // these and the nodes above them, ascending
  std::vector<std::uint32_t> beside;        // the other children of those, ascending
};

}  // namespace margrove::detail
