#pragma once
// Dual coordinate descent with shrinking over any subset of the rows.
//
//   primal   min_v  1/2 |v|^2 + sum_i C_i loss(y_i (s_i + v.x_i))
//   dual     max_a  sum_i [a_i (1 - y_i s_i) - 1/2 D_i a_i^2] - 1/2 |v(a)|^2,  0 <= a_i <= U_i
//
// with v(a) = sum_i a_i y_i x_i and s_i = p.x_i. Hinge: U_i = C_i, D_i = 0. Squared hinge: U_i
// infinite, D_i = 1/(2 C_i). Coordinate step: G = y_i (s_i + v.x_i) - 1 + D_i a_i,
// a_i <- clip(a_i - G / (|x_i|^2 + D_i), 0, U_i). Shrinking leaves out coordinates at a bound whose
// gradient points out of the box by more than the largest violation of the last pass.
// Hsieh, Chang, Lin, Keerthi, Sundararajan (2008), algorithm 3.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"

namespace margrove::detail {

struct DualRow {
  std::uint32_t row;
  float sign;          // y_i
  double cost;         // C_i > 0
  double prior_score;  // s_i
  double a;            // dual variable
};

struct DualState {
  double primal = 0;  // over the subset
  double dual = 0;
  double half_norm = 0;  // 1/2 |v|^2
};

class DualDescent {
 public:
  /// All rows have the last `tail` columns, which may be 0. `v` has one entry per column, all zero;
  /// clear() sets it to zero again.
  DualDescent(const CsrView& X, std::uint32_t tail, std::span<const double> squared_norms,
              bool squared, std::span<double> v)
      : X_(X), tail_(tail), squared_norms_(squared_norms), squared_(squared), v_(v) {}

  /// Starts from the rows with their duals (clipped to the box) and computes v. O(nonzeros).
  void start(std::span<DualRow> rows);
  /// Passes until no coordinate violates its optimality by more than `violation_tolerance`. False
  /// if `max_steps` coordinate steps or `control` ended it before.
  bool descend(double violation_tolerance, std::int64_t max_steps, Random& random,
               RunControl& control);
  /// Primal and dual over the subset. O(nonzeros).
  DualState evaluate() const;
  /// v = 0. O(nonzeros).
  void clear();
  /// The number of coordinate steps, which measures the cost better than passes when few are
  /// active.
  std::int64_t steps() const { return steps_; }

 private:
  struct Coordinate {
    std::uint32_t index;  // into rows_
    double diagonal;      // |x_i|^2 + D_i
  };
  void reset_shrinking();
  void pass(Random& random);
  bool step(const Coordinate& coordinate);
  double upper(const DualRow& row) const {
    return squared_ ? std::numeric_limits<double>::infinity() : row.cost;
  }
  double ridge(const DualRow& row) const { return squared_ ? 0.5 / row.cost : 0.0; }

  CsrView X_;
  std::uint32_t tail_;
  std::span<const double> squared_norms_;
  bool squared_;
  std::span<double> v_;
  std::span<DualRow> rows_;
  std::vector<Coordinate> active_;  // the first num_active_ take part
  std::size_t num_active_ = 0;
  double shrink_above_ = 0;
  double shrink_below_ = 0;
  double largest_ = 0;
  double smallest_ = 0;
  std::int64_t steps_ = 0;
};

}  // namespace margrove::detail
