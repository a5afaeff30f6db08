#pragma once
// The best projective dependency trees with one root: Eisner's algorithm [Eisner1996].

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/out_of_time.hpp"

namespace margrove {

/// Buffers of Eisner's algorithm, (n + 1) x (n + 1) each.
struct EisnerWorkspace {
  std::vector<double> complete[2], incomplete[2];
  std::vector<std::uint32_t> complete_split[2], incomplete_split[2];
};

/// The heads of the projective tree with exactly one word below the root whose sum of scores is
/// largest. arcs: (n + 1) x (n + 1), head x word; column 0 and the diagonal are not used. O(n^3).
/// Ties are broken by a fixed order, that of the splits. Throws OutOfTime.
std::vector<std::uint32_t> best_projective_tree(std::span<const double> arcs, std::size_t num_words,
                                                EisnerWorkspace& workspace, RunControl* control);

/// A tree, and for each of its arcs which of the arc's values it has: 0 is the best.
struct RankedTree {
  std::vector<std::uint32_t> heads, ranks;
};
/// The values that the arc head -> word can have, best first; those of the relations, for example.
using ArcValues = std::function<std::span<const double>(std::size_t head, std::size_t word)>;

/// The k best pairs of a tree and a value for each of its arcs, best first, or all if there are
/// fewer. O(n^3 k log k). Throws OutOfTime.
std::vector<RankedTree> best_projective_trees(const ArcValues& values, std::size_t num_words,
                                              std::size_t k, RunControl* control);

}  // namespace margrove
