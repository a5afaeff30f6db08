#pragma once
// Intercepts without regulariser. The last column of X has the same value in all rows and its
// weights do not count in |v|^2:
//
//   primal   min_{v,c}  1/2 |v|^2 + sum_i C_i loss(y_i (v.x_i + c))
//   dual     max_a  sum_i phi_i(a_i) - 1/2 |u|^2,  u = sum_i a_i y_i x_i,  sum_i a_i y_i = 0
//
// with phi_i(a) = -C_i loss*(-a / C_i), which is concave and 0 at 0. Where the variables of the
// rows S of one sign have the larger sum, multiplying them by t = smaller / larger makes them
// feasible. As phi_i(t a) >= t phi_i(a), and with a_i m_i = phi_i(a_i) - C_i loss(m_i) at a_i =
// -C_i loss'(m_i), the gap between the primal at (v, c) and the dual at the feasible variables is
// at most
//
//   1/2 |v - u|^2 + (1 - t) sum_S C_i loss(m_i) + |v - u| |e| + 1/2 |e|^2,
//   |e| <= (1 - t) sum_S a_i |x_i|
//
// for any c. Of many labels that are coupled by path sums with the kernel K, the norms are those of
// K, and |e| is at most the sum of the labels' ones times sqrt(K_l).
//
// Solvers keep a small regulariser of the intercept around its present value, which moves with it
// (a proximal step), and set it to its best value with all other weights fixed.

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "linear/point_loss.hpp"
#include "numerics/row_kernels.hpp"

namespace margrove::detail {

/// The score of a label whose rows, with C_i > 0, all have the other sign, and the negative one of
/// a label that all rows carry: loss and dual variables vanish there, beside those of other labels.
double one_sided_score(PointLossKind loss);

/// Sums over the rows of one sign of a label.
struct DualSide {
  double duals = 0;   // of a_i
  double losses = 0;  // of phi_i(a_i) - a_i m_i, which is C_i loss(m_i)
  double norms = 0;   // of a_i |x_i|, without the intercept's column
};
struct DualSides {
  DualSide positive, negative;
};

/// What making the dual variables of labels feasible adds to the gap.
struct Balancing {
  double losses = 0;  // (1 - t) sum_S C_i loss(m_i)
  double move = 0;    // at least |e|
  /// Adds a label whose weights are path sums with K_l = `path_sum`.
  void add(const DualSides& sides, double path_sum = 1.0);
  /// `residual`: |v - u|.
  double gap(double residual) const { return losses + residual * move + 0.5 * move * move; }
};

/// The sides of up to sixteen labels at their scores and slopes (a_i = -y_i slope_i). `norms`:
/// |x_i| without the intercept's column, `losses`: of each lane. Lane l has sign +1 at
/// positives(l).
template <class Loss, class Positives>
void find_sides(const Positives& positives, std::span<const float> costs,
                std::span<const float> norms, const LaneSums& losses, std::span<const Lanes> scores,
                std::span<const Lanes> slopes, std::span<DualSides> sides) {
  WideLanes duals{}, lengths{};
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double a = slopes[i].at[l];
      duals.at[l] += a;
      lengths.at[l] += a * norms[i];
    }
  }
  for (std::size_t l = 0; l < sides.size(); ++l) {
    DualSide own, other{duals.at[l], losses.at[l], lengths.at[l]};
    for (const std::uint32_t i : positives(l)) {
      const double a = -double{slopes[i].at[l]};
      const double loss = costs[i] * Loss::value(scores[i].at[l]);
      own.duals += a;
      own.losses += loss;
      own.norms += a * norms[i];
      other.duals += a;
      other.losses -= loss;
      other.norms += a * norms[i];
    }
    sides[l] = {own, other};
  }
}

/// |x_i| without the last column, which has the value `intercept` in all rows.
std::vector<float> norms_without(std::span<const double> squared_norms, double intercept);

// rows[i] += step
void add_to_all(const Lanes& step, std::span<Lanes> rows);

/// One row of a label: its score, without the shift, its cost and its sign.
struct ScoredRow {
  double score;
  double cost;
  bool positive;
};
/// The shift of all scores at which the sum of the losses is least, for hinge and squared hinge.
/// The middle of the shifts where they are many; where all rows have one sign, the smallest shift
/// without loss. Changes the order of `rows`, which must not be empty. O(rows).
double best_shift(PointLossKind loss, std::span<ScoredRow> rows);

}  // namespace margrove::detail
