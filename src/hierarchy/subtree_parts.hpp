#pragma once
// A tree divided into small subtrees, for searches that skip whole subtrees.

#include <cstdint>
#include <vector>

#include "margrove/label_graph.hpp"

namespace margrove {

/// The nodes of a tree, parents first. First comes the top, which is the nodes whose subtrees are
/// larger than a part may be; then come the parts. A part consists of the subtrees of some
/// siblings. The place of a node is its number in this order.
struct SubtreeParts {
  static constexpr std::uint32_t kNone = static_cast<std::uint32_t>(-1);

  struct Part {
    std::uint32_t begin, end;  // places
    std::uint32_t above;  // place of the siblings' parent, in the top; kNone where they are roots
  };

  std::vector<NodeId> order;           // place -> node
  std::vector<std::uint32_t> parents;  // place -> place of its parent, kNone of a root
  std::uint32_t num_top = 0;           // the top's places are [0, num_top)
  std::vector<Part> parts;
};

/// Parts of at most max_nodes >= 1 nodes; siblings share one as long as they fit. Throws
/// InvalidInput unless the graph is a tree. O(nodes).
SubtreeParts subtree_parts(const LabelGraph& tree, std::uint32_t max_nodes);

}  // namespace margrove
