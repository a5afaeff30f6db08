#include "kernel/beta_step.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "margrove/errors.hpp"
#include "numerics/sparse_cholesky.hpp"

namespace margrove {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kArmijo = 1e-4;

void check(const BetaProblem& problem, std::span<const double> start) {
  require(problem.path_terms.size() == problem.paths.size(),
          "beta step: ", problem.path_terms.size(), " path terms, but must be ",
          problem.paths.size());
  require(problem.p.size() == problem.penalties.size(), "beta step: ", problem.p.size(),
          " exponents p, but must be ", problem.penalties.size());
  require(start.empty() || start.size() == problem.p.size(), "beta step: start has ", start.size(),
          " values, but must have ", problem.p.size());
  for (std::size_t m = 0; m < problem.path_terms.size(); ++m) {
    require(problem.path_terms[m] >= 0 && std::isfinite(problem.path_terms[m]),
            "beta step: path term ", m, " is ", problem.path_terms[m], ", but must be >= 0");
  }
  for (std::size_t v = 0; v < problem.p.size(); ++v) {
    require(problem.p[v] > 0, "beta step: p[", v, "] is ", problem.p[v], ", but must be > 0");
    require(problem.penalties[v] > 0, "beta step: penalty ", v, " is ", problem.penalties[v],
            ", but must be > 0");
  }
}

/// Nodes on some path with a_m > 0: the others get weight 0.
std::vector<bool> alive_nodes(const BetaProblem& problem) {
  std::vector<bool> alive(problem.p.size(), false);
  for (std::size_t m = 0; m < problem.paths.size(); ++m) {
    if (problem.path_terms[m] <= 0) continue;
    for (const auto& factor : problem.paths[m].factors) alive[factor.product] = true;
  }
  return alive;
}

std::vector<double> first_beta(const BetaProblem& problem, const std::vector<bool>& alive,
                               std::span<const double> start) {
  std::vector<double> beta(problem.p.size(), 0.0);
  for (std::size_t v = 0; v < beta.size(); ++v) {
    if (alive[v]) beta[v] = start.empty() || start[v] <= 0 ? 1.0 : start[v];
  }
  return beta;
}

/// F, its gradient and Hessian in s = log beta over the nodes with positive weight.
class LogObjective {
 public:
  explicit LogObjective(const BetaProblem& problem, const std::vector<bool>& alive)
      : problem_(problem), position_(alive.size(), 0) {
    for (std::size_t v = 0; v < alive.size(); ++v) {
      if (!alive[v]) continue;
      position_[v] = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(v);
    }
    for (std::size_t m = 0; m < problem.paths.size(); ++m) {
      if (problem.path_terms[m] > 0) paths_.push_back({m, std::log(problem.path_terms[m])});
    }
  }

  std::span<const std::size_t> nodes() const { return nodes_; }

  double value(const Eigen::VectorXd& s) const {
    double sum = 0;
    for (const auto& path : paths_) sum += term(path, s);
    for (std::size_t k = 0; k < nodes_.size(); ++k) sum += penalty(k, s);
    return sum;
  }

  void derivatives(const Eigen::VectorXd& s, Eigen::VectorXd& gradient,
                   std::vector<detail::SymmetricEntry>& hessian) const {
    gradient.setZero(s.size());
    hessian.clear();
    for (const auto& path : paths_) {
      const double value = term(path, s);
      const auto& factors = problem_.paths[path.index].factors;
      for (const auto& a : factors) {
        gradient[position_[a.product]] -= a.exponent * value;
        for (const auto& b : factors) {
          hessian.push_back(
              {position_[a.product], position_[b.product], a.exponent * b.exponent * value});
        }
      }
    }
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      const double value = penalty(k, s);
      const double p = problem_.p[nodes_[k]];
      gradient[static_cast<int>(k)] += p * value;
      hessian.push_back(
          {static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(k), p * p * value});
    }
  }

 private:
  struct Path {
    std::size_t index;
    double log_term;
  };
  double term(const Path& path, const Eigen::VectorXd& s) const {  // a_m / g_m
    double exponent = path.log_term;
    for (const auto& factor : problem_.paths[path.index].factors) {
      exponent -= factor.exponent * s[position_[factor.product]];
    }
    return std::exp(exponent);
  }
  double penalty(std::size_t k, const Eigen::VectorXd& s) const {  // c_v beta_v^p
    const std::size_t v = nodes_[k];
    return problem_.penalties[v] * std::exp(problem_.p[v] * s[static_cast<int>(k)]);
  }

  const BetaProblem& problem_;
  std::vector<std::uint32_t> position_;
  std::vector<std::size_t> nodes_;
  std::vector<Path> paths_;
};

/// One step of Newton's method with an Armijo line search. Far from the minimum the curvatures of
/// the exponentials may differ by more than double precision allows. Then a multiple of the
/// identity is added, so that steps first follow the steep directions.
class NewtonStep {
 public:
  enum class Outcome { moved, at_minimum, failed };

  Outcome take(const LogObjective& objective, Eigen::VectorXd& s, double& value, double tolerance) {
    objective.derivatives(s, gradient_, hessian_);
    Eigen::VectorXd diagonal = Eigen::VectorXd::Zero(s.size());
    for (const auto& entry : hessian_) {
      if (entry.row == entry.column) diagonal[entry.row] += entry.value;
    }
    const double steepest = diagonal.maxCoeff();
    for (double damping = 0; damping <= steepest;
         damping = damping == 0 ? kLeastDamping * steepest : 100 * damping) {
      if (!solve(damping)) continue;
      const double slope = gradient_.dot(direction_);  // minus the squared Newton decrement
      if (!(slope <= 0)) continue;
      if (-slope <= tolerance * value) return Outcome::at_minimum;
      for (double step = 1.0; step > kShortestStep; step /= 2) {
        const double trial = objective.value(s + step * direction_);
        if (!(trial <= value + kArmijo * step * slope)) continue;
        if (!(trial < value)) return Outcome::at_minimum;  // no progress beyond rounding
        s += step * direction_;
        value = trial;
        return Outcome::moved;
      }
    }
    return gradient_.cwiseAbs().maxCoeff() <= kRoundingSlope * value ? Outcome::at_minimum
                                                                     : Outcome::failed;
  }

 private:
  static constexpr double kLeastDamping = 1e-12;  // of the largest curvature
  static constexpr double kShortestStep = 1e-9;
  static constexpr double kRoundingSlope = 1e-6;  // then the error of the value is of second order

  bool solve(double damping) {
    auto damped = hessian_;
    const auto size = static_cast<std::uint32_t>(gradient_.size());
    for (std::uint32_t k = 0; k < size && damping > 0; ++k) damped.push_back({k, k, damping});
    const auto factor = detail::factorise(size, damped, kUnbounded);
    if (!factor) return false;
    direction_ = -gradient_;
    factor->solve({direction_.data(), size});
    return direction_.allFinite();
  }

  Eigen::VectorXd gradient_, direction_;
  std::vector<detail::SymmetricEntry> hessian_;
};

bool separable(const BetaProblem& problem) {
  return std::all_of(problem.paths.begin(), problem.paths.end(),
                     [](const NetworkPath& path) { return path.factors.size() == 1; });
}

BetaResult separable_minimum(const BetaProblem& problem) {
  BetaResult result;
  std::vector<double> terms(problem.p.size(), 0.0);
  for (std::size_t m = 0; m < problem.paths.size(); ++m) {
    terms[problem.paths[m].factors[0].product] += problem.path_terms[m];
  }
  result.beta.resize(terms.size());
  for (std::size_t v = 0; v < terms.size(); ++v) {
    const double p = problem.p[v];
    result.beta[v] = std::pow(terms[v] / (p * problem.penalties[v]), 1 / (p + 1));
  }
  result.converged = true;
  result.value = beta_objective(problem, result.beta);
  return result;
}

}  // namespace

std::vector<double> node_penalties(std::span<const NetworkPath> paths, std::size_t num_products,
                                   double lambda) {
  std::vector<double> penalties(num_products, 0.0);
  for (const auto& path : paths) {
    for (const auto& factor : path.factors) {
      penalties[factor.product] += lambda * path.count * factor.exponent;
    }
  }
  return penalties;
}

double beta_objective(const BetaProblem& problem, std::span<const double> beta) {
  double sum = 0;
  for (std::size_t m = 0; m < problem.paths.size(); ++m) {
    if (problem.path_terms[m] <= 0) continue;
    const double weight = path_weight(problem.paths[m], beta);
    if (weight <= 0) return kUnbounded;
    sum += problem.path_terms[m] / weight;
  }
  for (std::size_t v = 0; v < beta.size(); ++v) {
    if (beta[v] > 0) sum += problem.penalties[v] * std::pow(beta[v], problem.p[v]);
  }
  return sum;
}

BetaResult beta_newton(const BetaProblem& problem, std::span<const double> start, double tolerance,
                       int max_iterations) {
  check(problem, start);
  if (separable(problem)) return separable_minimum(problem);
  const auto alive = alive_nodes(problem);
  const LogObjective objective(problem, alive);
  const auto nodes = objective.nodes();
  const auto size = static_cast<int>(nodes.size());
  BetaResult result;
  result.beta = first_beta(problem, alive, start);
  Eigen::VectorXd s(size);
  for (int k = 0; k < size; ++k) s[k] = std::log(result.beta[nodes[k]]);
  NewtonStep newton;
  double value = objective.value(s);
  while (size > 0 && result.iterations < max_iterations) {
    ++result.iterations;
    const auto outcome = newton.take(objective, s, value, tolerance);
    if (outcome == NewtonStep::Outcome::moved) continue;
    result.converged = outcome == NewtonStep::Outcome::at_minimum;
    break;
  }
  if (size == 0) result.converged = true;
  for (int k = 0; k < size; ++k) result.beta[nodes[k]] = std::exp(s[k]);
  result.value = beta_objective(problem, result.beta);
  return result;
}

}  // namespace margrove
