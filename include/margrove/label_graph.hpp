#pragma once
// The hierarchy of the labels.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "margrove/api.hpp"

namespace margrove MARGROVE_API {

using NodeId = std::uint32_t;

struct LabelEdge {
  NodeId parent;
  NodeId child;
  bool operator==(const LabelEdge&) const = default;
};

/// A directed acyclic graph of labels. It is a tree if no node has two parents; there may be
/// several roots, and without edges every label is a root and a leaf. Immutable. Memory O(nodes +
/// edges).
class LabelGraph {
 public:
  LabelGraph() = default;
  /// Throws InvalidInput, naming the edge, if one leaves [0, num_nodes), is a self-edge, repeats,
  /// or closes a cycle (whose nodes are listed). O(nodes + edges), up to sorting siblings.
  static LabelGraph build(std::uint32_t num_nodes, std::span<const LabelEdge> edges);
  /// `num_nodes` labels without any edge.
  static LabelGraph flat(std::uint32_t num_nodes);

  std::uint32_t num_nodes() const { return num_nodes_; }
  bool operator==(const LabelGraph&) const = default;
  std::size_t num_edges() const { return children_.size(); }
  /// Ascending.
  std::span<const NodeId> parents(NodeId n) const { return slice(parents_, parent_pointers_, n); }
  std::span<const NodeId> children(NodeId n) const { return slice(children_, child_pointers_, n); }
  bool is_leaf(NodeId n) const { return children(n).empty(); }
  bool is_root(NodeId n) const { return parents(n).empty(); }
  /// Whether no node has two parents. A forest counts as a tree.
  bool is_tree() const { return is_tree_; }
  /// Every node once, parents before children: by depth, then by number.
  std::span<const NodeId> topological_order() const { return order_; }
  /// Ascending.
  std::span<const NodeId> leaves() const { return leaves_; }
  std::span<const NodeId> roots() const { return roots_; }
  /// A(n), ascending, including n. O(ancestor edges), up to sorting the result.
  std::vector<NodeId> ancestors(NodeId n) const;
  /// D(n), ascending, including n.
  std::vector<NodeId> descendants(NodeId n) const;
  /// The longest path from a root, in edges.
  std::uint32_t depth(NodeId n) const { return depth_[n]; }

 private:
  static std::span<const NodeId> slice(const std::vector<NodeId>& nodes,
                                       const std::vector<std::size_t>& pointers, NodeId n) {
    return std::span(nodes).subspan(pointers[n], pointers[n + 1] - pointers[n]);
  }

  std::uint32_t num_nodes_ = 0;
  bool is_tree_ = true;
  std::vector<std::size_t> parent_pointers_{0}, child_pointers_{0};
  std::vector<NodeId> parents_, children_;
  std::vector<NodeId> order_, leaves_, roots_;
  std::vector<std::uint32_t> depth_;
};

}  // namespace margrove
