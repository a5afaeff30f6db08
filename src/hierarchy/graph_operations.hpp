#pragma once
// Operations on label graphs that the methods share.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "margrove/label_graph.hpp"
#include "numerics/row_lists.hpp"

namespace margrove {

/// Throws InvalidInput that begins with `where` unless the graph has nodes and none has several
/// parents.
void require_tree(const LabelGraph& graph, std::string_view where);

/// A list of nodes for every node.
using NodeLists = detail::LongRowLists;
/// A(n) of the nodes `of`, ascending, and nothing of the others: those of all nodes may be very
/// many, as on a long chain. Memory O(sum of |A(n)|) over `of`.
NodeLists ancestor_sets(const LabelGraph& graph, std::span<const NodeId> of);

/// A(n) of every node: listed where this takes memory in proportion to the graph, as in hierarchies
/// of usual depth, otherwise found anew each time.
class ListedAncestors {
 public:
  ListedAncestors() = default;
  explicit ListedAncestors(const LabelGraph& graph);
  /// `graph` as it was given; the result may refer to `scratch`.
  std::span<const NodeId> of(const LabelGraph& graph, NodeId n, std::vector<NodeId>& scratch) const;

 private:
  NodeLists listed_;  // empty if they are too many
};

/// A graph whose data labels are all leaves: below every inner node that carries data a leaf is
/// spawned, and the data move there (HR section 2).
struct LeafLabelled {
  LabelGraph graph;                   // the old nodes keep their numbers, spawned leaves follow
  std::vector<NodeId> leaf_of_label;  // old node -> the leaf its data moved to (itself for leaves;
                                      // itself too for inner nodes without data)
  std::vector<NodeId> label_of_node;  // new node -> old node
};
/// carries_data[n] says whether some row has label n.
LeafLabelled spawn_leaves(const LabelGraph& graph, const std::vector<bool>& carries_data);

/// Every node once, parents before children, and each before what is below its later siblings: in a
/// tree the preorder, in a DAG a node comes after the last of its parents. Nodes that are close in
/// the graph are close in it, unlike in topological_order(). O(nodes + edges).
std::vector<NodeId> depth_first_order(const LabelGraph& graph);

/// Whether each node is an ancestor of every leaf, or is the only leaf.
std::vector<bool> above_every_leaf(const LabelGraph& graph);

/// The graph without the inner nodes that are ancestors of every leaf: with difference losses their
/// scores cancel. Leaves stay. kept[k], ascending, is the old number of node k.
struct WithoutCommonRoots {
  LabelGraph graph;
  std::vector<NodeId> kept;
};
WithoutCommonRoots without_common_roots(const LabelGraph& graph);

}  // namespace margrove
