#pragma once
// The best label set of a tree for every value of the task loss.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "margrove/label_graph.hpp"
#include "numerics/row_lists.hpp"

namespace margrove {

/// For every loss g, the label set y (the union of A(l) over a non-empty set of leaves l of a tree)
/// with the largest sum_{n in y} r_n among those that differ from a set t in g nodes. The maximiser
/// of any surrogate that increases with the score is among them. This is a knapsack along the tree:
/// the sums of sibling subtrees combine by (max, +) convolution, O(nodes^2) in all. Immutable,
/// shared by threads; one Workspace per thread.
class LossFront {
 public:
  class Workspace {
    friend class LossFront;
    std::vector<std::vector<double>> with_;        // node n -> best sum by loss in D(n), n chosen
    std::vector<std::uint32_t> without_;           // node n -> loss in D(n) if n is left out
    std::vector<std::uint32_t> is_wrong_;          // node -> 1 if it counts and is not in t
    std::vector<std::vector<std::uint32_t>> how_;  // child -> pack() by loss up to this sibling
    std::vector<double> front_, merged_, next_;
  };

  /// Keeps no reference to `tree`. Throws InvalidInput if it has no node or is not a tree.
  /// O(nodes).
  explicit LossFront(const LabelGraph& tree);

  std::uint32_t num_nodes() const { return num_nodes_; }

  /// result[g]: the largest score at loss g, -infinity where no label set has this loss. t:
  /// ascending nodes. counts: one per node, whether the loss counts it; empty: all. Refers to the
  /// workspace until the next call.
  std::span<const double> solve(std::span<const double> scores, std::span<const NodeId> t,
                                Workspace& workspace, std::span<const char> counts = {}) const;
  /// A label set with the largest score at this loss, ascending; there must be one. Of equal ones,
  /// lower siblings have the smaller part of the loss.
  void collect(std::uint32_t loss, const Workspace& workspace, std::vector<NodeId>& nodes) const;

 private:
  void merge_children(std::uint32_t n, Workspace& workspace) const;

  std::uint32_t num_nodes_;
  detail::LongRowLists children_;  // node num_nodes_ stands above the roots
  std::vector<NodeId> order_;      // children first
};

}  // namespace margrove
