#pragma once
// What searches and solvers require of a surrogate. Those of margrove/surrogates.hpp fulfil it, and
// so may any other type.

#include <concepts>
#include <type_traits>
#include <variant>

#include "margrove/surrogates.hpp"

namespace margrove {

/// psi must be increasing in both arguments and quasi-concave where it is >= 0, because the
/// exactness and the bounds of all searches but enumeration rest on it. Derivatives are computed
/// only at g != 0 and psi >= 0.
template <class S>
concept Surrogate = requires(const S& psi, double m, double g) {
  { psi.value(m, g) } -> std::same_as<double>;
  { psi.derivative_m(m, g) } -> std::same_as<double>;  // d psi / d m
  { psi.derivative_g(m, g) } -> std::same_as<double>;  // d psi / d g
};

/// psi = slope(g) m + offset(g), as the dual solvers need it. The part of psi that does not depend
/// on the weights is slope(g) * Candidate::constant + offset(g).
template <class S>
concept AffineSurrogate = Surrogate<S> && requires(const S& psi, double g) {
  { psi.slope(g) } -> std::same_as<double>;
  { psi.offset(g) } -> std::same_as<double>;
};

/// The direction of steepest ascent of psi at y_i, where derivatives may not exist. It is the first
/// query of a search without prior knowledge. A surrogate may offer a member ascent_at_truth().
struct Ascent {
  double w_m, w_g;
};
template <Surrogate S>
Ascent ascent_at_truth(const S& psi) {
  if constexpr (requires { psi.ascent_at_truth(); }) {
    const auto [w_m, w_g] = psi.ascent_at_truth();
    return {w_m, w_g};
  } else if constexpr (std::same_as<S, MarginRescaling>) {
    return {1.0, 1.0};
  } else if constexpr (std::same_as<S, MicroF1>) {
    return {1.0, 0.0};
  } else {
    return {0.0, 1.0};
  }
}

template <class S>
bool is(const AnySurrogate& surrogate) {
  return std::holds_alternative<S>(surrogate);
}
/// Whether the model must offer the two criteria of Micro-F1 in place of margin violation and loss.
inline bool needs_f1_criteria(const AnySurrogate& surrogate) { return is<MicroF1>(surrogate); }

/// A surrogate chosen at run time, so that solvers are compiled once for all of them.
class DynamicSurrogate {
 public:
  explicit DynamicSurrogate(AnySurrogate surrogate) : any_(surrogate) {}

  double value(double m, double g) const {
    return std::visit([&](const auto& psi) { return psi.value(m, g); }, any_);
  }
  double derivative_m(double m, double g) const {
    return std::visit([&](const auto& psi) { return psi.derivative_m(m, g); }, any_);
  }
  double derivative_g(double m, double g) const {
    return std::visit([&](const auto& psi) { return psi.derivative_g(m, g); }, any_);
  }
  /// 0 unless is_affine(), as is offset().
  double slope(double g) const {
    return std::visit(
        [&](const auto& psi) {
          if constexpr (requires { psi.slope(g); }) return psi.slope(g);
          return 0.0;
        },
        any_);
  }
  double offset(double g) const {
    return std::visit(
        [&](const auto& psi) {
          if constexpr (requires { psi.offset(g); }) return psi.offset(g);
          return 0.0;
        },
        any_);
  }
  bool is_affine() const {
    return std::visit(
        [](const auto& psi) {
          if constexpr (requires { psi.is_affine(); }) return psi.is_affine();
          return AffineSurrogate<std::decay_t<decltype(psi)>>;
        },
        any_);
  }
  /// Whether psi is convex in the margin violation, as cutting planes need it.
  bool is_convex() const {
    return std::visit(
        [](const auto& psi) {
          if constexpr (requires { psi.is_convex(); }) return psi.is_convex();
          return true;
        },
        any_);
  }
  /// Whether psi increases with the task loss, as all searches but enumeration assume.
  bool is_increasing() const { return !is<NormalizedDifference>(any_); }
  Ascent ascent_at_truth() const {
    return std::visit([](const auto& psi) { return margrove::ascent_at_truth(psi); }, any_);
  }
  const AnySurrogate& any() const { return any_; }

 private:
  AnySurrogate any_;
};

}  // namespace margrove
