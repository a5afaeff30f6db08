#pragma once
// Convex programmes for node weights on graphs.

#include <cstdint>
#include <optional>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/label_graph.hpp"

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

/// Solves it by an interior-point method, or by Newton steps on the dual if that needs too much
/// memory or does not reach the tolerance. The residual is the largest violation of a condition of
/// optimality by alpha and the multipliers; path sums are off by no more.
WeightSolution solve_weight_program(const LabelGraph& graph, const WeightProgram& program,
                                    double tolerance, int max_steps, RunControl& control);

/// Takes some dozens of steps, each with a sparse factorisation. Empty if the graph has no inner
/// node or the factors would be too large.
std::optional<WeightSolution> solve_by_interior_points(const LabelGraph& graph,
                                                       const WeightProgram& program,
                                                       double tolerance, int max_steps,
                                                       RunControl& control);

/// Projected Newton steps on the dual, conjugate gradients inside, in memory O(nodes + edges) plus
/// the lists of a PathOperator. alpha is the stationary point of the multipliers, so that only
/// constraints and complementarity can be violated.
WeightSolution solve_by_dual_newton(const LabelGraph& graph, const WeightProgram& program,
                                    double tolerance, int max_steps, RunControl& control);

}  // namespace margrove::detail
