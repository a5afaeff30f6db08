// Squared hinge and logistic, one label. With s_i = p.x_i and f_i = s_i + v.x_i
//
//   primal    P(v) = 1/2 |v|^2 + sum_i C_i l(y_i f_i)
//   gradient  g = v - sum_i a_i y_i x_i,                a_i = -C_i l'(y_i f_i)
//   Hessian   H = I + sum_i C_i l''(y_i f_i) x_i x_i'
//
// a is feasible in the dual, and by Fenchel's equality l(m) + l*(-a) = -a m the gap at (v, a) is
// exactly 1/2 |g|^2, at no further cost. Directions solve H d = -g by conjugate gradients,
// preconditioned by H's diagonal, to a residual that shrinks with |g|; steps are halved until
// Armijo's condition holds. Nocedal and Wright (2006), algorithms 7.1 and 5.3.

#include <algorithm>
#include <cmath>

#include "linear/binary_solvers.hpp"

namespace margrove::detail {
namespace {

template <class Loss>
class NewtonCg {
 public:
  NewtonCg(const BinaryProblem& problem, BinaryState& state)
      : problem_(problem),
        rows_(problem),
        num_rows_(static_cast<std::uint32_t>(problem.X.num_rows())),
        v_(state.v),
        a_(state.a),
        f_(num_rows_),
        f_step_(num_rows_),
        curvature_(num_rows_),
        gradient_(problem.X.num_columns()),
        diagonal_(problem.X.num_columns()),
        step_(problem.X.num_columns()) {
    v_.resize(problem.X.num_columns(), 0.0);
    a_.assign(num_rows_, 0.0);
    for (std::uint32_t i = 0; i < num_rows_; ++i) {
      f_[i] = rows_.prior_score(i) + dot(problem_.X.row(i), v_, problem_.tail);
    }
    objective_ = objective(0.0);
  }

  double primal() const { return objective_; }
  double gap() const { return 0.5 * squared_norm(gradient_); }

  void linearise() {
    gradient_ = v_;
    std::fill(diagonal_.begin(), diagonal_.end(), 1.0);
    for (std::uint32_t i = 0; i < num_rows_; ++i) {
      const double y = rows_.sign(i);
      const double C = rows_.cost(i);
      const SparseRow x = problem_.X.row(i);
      a_[i] = -C * Loss::derivative(y * f_[i]);
      curvature_[i] = C * Loss::curvature(y * f_[i]);
      if (a_[i] == 0 && curvature_[i] == 0) continue;
      for (std::size_t k = 0; k < x.size(); ++k) {
        gradient_[x.columns[k]] -= a_[i] * y * x.values[k];
        diagonal_[x.columns[k]] += curvature_[i] * x.values[k] * x.values[k];
      }
    }
  }

  /// step ~ -H^-1 g. Returns the number of products with H.
  int solve_direction(double relative_residual, int max_products) {
    std::vector<double> residual(v_.size());
    for (std::size_t j = 0; j < residual.size(); ++j) residual[j] = -gradient_[j];
    const double target = relative_residual * std::sqrt(squared_norm(residual));
    return conjugate_gradients([&](const auto& p, auto& product) { hessian_times(p, product); },
                               diagonal_, target, max_products, residual, step_);
  }

  /// False when no step lowers the objective any more, because of rounding.
  bool line_search() {
    for (std::uint32_t i = 0; i < num_rows_; ++i) {
      f_step_[i] = dot(problem_.X.row(i), step_, problem_.tail);
    }
    const double slope = inner_product(gradient_, step_);
    const double v_step = inner_product(v_, step_);
    const double step_step = squared_norm(step_);
    const double v_v = squared_norm(v_);
    for (double length = 1.0; length > 1e-10; length *= 0.5) {
      const double loss = objective_loss(length);
      const double regulariser = 0.5 * v_v + length * (v_step + 0.5 * length * step_step);
      if (loss + regulariser <= objective_ + 1e-4 * length * slope) {
        for (std::size_t j = 0; j < v_.size(); ++j) v_[j] += length * step_[j];
        for (std::uint32_t i = 0; i < num_rows_; ++i) f_[i] += length * f_step_[i];
        objective_ = objective(0.0);
        return true;
      }
    }
    return false;
  }

 private:
  double objective_loss(double length) const {
    double loss = 0;
    for (std::uint32_t i = 0; i < num_rows_; ++i) {
      loss += rows_.cost(i) * Loss::value(rows_.sign(i) * (f_[i] + length * f_step_[i]));
    }
    return loss;
  }
  double objective(double length) const { return 0.5 * squared_norm(v_) + objective_loss(length); }

  void hessian_times(std::span<const double> direction, std::vector<double>& product) const {
    product.assign(direction.begin(), direction.end());
    for (std::uint32_t i = 0; i < num_rows_; ++i) {
      if (curvature_[i] == 0) continue;
      const SparseRow x = problem_.X.row(i);
      add_scaled(curvature_[i] * dot(x, direction, problem_.tail), x, product, problem_.tail);
    }
  }

  const BinaryProblem& problem_;
  SignedRows rows_;
  std::uint32_t num_rows_;
  std::vector<double>& v_;
  std::vector<double>& a_;
  std::vector<double> f_;
  std::vector<double> f_step_;
  std::vector<double> curvature_;
  std::vector<double> gradient_;
  std::vector<double> diagonal_;
  std::vector<double> step_;
  double objective_ = 0;
};

}  // namespace

template <PointLoss Loss>
BinaryFit solve_smooth(const BinaryProblem& problem, const BinaryOptions& options,
                       BinaryState& state, RunControl& control) {
  NewtonCg<Loss> newton(problem, state);
  BinaryFit fit;
  double first_gap = 0;
  for (int iteration = 0;; ++iteration) {
    newton.linearise();
    ++fit.passes;
    fit.primal = newton.primal();
    fit.dual = fit.primal - newton.gap();
    if (fit.relative_gap() <= options.tolerance) return fit;
    if (iteration == 0) first_gap = newton.gap();
    if (fit.passes >= options.max_passes || !control.proceed()) break;
    const double residual = std::min(0.3, std::pow(newton.gap() / first_gap, 0.25));
    fit.passes += newton.solve_direction(residual, options.max_passes - fit.passes);
    if (!newton.line_search()) return fit;
  }
  fit.stop = control.stop_reason() != Stop::converged ? control.stop_reason() : Stop::pass_limit;
  return fit;
}

template BinaryFit solve_smooth<SquaredHingeLoss>(const BinaryProblem&, const BinaryOptions&,
                                                  BinaryState&, RunControl&);
template BinaryFit solve_smooth<LogisticLoss>(const BinaryProblem&, const BinaryOptions&,
                                              BinaryState&, RunControl&);

}  // namespace margrove::detail
