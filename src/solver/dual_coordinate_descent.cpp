// Hinge, one label. With w(a) = p + sum_i a_i y_i x_i and s_i = p.x_i
//
//   primal   min_v  1/2 |v|^2 + sum_i C_i max(0, 1 - y_i (s_i + v.x_i))
//   dual     max_a  sum_i a_i (1 - y_i s_i) - 1/2 |sum_i a_i y_i x_i|^2,   0 <= a_i <= C_i
//
// Coordinate step: G = y_i w.x_i - 1, a_i <- clip(a_i - G / |x_i|^2, 0, C_i). Shrinking leaves out
// coordinates at a bound whose gradient points out of the box by more than the largest violation
// of the last pass. Hsieh, Chang, Lin, Keerthi, Sundararajan (2008), algorithm 3.

#include <algorithm>
#include <cmath>
#include <limits>

#include "binary_solvers.hpp"
#include "margrove/base/random.hpp"

namespace margrove::detail {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class HingeDescent {
 public:
  HingeDescent(const BinaryProblem& problem, const BinaryOptions& options, BinaryState& state)
      : problem_(problem),
        rows_(problem),
        random_(options.seed),
        v_(state.v),
        a_(state.a) {
    v_.assign(problem.X.num_columns(), 0.0);
    a_.resize(problem.X.num_rows(), 0.0);
    for (std::uint32_t i = 0; i < a_.size(); ++i) {
      a_[i] = std::clamp(a_[i], 0.0, rows_.cost(i));
      if (rows_.cost(i) > 0) active_.push_back(i);
      if (a_[i] > 0) add_scaled(a_[i] * rows_.sign(i), problem_.X.row(i), v_);
    }
    num_active_ = active_.size();
  }

  /// Passes until no active coordinate violates its optimality by more than `violation_tolerance`.
  bool descend(double violation_tolerance, int max_passes, int& passes, RunControl& control) {
    reset_shrinking();
    while (passes < max_passes && control.proceed()) {
      pass();
      ++passes;
      if (largest_ - smallest_ > violation_tolerance) {
        shrink_above_ = largest_ > 0 ? largest_ : kInfinity;
        shrink_below_ = smallest_ < 0 ? smallest_ : -kInfinity;
      } else if (num_active_ == active_.size()) {
        return true;
      } else {
        reset_shrinking();  // the coordinates left out must agree
      }
    }
    return false;
  }

  void evaluate(BinaryFit& fit) const {
    double loss = 0;
    double linear = 0;
    for (std::uint32_t i = 0; i < a_.size(); ++i) {
      const double y = rows_.sign(i);
      const double s = rows_.prior_score(i);
      loss += rows_.cost(i) * HingeLoss::value(y * (s + dot(problem_.X.row(i), v_)));
      linear += a_[i] * (1.0 - y * s);
    }
    const double regulariser = 0.5 * squared_norm(v_);
    fit.primal = regulariser + loss;
    fit.dual = linear - regulariser;
  }

 private:
  void reset_shrinking() {
    num_active_ = active_.size();
    shrink_above_ = kInfinity;
    shrink_below_ = -kInfinity;
  }

  void pass() {
    largest_ = -kInfinity;
    smallest_ = kInfinity;
    random_.shuffle(std::span(active_).first(num_active_));
    for (std::size_t k = 0; k < num_active_; ++k) {
      if (!step(active_[k])) std::swap(active_[k--], active_[--num_active_]);
    }
    if (largest_ < smallest_) largest_ = smallest_ = 0;  // everything was left out
  }

  /// One coordinate; false if it can be left out for now.
  bool step(std::uint32_t i) {
    const double y = rows_.sign(i);
    const double C = rows_.cost(i);
    const SparseRow x = problem_.X.row(i);
    const double G = y * (rows_.prior_score(i) + dot(x, v_)) - 1.0;
    double projected = G;
    if (a_[i] <= 0) {
      if (G > shrink_above_) return false;
      projected = std::min(G, 0.0);
    } else if (a_[i] >= C) {
      if (G < shrink_below_) return false;
      projected = std::max(G, 0.0);
    }
    largest_ = std::max(largest_, projected);
    smallest_ = std::min(smallest_, projected);
    if (std::abs(projected) < 1e-14) return true;
    const double norm = problem_.squared_norms[i];
    const double before = a_[i];
    a_[i] = norm > 0 ? std::clamp(before - G / norm, 0.0, C) : (G < 0 ? C : 0.0);
    add_scaled((a_[i] - before) * y, x, v_);
    return true;
  }

  const BinaryProblem& problem_;
  SignedRows rows_;
  Random random_;
  std::vector<double>& v_;
  std::vector<double>& a_;
  std::vector<std::uint32_t> active_;  // the first num_active_ take part
  std::size_t num_active_ = 0;
  double shrink_above_ = kInfinity;
  double shrink_below_ = -kInfinity;
  double largest_ = 0;
  double smallest_ = 0;
};

}  // namespace

BinaryFit solve_hinge(const BinaryProblem& problem, const BinaryOptions& options,
                      BinaryState& state, RunControl& control) {
  HingeDescent descent(problem, options, state);
  BinaryFit fit;
  // The gap costs a pass, so it is looked at only when the violations are small.
  double violation_tolerance = 0.1;
  for (;;) {
    const bool small =
        descent.descend(violation_tolerance, options.max_passes, fit.passes, control);
    descent.evaluate(fit);
    if (fit.relative_gap() <= options.tolerance) return fit;
    if (!small) break;
    violation_tolerance *= 0.1;
  }
  fit.stop = control.stop_reason() != Stop::converged ? control.stop_reason() : Stop::pass_limit;
  return fit;
}

}  // namespace margrove::detail
