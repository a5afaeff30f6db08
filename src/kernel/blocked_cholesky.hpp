#pragma once
// A dense Cholesky factorisation in blocks, between which a time limit or an interruption ends it.

#include <Eigen/Core>

#include "margrove/control.hpp"
#include "margrove/executor.hpp"

namespace margrove {

/// The factor L of a symmetric matrix A = L L^T of n rows. Every function asks the control between
/// blocks, of which each takes O(n) operations times the square of a constant, and throws
/// OutOfTime. The same bits for any executor.
class BlockedCholesky {
 public:
  /// The rows and columns of a block; the number of right-hand sides that are best solved together.
  static constexpr Eigen::Index kBlock = 128;

  /// Only the lower triangle of A is read. O(n^3).
  BlockedCholesky(Eigen::MatrixXf A, Executor& executor, RunControl& control);
  /// Whether A is positive definite in float32; otherwise there is no factor.
  bool is_definite() const { return is_definite_; }
  /// Y becomes A^-1 Y. O(n^2) for each column.
  void solve_in_place(Eigen::Ref<Eigen::MatrixXf> Y) const;
  /// The diagonal of A^-1: the squared norms of the columns of L^-1. O(n^3).
  Eigen::ArrayXd inverse_diagonal(Executor& executor) const;

 private:
  Eigen::Index end_of(Eigen::Index begin) const { return std::min(begin + kBlock, L_.rows()); }
  /// Rows below the first `skipped` ones: Y becomes L^-1 Y, of the lower right corner of L.
  void solve_lower(Eigen::Ref<Eigen::MatrixXf> Y, Eigen::Index skipped) const;

  Eigen::MatrixXf L_;
  RunControl& control_;
  bool is_definite_ = true;
};

}  // namespace margrove
