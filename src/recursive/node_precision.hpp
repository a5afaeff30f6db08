#pragma once
// The regulariser of a label graph as a sparse quadratic form over its nodes.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "numerics/sparse_cholesky.hpp"
#include "recursive/recursive.hpp"

namespace margrove::detail {

/// The regulariser of one column's node values w is w'Qw / 2. In an additive problem w_n is the sum
/// of v over A(n). The sum above n is a combination of few other nodes' sums, so that Q is sparse:
/// the regulariser is half the sum over n of (w_n - sum_k factor_k w_k)^2 / alpha_n.
struct NodePrecisionMatrix {
  struct Term {
    std::uint32_t node;
    double factor;
  };
  std::vector<NodeId> original;  // node here -> node of the graph
  std::vector<SymmetricEntry> Q;
  std::vector<NodeId> targets;
  std::vector<std::uint32_t> place;      // target -> its node here
  std::vector<double> alpha;             // additive problems only, as `above`; parents come first
  std::vector<std::vector<Term>> above;  // w_n = v_n + sum of factor w_node
  bool definite = true;                  // whether Q is, and every target has a place
  bool is_complete = true;               // false where there would be too many terms
};

/// Nodes without weight or without a target below are left out. Throws InvalidInput where a
/// target's path has no weight. Stops where `above` has more than `most_terms` terms in all.
NodePrecisionMatrix node_precision(
    const AdditiveProblem& problem,
    std::size_t most_terms = std::numeric_limits<std::size_t>::max());
/// Throws as check_similarity_graph().
NodePrecisionMatrix node_precision(const SimilarityProblem& problem);
/// Throws InvalidInput naming an edge or an anchor that is out of range.
void check_similarity_graph(const SimilarityGraph& graph);

}  // namespace margrove::detail
