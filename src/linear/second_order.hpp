#pragma once
// One label on few columns of any scale, by systems as large as there are columns. Coordinate
// descent and conjugate gradients take few passes where columns have about one scale, and crawl
// where they do not; a Cholesky factor does not notice.
//
//   primal   min_v  1/2 |v|^2 + sum_i C_i loss(y_i (s_i + v.x_i))
//
// Hinge: interior_point.cpp. Squared hinge and logistic: dense_newton.cpp.

#include <cstddef>
#include <span>

#include "linear/block_solvers.hpp"

namespace margrove::detail {

/// After how many passes of the first-order solvers a label that is not done is handed over, if
/// it can be; by then they have taken about as long as second-order steps will, so that the choice
/// costs at most twice the better one. Depends on the shape of X only. 0: never.
int passes_before_second_order(std::size_t num_rows, std::size_t num_used_columns,
                               std::size_t num_nonzeros, int max_passes);

/// Bytes of the solvers of one label.
double second_order_bytes(std::size_t num_rows, std::size_t num_columns);

/// Improves on `output`, which another solver has left above the tolerance: the weights of the
/// lower objective and the larger dual value stay. `prior_scores`: s_i by lane; empty: 0. The
/// passes of both count, one for each system. Ends when rounding does not let the gap shrink.
void solve_second_order(const BlockProblem& problem, const LaneInput& input,
                        std::span<const Lanes> prior_scores, std::size_t lane, RunControl& control,
                        LaneOutput& output);

}  // namespace margrove::detail
