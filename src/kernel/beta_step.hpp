#pragma once
// The weights of the product nodes for fixed classifiers [SPN, section 3.3.2].
//
//   min_{beta >= 0}  F(beta) = sum_m a_m / g_m(beta) + sum_v c_v beta_v^{p_v}
//
// with a_m = count_m ||w_m||^2 / 2 and c_v = lambda sum_{m through v} count_m exponent_mv. By the
// paper's convention a path with a_m = 0 adds nothing, whatever beta. A node all of whose paths
// have a_m = 0 has no finite minimiser in log beta; its weight is 0.
//
// With beta = e^s, F is a sum of exponentials of linear functions of s: convex for every p_v > 0,
// also where F is not convex in beta. Newton's method in s therefore finds the global minimum,
// where the paper takes projected gradients (p >= 1) and the concave-convex procedure (p < 1).

#include <span>
#include <vector>

#include "kernel/network.hpp"

namespace margrove {

struct BetaProblem {
  std::span<const NetworkPath> paths;
  std::vector<double> path_terms;  // a_m >= 0
  std::vector<double> penalties;   // c_v > 0
  std::vector<double> p;           // p_v > 0
};

/// The penalties c_v of all product nodes.
std::vector<double> node_penalties(std::span<const NetworkPath> paths, std::size_t num_products,
                                   double lambda);

/// F(beta); infinity if a path with a_m > 0 has a weight of 0.
double beta_objective(const BetaProblem& problem, std::span<const double> beta);

struct BetaResult {
  std::vector<double> beta;
  double value = 0;
  int iterations = 0;
  bool converged = false;  // false if the iteration limit ended it
};

/// Newton's method in s with an Armijo line search and a sparse Cholesky factorisation. If every
/// path has one product node, the closed form beta = (a / (p c))^{1/(p+1)}. Starts from `start`
/// where it is positive and from 1 elsewhere. Stops when the decrement is below tolerance * F.
BetaResult beta_newton(const BetaProblem& problem, std::span<const double> start,
                       double tolerance = 1e-14, int max_iterations = 200);

}  // namespace margrove
