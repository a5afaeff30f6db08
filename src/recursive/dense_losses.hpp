#pragma once
// The losses of joint Newton's method with exact directions (joint_dense.cpp): the scores of all
// rows and targets, and the derivatives of the losses by them.
//
// The hinge is smoothed: its corner becomes the parabola v^2 / (2 delta) for 0 <= v = 1 - m <=
// delta. The dual variables a are feasible for the hinge itself. The smoothed problem has the gap
// 1/2 (u - z)' K (u - z), and that of the true problem is larger by sum C_i (v - v^2 / delta) over
// the parabolas. (The squared hinge is not smoothed.)

#include <Eigen/Core>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "linear/free_intercept.hpp"
#include "numerics/row_kernels.hpp"
#include "recursive/recursive.hpp"

namespace margrove::detail {

/// Sums over rows and targets.
struct DenseLossSums {
  double smooth = 0;     // losses
  double exact = 0;      // without smoothing
  double smoothing = 0;  // part of the gap
  double slope = 0;      // of the losses along the move
  DenseLossSums& operator+=(const DenseLossSums& other);
};

/// All rows are full. Refers to the problem and the executor.
class DenseLosses {
 public:
  /// Scores are 0. Throws InvalidInput where a label is not a target, or a free intercept's column
  /// is not constant.
  DenseLosses(const AdditiveProblem& problem, const JointDualOptions& options, Executor& executor);

  /// The value of a free intercept's column, or 0.
  double free_intercept() const { return constant_; }
  /// Makes delta smaller.
  void shrink();

  /// The sums and derivatives at scores + length * moves.
  DenseLossSums linearise(float length);

  // At the place of the last linearise():

  /// vector(t) += u_t for every target t.
  void add_combinations(const std::function<Eigen::VectorXd&(std::size_t t)>& vector) const;
  /// H_t.
  Eigen::MatrixXd hessian(std::size_t t) const;
  /// The dual variables of each target if the intercept is free.
  std::span<const DualSides> sides() const { return sides_; }

  /// The moves are the scores of the weights direction(t).
  void set_moves(const std::function<const Eigen::VectorXd&(std::size_t t)>& direction);
  /// scores += length * moves.
  void move(float length);

 private:
  /// Sixteen targets. Rows of sign +1 and of none are hidden.
  struct Block {
    std::vector<Lanes> scores, moves;
    std::vector<Lanes> slopes, curvatures;
  };
  /// A row of sign +1.
  struct Positive {
    std::uint32_t row;
    float score;
    float move;
    float slope;  // derivative by the score
    float curvature;
  };

  std::size_t lanes_of(std::size_t b) const;
  DenseLossSums linearise_block(std::size_t b, float length);
  void clear_lane(Block& block, std::size_t l, DenseLossSums& values) const;
  void add_positive(Positive& positive, float length, DenseLossSums& values) const;
  void find_sides(std::size_t b, const std::vector<Lanes>& places, float length);
  Eigen::VectorXd row(std::uint32_t i) const;

  const AdditiveProblem& problem_;
  bool hinge_;
  Executor& executor_;
  CsrView X_;
  std::vector<float> costs_;
  std::vector<Block> blocks_;
  std::vector<std::vector<Positive>> positives_;  // by target
  double constant_ = 0;
  std::vector<float> norms_;      // without the free intercept
  std::vector<DualSides> sides_;  // by target, if the intercept is free
  float width_;                   // delta
};

}  // namespace margrove::detail
