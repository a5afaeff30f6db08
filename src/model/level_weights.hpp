#pragma once
// Weights of the levels of a hierarchy (docs/notation.md, "Level weights").

#include <cstdint>
#include <vector>

namespace margrove {

/// With a node's depth as its level d(n), a leaf has the score
///   f(x, l) = sum over the nodes n of A(l) of v_{d(n)} s_n(x) + c_{d(n)},
/// where s_n is the score of the node's own classifier and v >= 0. Both vectors have an entry for
/// each level; without levels both are empty.
struct LevelWeights {
  std::vector<double> factors;  // v
  std::vector<double> offsets;  // c

  bool empty() const { return factors.empty(); }
  std::size_t size() const { return factors.size(); }
  static LevelWeights uniform(std::size_t num_levels) {
    return {std::vector<double>(num_levels, 1.0), std::vector<double>(num_levels, 0.0)};
  }
  bool operator==(const LevelWeights&) const = default;
};

}  // namespace margrove
