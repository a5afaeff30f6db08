// Hinge, one label and all rows: dual coordinate descent (dual_descent.hpp).

#include <algorithm>

#include "linear/binary_solvers.hpp"
#include "linear/dual_descent.hpp"

namespace margrove::detail {

BinaryFit solve_hinge(const BinaryProblem& problem, const BinaryOptions& options,
                      BinaryState& state, RunControl& control) {
  const SignedRows signed_rows(problem);
  state.v.assign(problem.X.num_columns(), 0.0);
  state.a.resize(problem.X.num_rows(), 0.0);
  std::vector<DualRow> rows;
  for (std::uint32_t i = 0; i < state.a.size(); ++i) {
    if (signed_rows.cost(i) <= 0) {
      state.a[i] = 0;
      continue;
    }
    rows.push_back({i, static_cast<float>(signed_rows.sign(i)), signed_rows.cost(i),
                    signed_rows.prior_score(i), state.a[i]});
  }
  DualDescent descent(problem.X, problem.tail, problem.squared_norms, false, state.v);
  descent.start(rows);
  Random random(options.seed);
  BinaryFit fit;
  const auto pass = std::max<std::int64_t>(1, static_cast<std::int64_t>(rows.size()));
  const std::int64_t max_steps = options.max_passes * pass;
  // The gap costs a pass, so it is computed only when the violations are small.
  for (double violation_tolerance = 0.1;; violation_tolerance *= 0.1) {
    const bool small =
        descent.descend(violation_tolerance, max_steps - descent.steps(), random, control);
    const DualState values = descent.evaluate();
    fit.primal = values.primal;
    fit.dual = values.dual;
    fit.passes = static_cast<int>((descent.steps() + pass - 1) / pass);
    if (fit.relative_gap() <= options.tolerance) break;
    if (small) continue;
    fit.stop = control.stop_reason() != Stop::converged ? control.stop_reason() : Stop::pass_limit;
    break;
  }
  for (const DualRow& row : rows) state.a[row.row] = row.a;
  return fit;
}

}  // namespace margrove::detail
