#pragma once
// All leaves of a tree at once by Newton's method with exact directions, for few, full columns.

#include "recursive/recursive.hpp"

namespace margrove::detail {

/// Whether train_joint_dense() may be called: the graph is a forest, the targets are leaves with a
/// weight of their own, and the columns are few and full.
bool suits_joint_dense(const AdditiveProblem& problem);

/// Hinge or squared hinge, certified as train_joint_dual(). Rounding of the float32 scores can end
/// it above a tight tolerance, which the gap shows. The seed has no effect. Memory: 16 bytes per
/// row and target, 8 per node and pair of columns. O(rows targets columns + curved rows columns^2 +
/// nodes columns^3) per step.
RecursiveFit train_joint_dense(const AdditiveProblem& problem, const JointDualOptions& options,
                               Executor& executor, RunControl& control);

}  // namespace margrove::detail
