#pragma once
// The softmax loss of all targets at the scores of all rows, for joint Newton's method:
//
//   sum_i C_i (log sum_l exp f_il - f_i,y(i)),   derivatives C_i (p_il - [l = y(i)]),
//
// with p_i the softmax of row i's scores. The second derivatives C_i (diag(p_i) - p_i p_i') couple
// the targets: on changes t_i of the scores they are C_i p_il (t_il - m_i), with m_i the mean of
// t_i with weights p_i.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "margrove/executor.hpp"
#include "numerics/row_kernels.hpp"

namespace margrove::detail {

/// Blocks of sixteen targets are visited twice, for the sums over the targets of a row, and then
/// for what depends on them. Several threads may add blocks at once.
class SoftmaxLoss {
 public:
  using Positives = std::function<std::span<const std::uint32_t>(std::size_t l)>;

  SoftmaxLoss(std::size_t num_rows, std::size_t num_blocks)
      : exponentials_(num_rows * num_blocks),
        totals_(num_rows),
        changes_(num_rows * num_blocks),
        means_(num_rows) {}
  static double num_bytes(double num_rows, double num_blocks) {
    return (sizeof(ScoreSum) + sizeof(WeightedSum)) * num_rows * (num_blocks + 1);
  }

  /// The scores of block b, of which the first num_lanes are of targets.
  void add_scores(std::size_t b, std::size_t num_lanes, std::span<Lanes> scores);
  /// After all blocks.
  void sum_up(Executor& executor);
  /// Writes the first derivatives of a block at its scores, and the diagonal of the second ones,
  /// which for a row's own target is that of a parabola above the loss where p_il < 1/2.
  /// positives(l): the rows of its target l. Returns the losses of these rows.
  LaneSums linearise(std::size_t num_lanes, const Positives& positives,
                     std::span<const float> costs, std::span<Lanes> scores, std::span<Lanes> slopes,
                     std::span<Lanes> curvatures) const;
  /// Turns these first derivatives into the weights C_i p_il of the second ones; those of a row's
  /// own target are larger where its p_il is small, as its curvature is.
  static void to_weights(std::size_t num_lanes, const Positives& positives,
                         std::span<const float> costs, std::span<const Lanes> curvatures,
                         std::span<Lanes> slopes);

  /// Changes of the scores of block b with their weights.
  void add_changes(std::size_t b, std::span<const Lanes> changes, std::span<const Lanes> weights);
  /// After all blocks: sets the means.
  void average(Executor& executor);
  std::span<const float> means() const { return means_; }

 private:
  std::vector<ScoreSum> exponentials_;  // block, row
  std::vector<ScoreSum> totals_;        // of each row
  std::vector<WeightedSum> changes_;    // block, row
  std::vector<float> means_;            // m_i
};

}  // namespace margrove::detail
