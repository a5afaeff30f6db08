#pragma once
// The regulariser of a label graph as a sparse quadratic form over its nodes, and its elimination.
//

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "recursive/recursive.hpp"

namespace margrove::detail {

/// One entry of a symmetric matrix; both triangles are listed, and what repeats is summed.
struct SymmetricEntry {
  std::uint32_t row;
  std::uint32_t column;
  double value;
};

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
/// Throws as check_pull_graph().
NodePrecisionMatrix node_precision(const SimilarityProblem& problem);
/// Throws InvalidInput naming an edge or an anchor that is out of range.
void check_pull_graph(const SimilarityGraph& graph);

/// L D L' of a positive definite matrix, L unit lower triangular, after reordering to little fill.
struct SparseFactor {
  static constexpr std::uint32_t kNone = 0xffffffffU;
  std::vector<std::uint32_t> position;  // of each row in the order of elimination
  std::vector<std::size_t> begin;       // column n of L is [begin[n], begin[n + 1])
  std::vector<std::uint32_t> rows;      // ascending within a column
  std::vector<double> lower;
  std::vector<double> pivots;
  /// The entry of L that the elimination of n changes through each pair of its rows a > b: pairs
  /// in the order a outer, b inner, for all n in turn.
  std::vector<std::uint32_t> updates;

  std::size_t size() const { return pivots.size(); }
  /// x = matrix^-1 x, x by position.
  void solve(std::span<double> x) const;
};

/// Nothing where the elimination would need more than `most_work` multiplications, or meets a pivot
/// <= 0.
std::optional<SparseFactor> factorise(std::size_t size, std::span<const SymmetricEntry> entries,
                                      double most_work);

}  // namespace margrove::detail
