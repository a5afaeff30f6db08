#pragma once
// Bi-criteria surrogate losses: max_y psi(m(y), g(y)) with psi := 0 at y_i (Thesis, section 3.3,
// table 3.2). m is the margin violation and g the task loss, except for Micro-F1. in_domain() says
// where a surrogate is quasi-concave and increasing in both arguments. Surrogates that are affine
// in m have slope() and offset(): psi = slope(g) m + offset(g).

#include <cmath>
#include <functional>
#include <memory>
#include <numbers>
#include <string>
#include <string_view>
#include <variant>

#include "margrove/api.hpp"

namespace margrove MARGROVE_API {

/// Margin rescaling: psi = m + g.
struct MarginRescaling {
  double value(double m, double g) const { return m + g; }
  double derivative_m(double, double) const { return 1.0; }
  double derivative_g(double, double) const { return 1.0; }
  double slope(double) const { return 1.0; }
  double offset(double g) const { return g; }
};

/// Slack rescaling: psi = (m + 1) g, which asks a margin of 1 of every labelling, whatever its
/// loss.
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
  /// psi = m g^beta + g: margin rescaling at 0, slack rescaling at 1. Throws InvalidOption unless
  /// 0 <= beta <= 1.
  static GeneralisedScaling of_beta(double beta);

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

/// psi = g log(1 + exp m): the log loss weighted by the task loss.
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

/// psi = 2 g Phi(m / sqrt(2 g / pi)) with the normal distribution function Phi: the risk if each of
/// the g wrong parts of y has normal noise. Meant for a Hamming loss g. Not convex in m > 0.
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
  static constexpr bool is_convex() { return false; }  // in m

 private:
  // Phi(m / sqrt(2g/pi)) = erfc(-z) / 2
  static double z(double m, double g) {
    return 0.5 * m / (std::numbers::inv_sqrtpi * std::sqrt(g));
  }
};

/// ProbLoss for m <= 0 and its tangent g + sqrt(g) m above; convex in m.
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
/// -|y| - |y_i|. At margin violation 0 it is 1 - F1 of the example.
struct MicroF1 {
  double value(double m, double g) const { return g < 0.0 ? -m / g : 0.0; }
  double derivative_m(double, double g) const { return -1.0 / g; }
  double derivative_g(double m, double g) const { return m / (g * g); }
  double slope(double g) const { return g < 0.0 ? -1.0 / g : 0.0; }
  double offset(double) const { return 0.0; }
  bool in_domain(double m, double g) const { return m >= 0.0 && g < 0.0; }
};

/// NHSVM's variant with normalised score differences (eq. 13): psi = m / g + 1 for y != y_i, where
/// g is the path loss. It does not increase with g, so that a search has to look at every
/// labelling. If g = 0, both labels always have the same score, and the loss is 1 at all weights.
struct NormalizedDifference {
  double value(double m, double g) const { return slope(g) * m + 1.0; }
  double derivative_m(double, double g) const { return slope(g); }
  double derivative_g(double m, double g) const { return g > 0 ? -m / (g * g) : 0.0; }
  double slope(double g) const { return g > 0 ? 1.0 / g : 0.0; }
  double offset(double) const { return 1.0; }
};

/// A surrogate of one's own. Solvers and searches use it as they do the others.
class CustomSurrogate {
 public:
  /// m may have any sign, and g is >= 0.
  struct Functions {
    std::function<double(double m, double g)> value, derivative_m, derivative_g;
    /// For surrogates that are affine in m, value = slope(g) m + offset(g): both or none.
    std::function<double(double g)> slope, offset;
    bool is_convex = false;  // in m; affine ones are
    /// Where value is increasing and quasi-concave; empty: wherever it is >= 0 and g > 0.
    std::function<bool(double m, double g)> in_domain;
  };

  /// Evaluates the functions on a grid of points with m from -9 to 9 and g from .1 to 9, which
  /// takes some ten thousand calls. Throws InvalidOption, naming a point, where a number is not
  /// finite, a derivative is not that of value, value is not quasi-concave or does not increase, is
  /// not convex in m although is_convex says so, or is not slope(g) m + offset(g).
  explicit CustomSurrogate(Functions functions);

  double value(double m, double g) const { return functions_->value(m, g); }
  double derivative_m(double m, double g) const { return functions_->derivative_m(m, g); }
  double derivative_g(double m, double g) const { return functions_->derivative_g(m, g); }
  double slope(double g) const { return functions_->slope(g); }
  double offset(double g) const { return functions_->offset(g); }
  bool is_affine() const { return functions_->slope != nullptr; }
  bool is_convex() const { return functions_->is_convex || is_affine(); }

 private:
  std::shared_ptr<const Functions> functions_;
};

/// A surrogate as the value of an option: "margin", "slack", "generalised:BETA,A", "beta:BETA",
/// "log", "prob", "prob-convex", "micro-f1" or "normalized-difference".
struct AnySurrogate
    : std::variant<MarginRescaling, SlackRescaling, GeneralisedScaling, LossScaledLog, ProbLoss,
                   ConvexProbLoss, MicroF1, NormalizedDifference, CustomSurrogate> {
  using variant::variant;
  /// Throws InvalidOption on any other text.
  static AnySurrogate parse(std::string_view text);
  /// A text that parse() turns into the same surrogate; "custom" for a CustomSurrogate, which has
  /// none.
  std::string to_text() const;
};

}  // namespace margrove
