// Squared hinge and logistic, one label: Newton's method with a Cholesky factor of the Hessian, in
// float64 (newton_block.cpp has the formulas). The gap at v is 1/2 |g|^2.

#include <cmath>
#include <utility>
#include <vector>

#include "linear/point_loss.hpp"
#include "linear/second_order_label.hpp"

namespace margrove::detail {
namespace {

constexpr int kMaxSystems = 200;
constexpr double kArmijo = 1e-4;
constexpr double kSmallestStep = 1e-10;

template <class Loss>
class DenseNewton {
 public:
  explicit DenseNewton(const LabelRows& rows)
      : rows_(rows),
        system_(rows),
        v_(rows.num_columns(), 0.0),
        gradient_(rows.num_columns()),
        m_(rows.size()),
        a_(rows.size()),
        theta_(rows.size()) {
    rows_.margins(v_, m_);
    objective_ = objective(v_, m_);
    linearise();
  }

  std::span<const double> weights() const { return v_; }
  double dual() const {
    const double gap = rows_.half_norm(gradient_);
    if (rows_.intercept() == 0) return objective_ - gap;
    std::vector<double> losses(a_.size());
    for (std::size_t k = 0; k < a_.size(); ++k) losses[k] = rows_.cost(k) * Loss::value(m_[k]);
    return objective_ - gap - rows_.balancing_gap(a_, losses, std::sqrt(2 * gap));
  }

  /// False if no step lowers the objective, because of rounding.
  bool step() {
    if (!system_.factorise(theta_)) return false;
    std::vector<double> right(gradient_.size());
    for (std::size_t j = 0; j < right.size(); ++j) right[j] = -gradient_[j];
    const std::vector<double> direction = system_.solve(right);
    double slope = 0;
    for (std::size_t j = 0; j < direction.size(); ++j) slope += gradient_[j] * direction[j];
    std::vector<double> v(v_.size()), m(m_.size());
    for (double length = 1.0; length > kSmallestStep; length *= 0.5) {
      for (std::size_t j = 0; j < v.size(); ++j) v[j] = v_[j] + length * direction[j];
      rows_.margins(v, m);
      const double value = objective(v, m);
      if (!(value <= objective_ + kArmijo * length * slope) || !(value < objective_)) continue;
      v_ = std::move(v);
      m_ = std::move(m);
      objective_ = value;
      linearise();
      return true;
    }
    return false;
  }

 private:
  double objective(std::span<const double> v, std::span<const double> m) const {
    double sum = rows_.half_norm(v);
    for (std::size_t k = 0; k < m.size(); ++k) sum += rows_.cost(k) * Loss::value(m[k]);
    return sum;
  }

  void linearise() {
    for (std::size_t k = 0; k < m_.size(); ++k) {
      a_[k] = -rows_.cost(k) * Loss::derivative(m_[k]);
      theta_[k] = rows_.cost(k) * Loss::curvature(m_[k]);
    }
    rows_.combine(a_, gradient_);
    for (std::size_t j = 0; j < v_.size(); ++j) {
      gradient_[j] = (j < rows_.num_regularised() ? v_[j] : 0.0) - gradient_[j];
    }
  }

  const LabelRows& rows_;
  CurvatureSystem system_;
  std::vector<double> v_, gradient_;
  std::vector<double> m_, a_, theta_;
  double objective_ = 0;
};

}  // namespace

template <class Loss>
void solve_dense_newton(const LabelRows& rows, BestWeights& best, RunControl& control) {
  DenseNewton<Loss> newton(rows);
  for (int system = 0; system < kMaxSystems && best.may_go_on(control); ++system) {
    const bool moved = newton.step();
    if (best.offer(newton.weights(), newton.dual()) || !moved) break;
  }
}

template void solve_dense_newton<SquaredHingeLoss>(const LabelRows&, BestWeights&, RunControl&);
template void solve_dense_newton<LogisticLoss>(const LabelRows&, BestWeights&, RunControl&);

}  // namespace margrove::detail
