#pragma once
// One block of the dual of a structured SVM: the labellings in the active set of one example.
//
//   maximise  c·d - d'Qd / 2   over  a + d >= 0,  sum(a + d) <= budget,
//
// where a are their present dual variables and d is the step. The rest of the budget belongs to the
// true labelling, whose row of Q and entry of c are 0. c_y = slope_y <w, difference_y> + offset_y
// is the value of the surrogate at y under the present weights, and Q_yz = slope_y slope_z
// <difference_y, difference_z>.

#include <span>
#include <vector>

namespace margrove {

struct SimplexBlock {
  double budget = 0.0;
  double rest = 0.0;           // dual variable of the true labelling: budget - sum of duals
  std::vector<double> duals;   // a
  std::vector<double> values;  // c, kept at c - Qd
  std::vector<double> Q;       // size x size

  std::size_t size() const { return duals.size(); }
  /// budget max(c, 0) - a·c >= 0, a bound on how far the block is from its optimum.
  double gap() const;
};

/// Moves weight from the labelling with the lowest value, of those that have weight, to the one
/// with the highest value (pairwise Frank-Wolfe), each time by exact line search. Ends after
/// max_steps steps, or when the two values differ by less than `tolerance` times their first
/// difference. Returns the increase of the dual.
double pairwise_steps(SimplexBlock& block, double tolerance, int max_steps);

/// One step towards the corner of the highest value, by exact line search (lines 4 to 7 in
/// structured/bcfw.hpp). Returns the increase of the dual.
double frank_wolfe_step(SimplexBlock& block);

}  // namespace margrove
