#pragma once
// Weights of the levels of a hierarchy (docs/notation.md, "Level weights").

#include <algorithm>
#include <cstdint>
#include <vector>

#include "margrove/label_graph.hpp"

namespace margrove {

/// The levels of a graph: the level of an inner node is its depth, and all leaves, whatever their
/// depth, are one level below the deepest inner nodes. So the scores of leaves are comparable.
/// There are at most kMost levels: the deeper inner nodes of long chains share one.
class GraphLevels {
 public:
  static constexpr std::uint32_t kMost = 64;
  explicit GraphLevels(const LabelGraph& graph);  // must outlive the object
  std::uint32_t size() const { return size_; }
  std::uint32_t of(NodeId n) const {
    return graph_.is_leaf(n) ? size_ - 1 : std::min(graph_.depth(n), size_ - 2);
  }

 private:
  const LabelGraph& graph_;
  std::uint32_t size_ = 1;
};

/// With d(n) as the level of a node, a leaf has the score
///   f(x, l) = sum over the nodes n of A(l) of v_{d(n)} s_n(x) + c_{d(n)},
/// where s_n is the score of the node's own classifier and v >= 0. Both vectors have an entry for
/// each level; without levels both are empty.
struct LevelWeights {
  std::vector<double> factors;  // v
  std::vector<double> offsets;  // c
  /// Whether the classifiers of each level were trained jointly; empty: not known.
  std::vector<std::uint8_t> joint = {};
  /// Option stack: t >= 0 of each of its methods, whose scores f(x, l) has, too; empty: none.
  std::vector<double> stacked = {};

  bool empty() const { return factors.empty(); }
  std::size_t size() const { return factors.size(); }
  static LevelWeights uniform(std::size_t num_levels) {
    return {std::vector<double>(num_levels, 1.0), std::vector<double>(num_levels, 0.0), {}, {}};
  }
  bool operator==(const LevelWeights&) const = default;
};

}  // namespace margrove
