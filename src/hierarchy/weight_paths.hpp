#pragma once
// Path sums of node weights, and graphs without duplicate nodes.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "margrove/label_graph.hpp"

namespace margrove {

/// Sum of alpha over A(l) for every leaf, in the order of graph.leaves().
std::vector<double> path_sums(const LabelGraph& graph, std::span<const double> alpha);

/// A warning if leaves have weight 0, which power rules give to leaves below nodes that lie on many
/// paths of a DAG. Such leaves have the same score as others below the same nodes. Empty if there
/// are none.
std::string unweighted_leaves(const LabelGraph& graph, std::span<const double> alpha);

/// The graph whose nodes are the classes of nodes with the same leaves below them. Every copy of a
/// class is in the same labels, so only the sum of their weights can matter (NHSVM section 5.2).
struct MergedGraph {
  LabelGraph graph;
  std::vector<NodeId> class_of;  // node -> its class
  std::vector<std::uint32_t> num_copies;
};
/// O(sum over leaves of |A(l)|).
MergedGraph merge_duplicates(const LabelGraph& graph);

}  // namespace margrove
