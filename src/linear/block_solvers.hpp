#pragma once
// The solvers that train up to sixteen labels together.

#include <cstdint>
#include <span>
#include <vector>

#include "linear/compact_rows.hpp"
#include "linear/one_vs_rest.hpp"
#include "linear/point_loss.hpp"
#include "margrove/control.hpp"
#include "numerics/row_kernels.hpp"

namespace margrove::detail {

/// What all blocks share.
struct BlockProblem {
  CsrView X;
  std::uint32_t tail = 0;  // dense_tail(X)
  std::span<const double> squared_norms;
  std::span<const float> costs;  // C_i
  double total_cost = 0;         // their sum
  PointLossKind loss = PointLossKind::hinge;
  double tolerance = 1e-3;
  int max_passes = 1000;
  std::uint64_t seed = 0;
  /// The value of the last column if it is the same in all rows and the weights start from zero,
  /// otherwise 0.
  double constant_column = 0;
  /// The value of the last column, the same in all rows, if its weights are not regularised;
  /// otherwise 0.
  double free_intercept = 0;
  /// Logistic loss: small weights for which the tolerance leaves room are zero.
  bool drops_small_weights = false;
};

/// One label of a block.
struct LaneInput {
  std::uint32_t label = 0;
  std::span<const std::uint32_t> positives;
  const LabelDuals* start_duals = nullptr;
};
using LaneOutput = LabelFit;

/// Reused from block to block by one worker.
struct BlockScratch {
  std::vector<Lanes> weights;  // by feature
  std::vector<Lanes> scores;   // by row
  RowScores above;             // for the working sets
  CompactRows compact;
  std::vector<double> v;               // one label's weights, by compact column
  std::vector<std::uint16_t> members;  // bit l of entry i: row i is in lane l's working set
};

/// Hinge and squared hinge: working sets (working_set.cpp).
void solve_working_sets(const BlockProblem& problem, std::span<const LaneInput> inputs,
                        BlockScratch& scratch, RunControl& control, std::span<LaneOutput> outputs);
/// Squared hinge and logistic: Newton steps, starting from scratch.weights (newton_block.cpp). The
/// duals of squared hinge are those of the certificate.
void solve_newton(const BlockProblem& problem, std::span<const LaneInput> inputs,
                  BlockScratch& scratch, RunControl& control, std::span<LaneOutput> outputs);

}  // namespace margrove::detail
