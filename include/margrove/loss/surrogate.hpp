#pragma once
// Bi-criteria surrogate losses: max_y psi(m(y), g(y)) with psi := 0 at y_i (method page, section
// 3).

#include <concepts>

namespace margrove {

/// psi increasing in both arguments where it is >= 0.
template <class S>
concept Surrogate = requires(const S& psi, double m, double g) {
  { psi.value(m, g) } -> std::same_as<double>;
  { psi.derivative_m(m, g) } -> std::same_as<double>;  // d psi / d m
  { psi.derivative_g(m, g) } -> std::same_as<double>;  // d psi / d g; g > 0
};

/// psi = slope(g) m + offset(g): what the dual solvers need.
template <class S>
concept AffineSurrogate = Surrogate<S> && requires(const S& psi, double g) {
  { psi.slope(g) } -> std::same_as<double>;
  { psi.offset(g) } -> std::same_as<double>;
};

/// Margin rescaling: psi = m + g.
struct MarginRescaling {
  double value(double m, double g) const { return m + g; }
  double derivative_m(double, double) const { return 1.0; }
  double derivative_g(double, double) const { return 1.0; }
  double slope(double) const { return 1.0; }
  double offset(double g) const { return g; }
};

}  // namespace margrove
