#pragma once
// Sums over all label sets of a tree, p(y) = exp f(y) / Z with f(y) the sum of the scores of the
// nodes of y: log Z, and the probability of each node.

#include <span>
#include <vector>

#include "margrove/label_graph.hpp"

namespace margrove {

/// Returns log Z over the unions of A(l) over non-empty sets of leaves and writes the probability
/// that each node is in the set. `tree` is a tree or a forest; one finite score per node. O(nodes).
double label_set_marginals(const LabelGraph& tree, std::span<const double> scores,
                           std::vector<double>& probabilities);

}  // namespace margrove
