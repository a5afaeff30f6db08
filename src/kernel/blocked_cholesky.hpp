#pragma once
// A dense Cholesky factorisation in blocks, between which a time limit or an interruption ends it.

#include <Eigen/Core>
#include <string_view>
#include <vector>

#include "margrove/control.hpp"
#include "margrove/executor.hpp"

namespace margrove {

/// The factor L of a symmetric matrix A = L L^T of n rows. Every function asks the control between
/// blocks, of which each takes O(n) operations times the square of a constant, and throws
/// OutOfTime; with the name of a stage it reports there too. The same bits for any executor. Scalar
/// is float or double.
template <class Scalar>
class BlockedCholeskyOf {
 public:
  using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
  /// The rows and columns of a block; the number of right-hand sides that are best solved together.
  static constexpr Eigen::Index kBlock = 128;

  /// Only the lower triangle of A is read. O(n^3).
  BlockedCholeskyOf(Matrix A, Executor& executor, RunControl& control, std::string_view stage = {});
  /// Whether A is positive definite in its type; otherwise there is no factor.
  bool is_definite() const { return is_definite_; }
  /// Y becomes A^-1 Y. O(n^2) for each column.
  void solve_in_place(Eigen::Ref<Matrix> Y) const;
  /// The diagonal of A^-1: the squared norms of the columns of L^-1. O(n^3).
  Eigen::ArrayXd inverse_diagonal(Executor& executor) const;
  /// The rows of L^-1 one after the other, each up to the diagonal. O(n^3).
  std::vector<float> lower_inverse(Executor& executor) const;

 private:
  /// Before the block of rows or columns that begins there.
  void ask(Eigen::Index begin) const;
  Eigen::Index end_of(Eigen::Index begin) const { return std::min(begin + kBlock, L_.rows()); }
  /// visit(first, columns) for blocks of columns of L^-1 from column `first` on, without the rows
  /// above it, which are 0.
  template <class Visit>
  void for_columns_of_inverse(Executor& executor, const Visit& visit) const;
  /// Rows below the first `skipped` ones: Y becomes L^-1 Y, of the lower right corner of L.
  void solve_lower(Eigen::Ref<Matrix> Y, Eigen::Index skipped) const;

  Matrix L_;
  RunControl& control_;
  std::string_view stage_;
  bool is_definite_ = true;
};
using BlockedCholesky = BlockedCholeskyOf<float>;

}  // namespace margrove
