#pragma once
// The hinge with a parabola in place of its corner: v - delta / 2 for v > delta, v^2 / (2 delta)
// otherwise, where v = max(0, 1 - margin) and delta is the width.

#include <span>

#include "numerics/row_kernels.hpp"

namespace margrove::detail {

/// Value and derivatives at one v. The curvature beyond the parabola is that of a parabola above
/// the hinge, 1 / (2 v), so that Newton steps do not leave the region in which the approximation is
/// valid.
struct SmoothedHinge {
  double smooth = 0.0;      // value
  double exact = 0.0;       // of the hinge itself
  double smoothing = 0.0;   // v - v^2 / delta on the parabola: its part of the duality gap
  double derivative = 0.0;  // by v
  double curvature = 0.0;
};
SmoothedHinge smoothed_hinge_at(double v, float width);

/// Sums over rows, each times its cost.
struct HingeSums {
  double smooth = 0.0;
  double exact = 0.0;
  double smoothing = 0.0;
};
/// Rows of sign -1, v = max(0, 1 + score): writes cost times the derivative and the curvature.
HingeSums smoothed_hinge(std::span<const Lanes> scores, std::span<const float> costs, float width,
                         std::span<Lanes> slopes, std::span<Lanes> curvatures);

// into = scores + length moves
void move_scores(std::span<const Lanes> scores, std::span<const Lanes> moves, float length,
                 std::span<Lanes> into);
// sum_i <x_i, y_i>
double product(std::span<const Lanes> x, std::span<const Lanes> y);

}  // namespace margrove::detail
