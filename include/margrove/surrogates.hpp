#pragma once
// The bi-criteria surrogates beside margin rescaling (Thesis, table 3.2 and sections 3.3.2-3.3.3).
// m is the margin violation and g the task loss, but for Micro-F1. in_domain says where a surrogate
// is quasi-concave and increasing in both arguments; it holds wherever psi >= 0 and g >= 0.

#include <cmath>
#include <numbers>
#include <string>
#include <string_view>
#include <variant>

#include "margrove/surrogate.hpp"

namespace margrove {

/// psi = (m + 1) g: asks a margin of 1 of every labelling, whatever its loss.
struct SlackRescaling {
  double value(double m, double g) const { return (m + 1.0) * g; }
  double derivative_m(double, double g) const { return g; }
  double derivative_g(double m, double) const { return m + 1.0; }
  double slope(double g) const { return g; }
  double offset(double g) const { return g; }
  bool in_domain(double m, double g) const { return m >= -1.0 && g >= 0.0; }
};

/// psi = m g^beta + g^a with beta >= 0 and 0 <= a - beta <= 1 (the thesis swaps the two names;
/// outside this range psi is not increasing or not quasi-concave).
class GeneralisedScaling {
 public:
  /// Throws InvalidOption outside the range above.
  GeneralisedScaling(double beta, double a);

  double value(double m, double g) const { return m * slope(g) + offset(g); }
  double derivative_m(double, double g) const { return slope(g); }
  double derivative_g(double m, double g) const {
    return beta_ * m * std::pow(g, beta_ - 1.0) + a_ * std::pow(g, a_ - 1.0);
  }
  double slope(double g) const { return std::pow(g, beta_); }
  double offset(double g) const { return g > 0.0 ? std::pow(g, a_) : 0.0; }
  bool in_domain(double m, double g) const { return g > 0.0 && value(m, g) >= 0.0; }
  double beta() const { return beta_; }
  double a() const { return a_; }

 private:
  double beta_, a_;
};

/// psi = m g^beta + g, 0 <= beta <= 1: margin rescaling at 0, slack rescaling at 1.
class BetaScaling {
 public:
  /// Throws InvalidOption unless 0 <= beta <= 1.
  explicit BetaScaling(double beta);

  double value(double m, double g) const { return m * slope(g) + g; }
  double derivative_m(double, double g) const { return slope(g); }
  double derivative_g(double m, double g) const {
    return beta_ * m * std::pow(g, beta_ - 1.0) + 1.0;
  }
  double slope(double g) const { return std::pow(g, beta_); }
  double offset(double g) const { return g; }
  bool in_domain(double m, double g) const { return g > 0.0 && value(m, g) >= 0.0; }
  double beta() const { return beta_; }

 private:
  double beta_;
};

/// psi = g log(1 + exp m): a log loss for every labelling, weighted by its task loss.
struct LossScaledLog {
  double value(double m, double g) const { return g * softplus(m); }
  double derivative_m(double m, double g) const { return g / (1.0 + std::exp(-m)); }
  double derivative_g(double m, double) const { return softplus(m); }
  bool in_domain(double, double g) const { return g >= 0.0; }

 private:
  static double softplus(double m) {
    return m > 0.0 ? m + std::log1p(std::exp(-m)) : std::log1p(std::exp(m));
  }
};

/// psi = 2 g Phi(m / sqrt(2 g / pi)), Phi the normal distribution function: the risk when each of
/// the g wrong parts of y carries normal noise. Meant for Hamming g. Not convex in m > 0.
struct ProbLoss {
  double value(double m, double g) const { return g > 0.0 ? g * std::erfc(-z(m, g)) : 0.0; }
  double derivative_m(double m, double g) const {
    return g > 0.0 ? std::sqrt(g) * std::exp(-z(m, g) * z(m, g)) : 0.0;
  }
  double derivative_g(double m, double g) const {
    const double t = z(m, g);
    return std::erfc(-t) - t * std::exp(-t * t) * std::numbers::inv_sqrtpi;
  }
  bool in_domain(double, double g) const { return g > 0.0; }

 private:
  // Phi(m / sqrt(2g/pi)) = erfc(-z) / 2
  static double z(double m, double g) {
    return 0.5 * m / (std::numbers::inv_sqrtpi * std::sqrt(g));
  }
};

/// ProbLoss up to m = 0 and its tangent g + sqrt(g) m above: convex in m.
struct ConvexProbLoss {
  double value(double m, double g) const {
    return m > 0.0 ? g + std::sqrt(g) * m : ProbLoss{}.value(m, g);
  }
  double derivative_m(double m, double g) const {
    return m > 0.0 ? std::sqrt(g) : ProbLoss{}.derivative_m(m, g);
  }
  double derivative_g(double m, double g) const {
    return m > 0.0 ? 1.0 + 0.5 * m / std::sqrt(g) : ProbLoss{}.derivative_g(m, g);
  }
  bool in_domain(double, double g) const { return g > 0.0; }
};

/// psi = m / (-g) for oracles whose m is Hamming loss + margin violation and whose g is
/// -|y| - |y_i|: at margin violation 0 this is 1 - F1 of the example.
struct MicroF1 {
  double value(double m, double g) const { return g < 0.0 ? -m / g : 0.0; }
  double derivative_m(double, double g) const { return -1.0 / g; }
  double derivative_g(double m, double g) const { return m / (g * g); }
  double slope(double g) const { return g < 0.0 ? -1.0 / g : 0.0; }
  double offset(double) const { return 0.0; }
  bool in_domain(double m, double g) const { return m >= 0.0 && g < 0.0; }
};

/// NHSVM's variant with normalised score differences (eq. 13): psi = m / g + 1 for y != y_i, where
/// g is the path loss. Not increasing in g: a search has to look at every labelling. Where g = 0
/// two labels share all weights: a mistake that cannot be helped costs 1.
struct NormalizedDifference {
  double value(double m, double g) const { return slope(g) * m + 1.0; }
  double derivative_m(double, double g) const { return slope(g); }
  double derivative_g(double m, double g) const { return g > 0 ? -m / (g * g) : 0.0; }
  double slope(double g) const { return g > 0 ? 1.0 / g : 0.0; }
  double offset(double) const { return 1.0; }
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

/// A surrogate as an option: "margin", "slack", "generalised:beta,a", "beta:b", "log", "prob",
/// "prob-convex", "micro-f1" or "normalized-difference".
struct AnySurrogate
    : std::variant<MarginRescaling, SlackRescaling, GeneralisedScaling, BetaScaling, LossScaledLog,
                   ProbLoss, ConvexProbLoss, MicroF1, NormalizedDifference> {
  using variant::variant;
  /// Throws InvalidOption on any other text.
  static AnySurrogate parse(std::string_view text);
  /// What parse() takes back to the same surrogate.
  std::string to_text() const;
};
template <class S>
bool is(const AnySurrogate& surrogate) {
  return std::holds_alternative<S>(surrogate);
}
/// Whether the model must offer Micro-F1's two criteria in place of margin violation and loss.
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
  bool is_convex() const { return !is<ProbLoss>(any_); }
  /// With the task loss, as searches assume that do not look at every labelling.
  bool is_increasing() const { return !is<NormalizedDifference>(any_); }
  Ascent ascent_at_truth() const {
    return std::visit([](const auto& psi) { return margrove::ascent_at_truth(psi); }, any_);
  }
  const AnySurrogate& any() const { return any_; }

 private:
  AnySurrogate any_;
};

}  // namespace margrove
