#pragma once
// Losses of one margin m = y f: hinge, squared hinge, logistic. All are convex, decreasing and not
// negative.

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>

#include "margrove/point_loss_kind.hpp"

namespace margrove {

/// value(m) = l(m); derivative(m) <= 0, a subgradient where l is not smooth; curvature(m) = l''(m),
/// the generalised one where l' has a kink, 0 for piecewise linear losses.
template <class L>
concept PointLoss = requires(double m) {
  { L::value(m) } -> std::same_as<double>;
  { L::derivative(m) } -> std::same_as<double>;
  { L::curvature(m) } -> std::same_as<double>;
  { L::kSmooth } -> std::convertible_to<bool>;
};

/// max(0, 1 - m)
struct HingeLoss {
  static constexpr bool kSmooth = false;
  static double value(double m) { return std::max(0.0, 1.0 - m); }
  static double derivative(double m) { return m < 1.0 ? -1.0 : 0.0; }
  static double curvature(double) { return 0.0; }
};

/// max(0, 1 - m)^2
struct SquaredHingeLoss {
  static constexpr bool kSmooth = true;
  static double value(double m) {
    const double violation = std::max(0.0, 1.0 - m);
    return violation * violation;
  }
  static double derivative(double m) { return -2.0 * std::max(0.0, 1.0 - m); }
  static double curvature(double m) { return m < 1.0 ? 2.0 : 0.0; }
};

/// log(1 + exp(-m))
struct LogisticLoss {
  static constexpr bool kSmooth = true;
  static double value(double m) {
    return m > 0 ? std::log1p(std::exp(-m)) : std::log1p(std::exp(m)) - m;
  }
  static double derivative(double m) {
    if (m <= 0) return -1.0 / (1.0 + std::exp(m));
    const double e = std::exp(-m);
    return -e / (1.0 + e);
  }
  static double curvature(double m) {
    const double a = -derivative(m);
    return a * (1.0 - a);
  }
};

static_assert(PointLoss<HingeLoss> && PointLoss<SquaredHingeLoss> && PointLoss<LogisticLoss>);

/// Calls visit(HingeLoss{}), visit(SquaredHingeLoss{}) or visit(LogisticLoss{}).
template <class Visitor>
decltype(auto) visit_point_loss(PointLossKind loss, Visitor&& visit) {
  if (loss == PointLossKind::hinge) return visit(HingeLoss{});
  if (loss == PointLossKind::squared_hinge) return visit(SquaredHingeLoss{});
  return visit(LogisticLoss{});
}

}  // namespace margrove
