#pragma once
// One label on few columns of any scale, by systems with one unknown per column. Coordinate descent
// and conjugate gradients need few passes where all columns have about the same scale, and very
// many where they do not; Cholesky's method does not depend on the scales.
//
//   primal   min_v  1/2 |v|^2 + sum_i C_i loss(y_i v.x_i)
//
// Hinge: interior_point.cpp. Squared hinge and logistic: dense_newton.cpp.

#include <cstddef>
#include <span>

#include "linear/block_solvers.hpp"

namespace margrove::detail {

/// The number of passes of the first-order solvers after which second-order steps continue with a
/// label that is not done. By then the passes have taken about as long as second-order steps will,
/// so that the total time is at most twice that of the better method. Depends on the shape of X
/// only. 0: never.
int passes_before_second_order(std::size_t num_rows, std::size_t num_used_columns,
                               std::size_t num_nonzeros, int max_passes);

/// Bytes of the solvers of one label.
double second_order_bytes(std::size_t num_rows, std::size_t num_columns);

/// Improves `output`, which another solver has left above the tolerance: keeps the weights of the
/// lower objective and the larger dual value. The passes of both count, one for each system. Ends
/// when rounding does not let the gap shrink.
void solve_second_order(const BlockProblem& problem, const LaneInput& input, RunControl& control,
                        LaneOutput& output);

}  // namespace margrove::detail
