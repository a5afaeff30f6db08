#pragma once
// Reference implementations of the weight steps in the paper (SPN, section 3.3.2).

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "kernel/beta_step.hpp"

namespace margrove::testing_kernel {

/// 1 at nodes on some path with a_m > 0, 0 at other nodes.
inline std::vector<double> first_beta(const BetaProblem& problem) {
  std::vector<double> beta(problem.p.size(), 0.0);
  for (std::size_t m = 0; m < problem.paths.size(); ++m) {
    if (problem.path_terms[m] <= 0) continue;
    for (const auto& factor : problem.paths[m].factors) beta[factor.product] = 1.0;
  }
  return beta;
}

/// dF/dbeta.
inline std::vector<double> gradient_in_beta(const BetaProblem& problem,
                                            std::span<const double> beta) {
  std::vector<double> gradient(beta.size(), 0.0);
  for (std::size_t m = 0; m < problem.paths.size(); ++m) {
    if (problem.path_terms[m] <= 0) continue;
    const double term = problem.path_terms[m] / path_weight(problem.paths[m], beta);
    for (const auto& factor : problem.paths[m].factors) {
      gradient[factor.product] -= factor.exponent * term / beta[factor.product];
    }
  }
  for (std::size_t v = 0; v < beta.size(); ++v) {
    if (beta[v] > 0) {
      gradient[v] += problem.penalties[v] * problem.p[v] * std::pow(beta[v], problem.p[v] - 1);
    }
  }
  return gradient;
}

/// Equation (10): projected gradient in beta from `start`, with an Armijo line search whose first
/// steps are spectral. Stops when F changes by less than tolerance * F over ten steps. The result
/// is a local minimum unless all p >= 1.
inline BetaResult beta_projected_gradient(const BetaProblem& problem, std::vector<double> start) {
  constexpr double kArmijo = 1e-4;
  constexpr double tolerance = 1e-13;
  constexpr int max_iterations = 100'000;
  BetaResult result;
  result.beta = std::move(start);
  auto& beta = result.beta;
  const std::size_t size = beta.size();
  double value = beta_objective(problem, beta);
  double reference_value = value;
  auto gradient = gradient_in_beta(problem, beta);
  double first_step = 1e-3;
  std::vector<double> trial(size);
  while (result.iterations < max_iterations) {
    ++result.iterations;
    double step = first_step;
    double trial_value = std::numeric_limits<double>::infinity();
    for (; step > 1e-300; step /= 2) {
      double slope = 0;
      for (std::size_t v = 0; v < size; ++v) {  // [beta - step gradient]_+
        trial[v] = beta[v] > 0 ? std::max(0.0, beta[v] - step * gradient[v]) : 0.0;
        slope += gradient[v] * (trial[v] - beta[v]);
      }
      trial_value = beta_objective(problem, trial);
      if (trial_value <= value + kArmijo * slope) break;
    }
    if (!(trial_value < value)) {
      result.converged = true;
      break;
    }
    const auto trial_gradient = gradient_in_beta(problem, trial);
    double moved = 0;
    double curvature = 0;
    for (std::size_t v = 0; v < size; ++v) {
      const double change = trial[v] - beta[v];
      moved += change * change;
      curvature += change * (trial_gradient[v] - gradient[v]);
    }
    first_step = curvature > 0 ? moved / curvature : 2 * step;
    beta = trial;
    gradient = trial_gradient;
    value = trial_value;
    if (result.iterations % 10 == 0) {
      if (reference_value - value <= tolerance * value) {
        result.converged = true;
        break;
      }
      reference_value = value;
    }
  }
  result.value = value;
  return result;
}

inline BetaResult beta_projected_gradient(const BetaProblem& problem) {
  return beta_projected_gradient(problem, first_beta(problem));
}

/// Equation (11): replaces the penalties with p < 1 by their tangents and takes projected gradient
/// steps, alternately.
inline BetaResult beta_cccp(const BetaProblem& problem) {
  constexpr double tolerance = 1e-12;
  constexpr int max_iterations = 1'000;
  BetaResult result;
  result.beta = first_beta(problem);
  result.value = beta_objective(problem, result.beta);
  while (result.iterations < max_iterations) {
    ++result.iterations;
    BetaProblem convex = problem;
    for (std::size_t v = 0; v < convex.p.size(); ++v) {
      if (convex.p[v] >= 1 || result.beta[v] <= 0) continue;
      // tangent of c beta^p at the current beta
      convex.penalties[v] *= convex.p[v] * std::pow(result.beta[v], convex.p[v] - 1);
      convex.p[v] = 1;
    }
    result.beta = beta_projected_gradient(convex, result.beta).beta;
    const double value = beta_objective(problem, result.beta);
    const bool settled = result.value - value <= tolerance * value;
    result.value = value;
    if (settled) {
      result.converged = true;
      break;
    }
  }
  return result;
}

}  // namespace margrove::testing_kernel
