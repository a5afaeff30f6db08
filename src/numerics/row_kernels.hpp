#pragma once
// Sixteen labels at once: for every feature or row the values of sixteen labels ("lanes") fill one
// cache line, so that scoring a sparse row for all of them takes little longer than for one.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "margrove/csr_matrix.hpp"

namespace margrove::detail {

inline constexpr std::size_t kLanes = 16;
struct alignas(64) Lanes {
  float at[kLanes];
};

/// The number of last columns that every row has, as those of a block of vectors do; 0 if they are
/// few. Kernels that get it as `tail` read no column numbers there, with the same result as for 0.
/// O(rows log columns).
std::uint32_t dense_tail(const CsrView& X);

// scores[i] = sum_j x_ij W[j]
void score_rows(const CsrView& X, std::uint32_t tail, std::span<const Lanes> W,
                std::span<Lanes> scores);

/// One float64 number per lane.
struct LaneSums {
  double at[kLanes] = {};
};
/// Returns sum_i l(f_i), the loss if every row had sign -1: l(f) = C_i max(0, 1 + f)^2 or
/// C_i log(1 + exp(f)). Writes the first two derivatives: slopes[i] = l'(f_i), curvatures[i] =
/// l''(f_i), to 1e-6 relative.
LaneSums linearise_squared_hinge(std::span<const Lanes> scores, std::span<const float> costs,
                                 std::span<Lanes> slopes, std::span<Lanes> curvatures);
LaneSums linearise_logistic(std::span<const Lanes> scores, std::span<const float> costs,
                            std::span<Lanes> slopes, std::span<Lanes> curvatures);

/// The largest of some scores, and the sum of exp(score - largest) over them.
struct ScoreSum {
  float largest = 0, sum = 0;
};
/// Of each row's sixteen scores, to 1e-6 relative.
void sum_exponentials(std::span<const Lanes> scores, std::span<ScoreSum> sums);
/// With p_i = exp(scores[i] - totals[i].largest) / totals[i].sum: slopes[i] = C_i p_i and
/// curvatures[i] = C_i p_i (1 - p_i).
void linearise_softmax(std::span<const Lanes> scores, std::span<const float> costs,
                       std::span<const ScoreSum> totals, std::span<Lanes> slopes,
                       std::span<Lanes> curvatures);

/// A weighted sum of scores, and the sum of the weights.
struct WeightedSum {
  float sum = 0, weight = 0;
};
/// Of each row's sixteen scores.
void weighted_sums(std::span<const Lanes> scores, std::span<const Lanes> weights,
                   std::span<WeightedSum> sums);

struct alignas(128) WideLanes {  // as the vectors that it is read as
  double at[kLanes];
};
// gradient[j] += sum_i x_ij slopes[i], diagonal[j] += sum_i x_ij^2 curvatures[i]
void add_gradient(const CsrView& X, std::uint32_t tail, std::span<const Lanes> slopes,
                  std::span<const Lanes> curvatures, std::span<WideLanes> gradient,
                  std::span<Lanes> diagonal);

/// Conjugate gradients on (I + X' D X) s = r for sixteen labels, preconditioned by the diagonal.
struct BatchedNewtonSystem {
  std::vector<Lanes> direction;  // p, by feature
  std::vector<Lanes> product;    // X' D X p
  std::vector<Lanes> residual;   // r
  std::vector<Lanes> solution;   // s
  std::vector<Lanes> diagonal;   // of I + X' D X
};
// product += X' D (X p - means); returns p' X' D (X p - means). means: one for each row, or empty
// for none.
LaneSums multiply_curvature(const CsrView& X, std::uint32_t tail, std::span<const Lanes> curvatures,
                            std::span<const float> means, BatchedNewtonSystem& system);
// s += length p, r -= length (p + product), product = 0; returns r' diagonal^-1 r
LaneSums step_along(const Lanes& lengths, BatchedNewtonSystem& system);
// p = diagonal^-1 r + factor p; returns p'p
LaneSums update_direction(const Lanes& factors, BatchedNewtonSystem& system);

// gradient += W; returns |gradient|^2
LaneSums add_weights(std::span<const Lanes> W, std::span<WideLanes> gradient);
// result = W + length s; returns |result|^2
LaneSums move_along(std::span<const Lanes> W, const Lanes& lengths,
                    const BatchedNewtonSystem& system, std::span<Lanes> result);
LaneSums squared_norms(std::span<const Lanes> W);
// returns gradient' s
LaneSums slope_along(std::span<const WideLanes> gradient, const BatchedNewtonSystem& system);

// H += sum over `rows` of weights[k] x x', lower triangle; X has `num_columns` full columns
void add_outer_products(std::span<const float> X, std::size_t num_columns,
                        std::span<const std::uint32_t> rows, std::span<const float> weights,
                        std::span<float> H);

/// Rows and their scores.
struct RowScores {
  std::vector<std::uint32_t> rows;
  std::vector<Lanes> scores;
};
// Those of `rows` whose score, as score_rows() computes it, is above thresholds[lane] for some
// lane. The others are not written anywhere, so that a pass costs little beyond reading the rows.
void score_rows_above(const CsrView& X, std::uint32_t tail, std::span<const Lanes> W,
                      std::span<const std::uint32_t> rows, const Lanes& thresholds,
                      RowScores& above);

}  // namespace margrove::detail
