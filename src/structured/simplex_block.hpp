#pragma once
// One block of the dual of a structured SVM: the few labellings of one example that are in play.
//
//   maximise  c·d - d'Qd / 2   over  a + d >= 0,  sum(a + d) <= budget,
//
// a: their dual variables; the rest of the budget belongs to the true labelling, whose row of Q and
// entry of c are 0. c_y = slope_y m(y) + offset_y is the surrogate's value at y under the present
// weights, Q_yz = slope_y slope_z <difference_y, difference_z>.

#include <span>
#include <vector>

namespace margrove {

struct SimplexBlock {
  double budget = 0.0;
  double rest = 0.0;           // the true labelling's dual variable: budget - sum of duals
  std::vector<double> duals;   // a
  std::vector<double> values;  // c, kept at c - Qd
  std::vector<double> Q;       // size x size

  std::size_t size() const { return duals.size(); }
  /// budget max(c, 0) - a·c >= 0: what the block is short of its optimum, at most.
  double gap() const;
};

/// Moves weight between two labellings at a time, from the lowest value that has any to the highest
/// (pairwise Frank-Wolfe), each by exact line search, until the two differ by at most `tolerance`
/// times what they did at first or max_steps steps are made. Returns by how much the dual rose.
double pairwise_steps(SimplexBlock& block, double tolerance, int max_steps);

/// One step towards the corner of the highest value, by exact line search (BCFW, Algorithm 3, lines
/// 4-7). Returns by how much the dual objective rose.
double frank_wolfe_step(SimplexBlock& block);

}  // namespace margrove
