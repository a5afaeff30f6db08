#pragma once
// Maximises f(y) = c + sum_k u_k y_k + sum_{k<l} r_kl y_k y_l over y in {0, 1}^K. Roof duality
// (Boros, Hammer 2002), one maximum flow, gives a bound and the persistent labels of a maximiser;
// branching on the others finds the exact maximum.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "numerics/dense_flow.hpp"

namespace margrove {

/// After the flow, f(y) = bound - sum of the penalties of y, and all penalties are >= 0.
class RoofDual {
 public:
  /// u: K values. r: K x K, symmetric; its diagonal is ignored. O(K^2) memory and time, and Dinic's
  /// maximum flow on 2n + 2 nodes for the n labels that no single comparison decides.
  void solve(double constant, std::span<const double> u, std::span<const double> r);

  std::size_t size() const { return size_; }
  /// max_y f(y) <= bound.
  double bound() const { return bound_; }
  /// One per label: 0, 1, or -1 where the relaxation is undecided (1/2). Some maximiser agrees with
  /// all decided labels.
  std::span<const std::int8_t> persistent() const { return persistent_; }

  /// The amount by which a label or a pair of labels with these values lowers the bound.
  double penalty(std::size_t k, bool value) const { return unary_[2 * k + (value ? 1 : 0)]; }
  double penalty(std::size_t k, bool value_k, std::size_t l, bool value_l) const {
    return pairs_[(2 * k + (value_k ? 1 : 0)) * 2 * size_ + 2 * l + (value_l ? 1 : 0)];
  }

 private:
  std::size_t size_ = 0;
  double bound_ = 0.0;
  std::vector<std::int8_t> persistent_;
  std::vector<double> unary_;  // penalties, one per literal 2k + value
  std::vector<double> pairs_;  // literal x literal, symmetric
  std::vector<double> gain_, least_, most_;
  std::vector<std::size_t> core_;  // labels left to the flow
  detail::DenseMaxFlow flow_;      // nodes: the literals, source, sink

  double peel(std::span<const double> r);
  void solve_core(std::span<const double> r);
};

/// The labellings that branch() must find: all above the threshold, or one of the best if any is
/// above it. In the second case persistent labels need no branching.
enum class Wanted { all, one_best };

/// Depth-first branch and bound over the penalties. Calls visit(y, value) for labellings in no
/// particular order and skips those whose value is provably <= threshold(). Returns false if it
/// reached max_nodes before it was done.
bool branch(const RoofDual& dual, std::int64_t max_nodes, Wanted wanted,
            const std::function<double()>& threshold,
            const std::function<void(const std::vector<std::uint8_t>&, double)>& visit);

}  // namespace margrove
