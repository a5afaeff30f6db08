#pragma once
// Sums over all dependency trees with one root, p(y) = exp f(y) / Z with f(y) the sum of the scores
// of the arcs of y: log Z, and the probability of each arc.

#include <cstddef>
#include <span>
#include <vector>

namespace margrove {

/// arcs: (n + 1) x (n + 1) finite scores, head x word; column 0 and the diagonal are not used.
/// Returns log Z and writes the probability of each arc, with zeros at the entries not used. The
/// sums have positive summands only, so that they are accurate for scores of any size.
///
/// Projective trees: inside-outside of Eisner's algorithm, O(n^3).
double projective_marginals(std::span<const double> arcs, std::size_t num_words,
                            std::vector<double>& probabilities);
/// All trees (matrix-tree theorem): elimination of one word after the other without subtraction
/// [GrassmannTaksarHeyman1985], and its derivative, O(n^3). Where the usual inverse of the
/// Laplacian [Koo2007] is nearly singular, it loses all digits; this does not.
double spanning_tree_marginals(std::span<const double> arcs, std::size_t num_words,
                               std::vector<double>& probabilities);

}  // namespace margrove
