#pragma once
// NHSVM's variant with normalised score differences (eq. 13): with g = ||Λ(y) - Λ(y_i)||, which is
// the task loss `normalized`,
//   psi = m / g + 1 for y != y_i,   max_y psi floored at 0.

namespace margrove {

/// Affine in m. Not increasing in g: a search has to look at every labelling (LeafSearch). Where
/// g = 0 two labels share all weights: a mistake that cannot be helped costs 1.
struct NormalizedDifference {
  double value(double m, double g) const { return slope(g) * m + 1.0; }
  double derivative_m(double, double g) const { return slope(g); }
  double derivative_g(double m, double g) const { return g > 0 ? -m / (g * g) : 0.0; }
  double slope(double g) const { return g > 0 ? 1.0 / g : 0.0; }
  double offset(double) const { return 1.0; }
};

}  // namespace margrove
