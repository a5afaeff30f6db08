#include "recursive/leaf_intercepts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "data/csr_operations.hpp"
#include "linear/point_loss.hpp"
#include "linear/used_columns.hpp"
#include "recursive/newton_chunks.hpp"

namespace margrove::detail {
namespace {

constexpr int kSteps = 2;
constexpr double kMaxShift = 8;  // of scores by a step, so that the quadratic model holds

}  // namespace

LeafIntercepts::LeafIntercepts(const CsrView& X, std::span<const float> costs,
                               std::span<const std::vector<std::uint32_t>> positives,
                               const LabelKernel& kernel,
                               std::optional<std::vector<double>> free_path_sums)
    : costs_(costs),
      positives_(positives),
      kernel_(kernel),
      free_path_sums_(std::move(free_path_sums)),
      constant_(is_free() ? free_intercept_column(X, "joint_newton") : constant_column(X)),
      leaves_(positives.size()) {
  if (is_free()) norms_ = norms_without(squared_norms(X), constant_);
}

std::span<LeafIntercepts::Leaf> LeafIntercepts::block(std::size_t b) {
  return std::span(leaves_).subspan(b * kLanes, std::min(leaves_.size() - b * kLanes, kLanes));
}

void LeafIntercepts::start(std::size_t t, double own, double total) {
  Leaf& leaf = leaves_[t];
  const double least = 1e-9 * total;
  leaf.one_sided = own <= least || total - own <= least;
  const double score = leaf.one_sided
                           ? (own > least ? -1 : 1) * one_sided_score(PointLossKind::logistic)
                           : std::log((own + 0.5) / (total - own + 0.5));
  leaf.value = score / constant_;
}

void LeafIntercepts::add_to_scores(std::size_t b, const Lanes& weights, std::span<Lanes> scores) {
  Lanes steps{};
  const std::span leaves = block(b);
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    // One-sided leaves stay where they are.
    leaves[l].fixed_shift = leaves[l].one_sided ? -double{weights.at[l]} : 0.0;
    steps.at[l] = static_cast<float>(constant_ * (leaves[l].value + leaves[l].fixed_shift));
  }
  add_to_all(steps, scores);
}

LaneSums LeafIntercepts::settle(std::size_t b, const BlockRows& rows, std::span<const float> z,
                                LaneSums losses, const std::function<LaneSums()>& linearise) {
  const std::span leaves = block(b);
  for (Leaf& leaf : leaves) leaf.shift = leaf.fixed_shift;
  // The loss and the regulariser of the leaf, up to a constant.
  const auto value_at = [&](std::size_t l) {
    const std::size_t t = b * kLanes + l;
    const double shift = leaves[l].shift;
    const double slope = is_free() ? 0.0 : z[t * kChunkWidth];
    return losses.at[l] + slope * shift + 0.5 * own_curvature(t) * shift * shift;
  };
  std::array<double, kLanes> best_shifts{}, best_values{};
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    best_shifts[l] = leaves[l].shift;
    best_values[l] = value_at(l);
  }
  for (int k = 0; k < kSteps; ++k) {
    add_to_all(newton_steps(b, rows, z), rows.scores);
    losses = linearise();
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      const double value = value_at(l);
      if (!(value < best_values[l])) continue;
      best_shifts[l] = leaves[l].shift;
      best_values[l] = value;
    }
  }
  Lanes back{};
  bool any = false;
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    const double step = best_shifts[l] - leaves[l].shift;
    if (step == 0) continue;
    any = true;
    leaves[l].shift = best_shifts[l];
    back.at[l] = static_cast<float>(constant_ * step);
  }
  if (!any) return losses;
  add_to_all(back, rows.scores);
  return linearise();
}

/// Shifts the leaves by a Newton step each; returns the changes of the scores.
Lanes LeafIntercepts::newton_steps(std::size_t b, const BlockRows& rows, std::span<const float> z) {
  const std::span leaves = block(b);
  Lanes steps{};
  const LaneSums slopes = sum_lanes(rows.slopes);
  const LaneSums curvatures = sum_lanes(rows.curvatures);
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    if (leaves[l].one_sided) continue;
    const std::size_t t = b * kLanes + l;
    const double curvature = own_curvature(t);
    const double slope = is_free() ? 0.0 : z[t * kChunkWidth];
    const double gradient = slope + curvature * leaves[l].shift + constant_ * slopes.at[l];
    const double newton =
        -gradient / std::max(curvature + constant_ * constant_ * curvatures.at[l], 1e-300);
    const double most = kMaxShift / std::abs(constant_);
    const double step = std::clamp(newton, -most, most);
    leaves[l].shift += step;
    steps.at[l] = static_cast<float>(constant_ * step);
  }
  return steps;
}

void LeafIntercepts::find_sides(std::size_t b, const BlockRows& rows, const LaneSums& losses) {
  const std::span leaves = block(b);
  std::array<DualSides, kLanes> sides;
  const auto positives = [&](std::size_t l) -> std::span<const std::uint32_t> {
    return positives_[b * kLanes + l];
  };
  detail::find_sides<LogisticLoss>(positives, costs_, norms_, losses, rows.scores, rows.slopes,
                                   std::span(sides).first(leaves.size()));
  for (std::size_t l = 0; l < leaves.size(); ++l) leaves[l].sides = sides[l];
}

void LeafIntercepts::set_gradient(std::size_t b, const WideLanes& gradient) {
  const std::span leaves = block(b);
  for (std::size_t l = 0; l < leaves.size(); ++l) leaves[l].u = -gradient.at[l];
}

void LeafIntercepts::move(const InterceptColumn& column, double& regulariser) {
  if (is_free()) return absorb(column, regulariser);
  std::vector<double> values(leaves_.size());
  for (std::size_t t = 0; t < values.size(); ++t) {
    const double w = join(column.w.high[t * kChunkWidth], column.w.low[t * kChunkWidth]);
    values[t] = w + leaves_[t].shift;
    regulariser -= 0.5 * column.z[t * kChunkWidth] * w;
  }
  const std::vector<double> solved = kernel_.solve_column(values);
  for (std::size_t t = 0; t < values.size(); ++t) {
    split(static_cast<float>(values[t]), column.w.high[t * kChunkWidth],
          column.w.low[t * kChunkWidth]);
    column.z[t * kChunkWidth] = static_cast<float>(solved[t]);
    regulariser += 0.5 * values[t] * solved[t];
    column.rho[t * kChunkWidth] = narrow(static_cast<float>(leaves_[t].u - solved[t]));
  }
}

void LeafIntercepts::absorb(const InterceptColumn& column, double& regulariser) {
  for (std::size_t t = 0; t < leaves_.size(); ++t) {
    const double w = join(column.w.high[t * kChunkWidth], column.w.low[t * kChunkWidth]);
    regulariser -= 0.5 * column.z[t * kChunkWidth] * w;
    leaves_[t].value += w + leaves_[t].shift;
    column.z[t * kChunkWidth] = 0.0F;
    split(0.0F, column.w.high[t * kChunkWidth], column.w.low[t * kChunkWidth]);
    column.rho[t * kChunkWidth] = narrow(static_cast<float>(leaves_[t].u));
  }
}

Balancing LeafIntercepts::balancing() const {
  Balancing sum;
  for (std::size_t t = 0; t < leaves_.size(); ++t) sum.add(leaves_[t].sides, (*free_path_sums_)[t]);
  return sum;
}

}  // namespace margrove::detail
