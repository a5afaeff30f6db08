#pragma once
// What the second-order solvers of one label share: its rows, the system of a step, and the best
// weights so far.

#include <Eigen/Cholesky>
#include <cstdint>
#include <span>
#include <vector>

#include "linear/second_order.hpp"

namespace margrove::detail {

/// y_i and C_i of the rows with C_i > 0.
class LabelRows {
 public:
  LabelRows(const BlockProblem& problem, const LaneInput& input);
  std::size_t size() const { return rows_.size(); }
  std::size_t num_columns() const { return X_.num_columns(); }
  SparseRow x(std::size_t k) const { return X_.row(rows_[k]); }
  std::uint32_t row(std::size_t k) const { return rows_[k]; }
  double sign(std::size_t k) const { return signs_[k]; }
  double cost(std::size_t k) const { return costs_[k]; }
  /// The columns whose weights are regularised: all, or all but the last one.
  std::size_t num_regularised() const { return num_columns() - (intercept_ != 0 ? 1 : 0); }
  double intercept() const { return intercept_; }  // value of the last column if it is free, or 0
  /// 1/2 |v|^2 over the regularised columns.
  double half_norm(std::span<const double> v) const;
  /// An upper bound on what making a feasible adds to the gap (free_intercept.hpp).
  /// `losses`: phi_k(a_k) - a_k m_k. O(rows).
  double balancing_gap(std::span<const double> a, std::span<const double> losses,
                       double residual) const;
  /// m_k = y_k v.x_k. O(nonzeros).
  void margins(std::span<const double> v, std::span<double> m) const;
  /// v = sum_k a_k y_k x_k. O(nonzeros).
  void combine(std::span<const double> a, std::span<double> v) const;

 private:
  CsrView X_;
  std::vector<std::uint32_t> rows_;
  std::vector<double> signs_, costs_, norms_;
  double intercept_ = 0;
};

/// (I + sum_k theta_k x_k x_k') d = r by Cholesky's method, in float64; I is 0 at a free intercept.
class CurvatureSystem {
 public:
  explicit CurvatureSystem(const LabelRows& rows);
  /// theta_k >= 0. False if the matrix is not positive definite within rounding. O(rows columns^2).
  bool factorise(std::span<const double> theta);
  /// d. O(columns^2).
  std::vector<double> solve(std::span<const double> r) const;

 private:
  const LabelRows& rows_;
  Eigen::MatrixXd H_;
  Eigen::MatrixXd block_;  // some rows, times sqrt(theta), as columns
  Eigen::LLT<Eigen::MatrixXd> factor_;
};

/// The best float32 weights of a label, and its certificate.
class BestWeights {
 public:
  BestWeights(const LabelRows& rows, const BlockProblem& problem, LaneOutput& output)
      : rows_(rows), problem_(problem), output_(output) {}
  /// Takes weights v and a dual value if they are better. Returns whether the gap is within the
  /// tolerance.
  bool offer(std::span<const double> v, double dual);
  /// Counts a system. False when the pass limit or the control ends the work; then sets the stop.
  bool may_go_on(RunControl& control);

 private:
  double objective(std::span<const double> v) const;

  const LabelRows& rows_;
  const BlockProblem& problem_;
  LaneOutput& output_;
};

void solve_interior_point(const LabelRows& rows, BestWeights& best, RunControl& control,
                          LabelDuals& duals);
template <class Loss>
void solve_dense_newton(const LabelRows& rows, BestWeights& best, RunControl& control);

}  // namespace margrove::detail
