#pragma once
// What searches and solvers ask of a surrogate: the built-in ones of margrove/surrogates.hpp, and
// every type that models the concepts.

#include <concepts>
#include <type_traits>
#include <variant>

#include "margrove/surrogates.hpp"

namespace margrove {

/// psi is increasing in both arguments and quasi-concave where it is >= 0: the searches' exactness
/// and their bounds rest on it. Derivatives are asked for only at g != 0 and psi >= 0.
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

/// psi's direction of steepest ascent at y_i, where derivatives may not exist: the first question a
/// search without prior knowledge asks. A custom surrogate may offer `ascent_at_truth()`.
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

/// Whether the model must offer Micro-F1's two criteria in place of margin violation and loss.
inline bool needs_f1_criteria(const AnySurrogate& surrogate) {
  return std::holds_alternative<MicroF1>(surrogate);
}

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
  /// Only if is_affine(); otherwise 0.
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
    return std::visit([](const auto& psi) { return AffineSurrogate<std::decay_t<decltype(psi)>>; },
                      any_);
  }
  /// In the margin violation, so that cutting planes may be used.
  bool is_convex() const { return !std::holds_alternative<ProbLoss>(any_); }
  Ascent ascent_at_truth() const {
    return std::visit([](const auto& psi) { return margrove::ascent_at_truth(psi); }, any_);
  }
  const AnySurrogate& any() const { return any_; }

 private:
  AnySurrogate any_;
};

}  // namespace margrove
