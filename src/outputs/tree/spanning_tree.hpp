#pragma once
// The best dependency trees with one root, projective or not.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/out_of_time.hpp"

namespace margrove {

/// The heads of the tree with exactly one word below the root whose sum of scores is largest.
/// arcs: (n + 1) x (n + 1), head x word, finite or -infinity (no such arc); column 0 and the
/// diagonal are not used. Empty if there is no tree. Tarjan's algorithm for dense graphs, O(n^2)
/// [Tarjan1977]; arcs of the root get a penalty that exceeds all differences between trees
/// [Stanojevic2021]. Ties are broken by a fixed order.
std::vector<std::uint32_t> best_spanning_tree(std::span<const double> arcs, std::size_t num_words);

/// The k best of these trees, best first, or all if there are fewer. O(k n^3): each tree found is
/// followed by the best ones that first differ from it at a given word [Lawler1972].
std::vector<std::vector<std::uint32_t>> best_spanning_trees(std::span<const double> arcs,
                                                            std::size_t num_words, std::size_t k,
                                                            RunControl* control);

}  // namespace margrove
