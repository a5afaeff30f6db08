// Hinge, one label: Mehrotra's predictor-corrector method on the dual (Nocedal and Wright (2006),
// algorithm 16.4). With Z = the rows y_k x_k and q_k = 1,
//
//   min_a  1/2 |Z'a|^2 - q.a,  0 <= a_k <= C_k,      v = Z'a,  g = Z v - q
//
// is optimal where g = z - u, a_k z_k = 0, (C_k - a_k) u_k = 0 for multipliers z, u >= 0. Newton
// steps on these equations, with mu in place of the zeros, eliminate all but v:
//
//   theta_k = 1 / (z_k / a_k + u_k / (C_k - a_k)),   (I + Z' theta Z) dv = Z' theta h + Z'a - v,
//   da = theta (h - Z dv),   h = -g + mu / a - mu / (C - a)
//
// a stays feasible, so that each iterate gives a dual and a primal value. It takes some twenty
// systems, whatever the scales of the columns. v is an iterate of its own, because the sum Z'a
// loses digits when large terms cancel. At a free intercept I and v are 0 in these equations, which
// then say that sum_k a_k y_k = 0.

#include <algorithm>
#include <cmath>
#include <vector>

#include "linear/second_order_label.hpp"

namespace margrove::detail {
namespace {

constexpr int kMaxCentralSystems = 100;
constexpr double kToBoundary = 0.995;  // share of the longest feasible step
constexpr double kSmallestCentralStep = 1e-10;

class InteriorPoint {
 public:
  explicit InteriorPoint(const LabelRows& rows)
      : rows_(rows),
        n_(rows.size()),
        system_(rows),
        a_(n_),
        z_(n_),
        u_(n_),
        gradient_(n_),
        theta_(n_),
        h_(n_),
        da_(n_),
        dz_(n_),
        du_(n_),
        scratch_(n_),
        v_(rows.num_columns()),
        combined_(rows.num_columns()),
        right_(rows.num_columns()) {
    start();
  }

  std::span<const double> weights() const { return v_; }
  std::span<const double> duals() const { return a_; }

  double dual() const {
    double value = 0;
    for (std::size_t k = 0; k < n_; ++k) value += a_[k];
    // At v = 0 and m = 0, where phi - a m is a.
    const double half_norm = rows_.half_norm(combined_);
    return value - half_norm - rows_.balancing_gap(a_, a_, std::sqrt(2 * half_norm));
  }

  /// A predictor and a corrector step. False if there is none because of rounding.
  bool step() {
    for (std::size_t k = 0; k < n_; ++k) {
      if (!(a_[k] > 0 && room(k) > 0)) return false;
      theta_[k] = 1.0 / (z_[k] / a_[k] + u_[k] / room(k));
      h_[k] = -gradient_[k];
    }
    if (!system_.factorise(theta_)) return false;
    const double mu = complementarity(0.0);
    find_direction([](std::size_t) { return 0.0; }, [](std::size_t) { return 0.0; });
    const double after = complementarity(longest_step());
    const double target = mu * std::pow(after / mu, 3);
    // The products of the predictor's changes, which Newton's equations left out.
    for (std::size_t k = 0; k < n_; ++k) {
      const double low = target - da_[k] * dz_[k];
      const double high = target + da_[k] * du_[k];
      dz_[k] = low;
      du_[k] = high;
      h_[k] = -gradient_[k] + low / a_[k] - high / room(k);
    }
    find_direction([this](std::size_t k) { return dz_[k]; },
                   [this](std::size_t k) { return du_[k]; });
    const double length = std::min(1.0, kToBoundary * longest_step());
    if (!(length > kSmallestCentralStep) || !std::isfinite(complementarity(length))) return false;
    for (std::size_t k = 0; k < n_; ++k) {
      a_[k] += length * da_[k];
      z_[k] += length * dz_[k];
      u_[k] += length * du_[k];
    }
    for (std::size_t j = 0; j < v_.size(); ++j) v_[j] += length * dv_[j];
    update_gradient();
    return true;
  }

 private:
  double room(std::size_t k) const { return rows_.cost(k) - a_[k]; }

  /// Starts from a multiple of C that is about optimal, with multipliers that are not near zero.
  void start() {
    for (std::size_t k = 0; k < n_; ++k) a_[k] = 0.5 * rows_.cost(k);
    rows_.combine(a_, combined_);
    double linear = 0, square = 0;
    for (std::size_t k = 0; k < n_; ++k) linear += a_[k];
    square = 2 * rows_.half_norm(combined_);
    const double factor = std::clamp(linear / std::max(square, 1e-300), 1e-3, 1.0);
    for (double& each : a_) each *= factor;
    rows_.combine(a_, v_);
    if (rows_.intercept() != 0) v_.back() = 0.0;
    update_gradient();
    double mu = 0;
    for (std::size_t k = 0; k < n_; ++k) mu += a_[k] * std::abs(gradient_[k]);
    mu = std::max(mu / static_cast<double>(std::max<std::size_t>(n_, 1)), 1e-8);
    for (std::size_t k = 0; k < n_; ++k) {
      z_[k] = std::max(gradient_[k], 0.0) + mu / a_[k];
      u_[k] = std::max(-gradient_[k], 0.0) + mu / room(k);
    }
  }

  /// Z'a and g.
  void update_gradient() {
    rows_.combine(a_, combined_);
    rows_.margins(v_, gradient_);
    for (double& each : gradient_) each -= 1.0;
  }

  /// The mean of a z and (C - a) u after a step of that length.
  double complementarity(double length) const {
    double sum = 0;
    for (std::size_t k = 0; k < n_; ++k) {
      sum += (a_[k] + length * da_[k]) * (z_[k] + length * dz_[k]) +
             (room(k) - length * da_[k]) * (u_[k] + length * du_[k]);
    }
    return sum / static_cast<double>(2 * std::max<std::size_t>(n_, 1));
  }

  /// da from h, and from it the changes at which a z tends to low(k) and (C - a) u to high(k).
  template <class Low, class High>
  void find_direction(const Low& low, const High& high) {
    for (std::size_t k = 0; k < n_; ++k) scratch_[k] = theta_[k] * h_[k];
    rows_.combine(scratch_, right_);
    for (std::size_t j = 0; j < v_.size(); ++j) right_[j] += combined_[j];
    for (std::size_t j = 0; j < rows_.num_regularised(); ++j) right_[j] -= v_[j];
    dv_ = system_.solve(right_);
    rows_.margins(dv_, scratch_);
    for (std::size_t k = 0; k < n_; ++k) {
      da_[k] = theta_[k] * (h_[k] - scratch_[k]);
      dz_[k] = (low(k) - z_[k] * da_[k]) / a_[k] - z_[k];
      du_[k] = (high(k) + u_[k] * da_[k]) / room(k) - u_[k];
    }
  }

  /// The step at which the first variable is zero.
  double longest_step() const {
    double length = 1.0 / kToBoundary;
    const auto limit = [&length](double value, double change) {
      if (change < 0) length = std::min(length, -value / change);
    };
    for (std::size_t k = 0; k < n_; ++k) {
      limit(a_[k], da_[k]);
      limit(room(k), -da_[k]);
      limit(z_[k], dz_[k]);
      limit(u_[k], du_[k]);
    }
    return length;
  }

  const LabelRows& rows_;
  std::size_t n_;
  CurvatureSystem system_;
  std::vector<double> a_, z_, u_, gradient_;
  std::vector<double> theta_, h_, da_, dz_, du_;
  std::vector<double> scratch_;
  std::vector<double> v_, combined_, dv_, right_;  // combined: Z'a
};

}  // namespace

void solve_interior_point(const LabelRows& rows, BestWeights& best, RunControl& control,
                          LabelDuals& duals) {
  InteriorPoint point(rows);
  for (int system = 0; system < kMaxCentralSystems && best.may_go_on(control); ++system) {
    if (!point.step() || best.offer(point.weights(), point.dual())) break;
  }
  duals = {};
  for (std::size_t k = 0; k < rows.size(); ++k) {
    duals.rows.push_back(rows.row(k));
    duals.values.push_back(point.duals()[k]);
  }
}

}  // namespace margrove::detail
