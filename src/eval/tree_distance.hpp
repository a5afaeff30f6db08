#pragma once
// Distances between predicted and true labels in a hierarchy.

#include <span>
#include <vector>

#include "hierarchy/closed_sets.hpp"

namespace margrove {

/// Distances between labels along the edges, via a common ancestor:
///   d(a, b) = min over common ancestors c of up(a, c) + up(b, c),
/// up(a, c) = the fewest edges from a up to c. On a tree this is the length of the path between a
/// and b; in a DAG, paths that go down and up again do not count. Several roots, labels without a
/// hierarchy and unknown labels are children of one common top, so that every distance is finite.
/// An empty set is the top itself.
class TreeDistance {
 public:
  /// Keeps a reference.
  explicit TreeDistance(const LabelGraph& hierarchy)
      : hierarchy_(hierarchy), top_(uncounted_root(hierarchy).value_or(kTop)) {}

  struct Row {
    /// (sum_y d(y, P) + sum_p d(p, Y)) / (|Y| + |P|), where d(y, P) is the least distance to one of
    /// P.
    double distance = 0;
    /// LCA-F1 (Kosmopoulos et al. 2015): F1 of the sets Y' and P'. Every label of Y and P is paired
    /// with the nearest one of the other set (ties: the lowest). The nodes from the true label up
    /// to their lowest common ancestor are in Y', those from the predicted label in P'.
    double lca_f1 = 0;
  };
  Row compare(std::span<const LabelId> truth, std::span<const LabelId> predicted) const;

 private:
  static constexpr NodeId kTop = ~NodeId{0};
  struct Step {
    NodeId node;
    NodeId below;  // the previous node on a shortest path upwards
    std::uint32_t edges;
  };
  using Climb = std::vector<Step>;  // ascending nodes
  struct Meeting {
    std::size_t other = 0;  // position of the nearest one
    NodeId ancestor = 0;
    std::uint32_t edges = 0;
  };
  Climb climb(NodeId start) const;
  std::vector<Climb> climbs(std::span<const LabelId> labels) const;
  static Meeting nearest(const Climb& from, const std::vector<Climb>& to);
  static void add_way(const Climb& climb, NodeId ancestor, std::vector<NodeId>& nodes);

  const LabelGraph& hierarchy_;
  NodeId top_;
};

}  // namespace margrove
