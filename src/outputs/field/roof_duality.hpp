#pragma once
// Maximisation of c + sum_k u_k y_k + sum_{k<l} r_kl y_k y_l over y in {0, 1}^K: a bound and the
// persistent part of a solution by roof duality (Boros, Hammer 2002: one maximum flow), and the
// exact maximum by branching on what the flow leaves.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "numerics/dense_flow.hpp"

namespace margrove {

/// c - f(y) rewritten after the flow as penalties, all >= 0: f(y) = bound - sum of the penalties.
class RoofDual {
 public:
  /// u: K values; r: K x K, symmetric, the diagonal ignored. O(K^2) memory and time, and a Dinic
  /// flow on 2n + 2 nodes for the n labels that no single comparison decides.
  void solve(double constant, std::span<const double> u, std::span<const double> r);

  std::size_t size() const { return size_; }
  /// max_y f(y) <= bound.
  double bound() const { return bound_; }
  /// 0, 1, or -1 where the relaxation is undecided (1/2); some maximiser agrees with the decided.
  std::span<const std::int8_t> persistent() const { return persistent_; }

  /// What a labelling loses against the bound.
  double penalty(std::size_t k, bool value) const { return unary_[2 * k + (value ? 1 : 0)]; }
  double penalty(std::size_t k, bool value_k, std::size_t l, bool value_l) const {
    return pairs_[(2 * k + (value_k ? 1 : 0)) * 2 * size_ + 2 * l + (value_l ? 1 : 0)];
  }

 private:
  std::size_t size_ = 0;
  double bound_ = 0.0;
  std::vector<std::int8_t> persistent_;
  std::vector<double> unary_;  // of literal 2k + value
  std::vector<double> pairs_;  // literal x literal, symmetric
  std::vector<double> gain_, least_, most_;
  std::vector<std::size_t> core_;  // labels left to the flow
  detail::DenseMaxFlow flow_;      // nodes: the literals, source, sink

  double peel(std::span<const double> r);
  void solve_core(std::span<const double> r);
};

/// What branch() is to find: all labellings above the threshold, or, where some is, one of the best
/// (persistent labels then need no branching).
enum class Wanted { all, one_best };

/// Depth-first branch and bound over the penalties: calls visit(y, value) for labellings in no
/// fixed order, passing over those whose value is provably <= threshold(). Returns false if it
/// stopped at max_nodes before it was done.
bool branch(const RoofDual& dual, std::int64_t max_nodes, Wanted wanted,
            const std::function<double()>& threshold,
            const std::function<void(const std::vector<std::uint8_t>&, double)>& visit);

}  // namespace margrove
