#pragma once
// The regulariser of a label graph as a sparse quadratic form over its nodes.

#include <cstdint>
#include <span>
#include <vector>

#include "numerics/sparse_cholesky.hpp"
#include "recursive/recursive.hpp"

namespace margrove::detail {

/// Of one column's node values w the regulariser is w'Qw / 2. In an additive problem w_n is the sum
/// of v over A(n); what lies above n is a short combination of other nodes' sums, so that Q is
/// sparse: 1/alpha_n times the square of w_n - sum_k factor_k w_k, over all n.
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
};

/// Nodes without weight or without a target below are left out. Throws InvalidInput where a
/// target's path has no weight.
NodePrecisionMatrix node_precision(const AdditiveProblem& problem);
/// Throws as check_similarity_graph().
NodePrecisionMatrix node_precision(const SimilarityProblem& problem);
/// Throws InvalidInput naming an edge or an anchor that is out of range.
void check_similarity_graph(const SimilarityGraph& graph);

}  // namespace margrove::detail
