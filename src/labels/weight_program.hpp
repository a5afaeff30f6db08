#pragma once
// Convex programmes for node weights on graphs.

#include <cstdint>
#include <vector>

#include "margrove/base/progress.hpp"
#include "margrove/labels/label_graph.hpp"

namespace margrove::detail {

/// min sum_n alpha_n^rho / rho  subject to  1 <= sum_{n in A(l)} alpha_n <= longest for every leaf
/// l, alpha >= 0, and alpha_child >= alpha_parent on every edge if `directional`.
struct WeightProgram {
  double rho = 2;
  double longest = 1;
  bool directional = false;
};

struct WeightSolution {
  std::vector<double> alpha;
  double kkt_residual = 0;
  std::int64_t iterations = 0;
  Stop stop = Stop::converged;
};

/// Projected Newton steps on the dual, conjugate gradients inside. alpha is the stationary point of
/// the multipliers, so that only constraints and complementarity are left to violate: their largest
/// violation is the residual.
WeightSolution solve_weight_program(const LabelGraph& graph, const WeightProgram& program,
                                    double tolerance, int max_steps, RunControl& control);

}  // namespace margrove::detail
