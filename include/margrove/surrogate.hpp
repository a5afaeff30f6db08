#pragma once
// Bi-criteria surrogate losses: max_y psi(m(y), g(y)) with psi := 0 at y_i (Thesis, section 3.3).
// Here are the concepts and margin rescaling; margrove/surrogates.hpp has the others.

#include <concepts>

#include "margrove/api.hpp"

namespace margrove MARGROVE_API {

/// psi is increasing in both arguments and quasi-concave where it is >= 0; the exactness of the
/// searches and their bounds depend on it. Derivatives are taken only at g != 0 and psi >= 0.
template <class S>
concept Surrogate = requires(const S& psi, double m, double g) {
  { psi.value(m, g) } -> std::same_as<double>;
  { psi.derivative_m(m, g) } -> std::same_as<double>;  // d psi / d m
  { psi.derivative_g(m, g) } -> std::same_as<double>;  // d psi / d g
};

/// psi = slope(g) m + offset(g): what the dual solvers need. The part of psi that does not depend
/// on the weights is slope(g) * Candidate::constant + offset(g).
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

}  // namespace margrove MARGROVE_API
