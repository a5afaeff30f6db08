#include "methods/label_calibration.hpp"

#include <Eigen/LU>
#include <Eigen/QR>
#include <cmath>
#include <cstddef>
#include <utility>

#include "numerics/log_number.hpp"

namespace margrove::detail {
namespace {

using Vector = Eigen::Vector2d;  // of a slope and an intercept
using Matrix = Eigen::Matrix2d;

constexpr double kPenaltyOfSlopes = 4;
constexpr int kMaxNewtonSteps = 50;
constexpr double kLeastNewtonDecrease = 1e-6;  // of the objective, relative
constexpr double kLeastNewtonLength = 1e-4;    // of a step

/// The log loss of a label with its derivatives.
struct Derivatives {
  double loss = 0;
  Vector gradient = Vector::Zero();
  Matrix hessian = Matrix::Zero();
};

Derivatives derivatives_of(std::span<const ScoredDecision> decisions, const LogOdds& odds) {
  double loss = 0, by_slope = 0, by_intercept = 0, slopes = 0, mixed = 0, intercepts = 0;
  for (const ScoredDecision& d : decisions) {
    const double z = d.score, x = odds.at(z), e = std::exp(-std::abs(x));
    const double residual = d.weight * (sigmoid(x) - (d.correct ? 1.0 : 0.0));
    const double curvature = d.weight * e / ((1.0 + e) * (1.0 + e));
    loss += d.weight * softplus(d.correct ? -x : x);
    by_slope += residual * z;
    by_intercept += residual;
    slopes += curvature * z * z;
    mixed += curvature * z;
    intercepts += curvature;
  }
  Derivatives found;
  found.loss = loss;
  found.gradient << by_slope, by_intercept;
  found.hessian << slopes, mixed, mixed, intercepts;
  return found;
}

Vector difference(const LogOdds& a, const LogOdds& b) {
  return {a.slope - b.slope, a.intercept - b.intercept};
}

LogOdds moved(const LogOdds& odds, const Vector& step) {
  return {odds.slope + step[0], odds.intercept + step[1]};
}

/// The objective with its derivatives at a calibration.
struct Point {
  LabelCalibration at;
  std::vector<Derivatives> labels;
  double objective = 0;
};

/// Of the objective of calibrate().
class Newton {
 public:
  Newton(const DecisionsOfLabels& decisions, double strength)
      : decisions_(decisions), penalty_(Vector{kPenaltyOfSlopes * strength, strength}) {}

  Point point(LabelCalibration calibration) const {
    Point found{std::move(calibration), {}, 0};
    for (std::size_t l = 0; l < decisions_.size(); ++l) {
      const Vector apart = difference(found.at.labels[l], found.at.common);
      found.labels.push_back(derivatives_of(decisions_[l], found.at.labels[l]));
      found.labels[l].gradient += penalty_.cwiseProduct(apart);
      found.labels[l].hessian += Matrix(penalty_.asDiagonal());
      found.objective += found.labels[l].loss + 0.5 * apart.dot(penalty_.cwiseProduct(apart));
    }
    return found;
  }

  /// With P = diag(penalty), H_l and g_l of label l including the penalty, the step of label l is
  /// H_l^-1 (P c - g_l) for the step c of the common pair, and c solves
  /// sum_l (P - P H_l^-1 P) c = sum_l (P (theta_l - theta) - P H_l^-1 g_l).
  LabelCalibration step(const Point& point) const {
    const Matrix P = penalty_.asDiagonal();
    Matrix left = Matrix::Zero();
    Vector right = Vector::Zero();
    for (std::size_t l = 0; l < decisions_.size(); ++l) {
      const Matrix inverse = point.labels[l].hessian.inverse();
      left += P - P * inverse * P;
      right += P * (difference(point.at.labels[l], point.at.common) -
                    inverse * point.labels[l].gradient);
    }
    const Vector common = left.completeOrthogonalDecomposition().solve(right);
    LabelCalibration steps;
    steps.common = moved({0, 0}, common);
    for (const Derivatives& label : point.labels) {
      steps.labels.push_back(
          moved({0, 0}, label.hessian.inverse() * (P * common - label.gradient)));
    }
    return steps;
  }

  /// The calibration after `length` times the step.
  static LabelCalibration after(const LabelCalibration& from, const LabelCalibration& steps,
                                double length) {
    LabelCalibration to = from;
    to.common = moved(to.common, length * difference(steps.common, {0, 0}));
    for (std::size_t l = 0; l < to.labels.size(); ++l) {
      to.labels[l] = moved(to.labels[l], length * difference(steps.labels[l], {0, 0}));
    }
    return to;
  }

 private:
  const DecisionsOfLabels& decisions_;
  Vector penalty_;
};

}  // namespace

LabelCalibration calibrate(const DecisionsOfLabels& decisions, double strength,
                           LabelCalibration start) {
  start.labels.resize(decisions.size(), start.common);
  const Newton newton(decisions, strength);
  Point now = newton.point(std::move(start));
  for (int k = 0; k < kMaxNewtonSteps; ++k) {
    const LabelCalibration step = newton.step(now);
    Point next;
    double length = 1;
    do {
      next = newton.point(Newton::after(now.at, step, length));
      length /= 2;
    } while (!(next.objective <= now.objective) && length > kLeastNewtonLength);
    if (!(next.objective <= now.objective)) break;  // rounding
    const double decrease = now.objective - next.objective;
    now = std::move(next);
    if (decrease <= kLeastNewtonDecrease * now.objective) break;
  }
  return std::move(now.at);
}

double log_loss(const DecisionsOfLabels& decisions, const LabelCalibration& calibration) {
  double sum = 0;
  for (std::size_t l = 0; l < decisions.size(); ++l) {
    for (const ScoredDecision& d : decisions[l]) {
      const double x = calibration.labels[l].at(d.score);
      sum += d.weight * softplus(d.correct ? -x : x);
    }
  }
  return sum;
}

}  // namespace margrove::detail
