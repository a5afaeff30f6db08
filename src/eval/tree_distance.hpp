#pragma once
// How far predicted labels lie from the true ones in a hierarchy.

#include <span>
#include <vector>

#include "hierarchy/closed_sets.hpp"

namespace margrove {

/// Distances between labels along the edges, by way of a common ancestor:
///   d(a, b) = min over common ancestors c of up(a, c) + up(b, c),
/// up(a, c) = the fewest edges from a up to c. On a tree this is the length of the path between a
/// and b; in a DAG a way down and up again does not count. Several roots, single labels without a
/// hierarchy and unknown labels hang below one common top; so nothing is without a distance. An
/// empty set stands for the top itself.
class TreeDistance {
 public:
  /// Keeps a reference.
  explicit TreeDistance(const LabelGraph& hierarchy)
      : hierarchy_(hierarchy), top_(uncounted_root(hierarchy).value_or(kTop)) {}

  struct Row {
    /// (sum_y d(y, P) + sum_p d(p, Y)) / (|Y| + |P|), d(y, P) the least distance to one of P.
    double distance = 0;
    /// LCA-F1 (Kosmopoulos et al. 2015): F1 of the sets Y' and P', where every label of Y and P is
    /// joined with the nearest one of the other set (ties: the lowest), and the nodes from the
    /// true label up to their lowest common ancestor enter Y', those from the predicted one P'.
    double lca_f1 = 0;
  };
  Row compare(std::span<const LabelId> truth, std::span<const LabelId> predicted) const;

 private:
  static constexpr NodeId kTop = ~NodeId{0};
  struct Step {
    NodeId node;
    NodeId below;  // the node before it on a shortest way up
    std::uint32_t edges;
  };
  using Climb = std::vector<Step>;  // ascending nodes
  struct Meeting {
    std::size_t other = 0;  // place of the nearest one
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
