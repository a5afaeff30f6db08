#pragma once
// The losses of a block of labels at the scores of all rows.

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "linear/point_loss.hpp"
#include "numerics/row_kernels.hpp"

namespace margrove::detail {

/// A score at which rows of sign -1 have neither loss nor derivatives in float32.
inline constexpr float kNoLossScore = -1000.0F;

/// Returns each lane's loss and writes its derivatives by the scores. Lane l < num_lanes has sign
/// +1 at the rows positives(l) and -1 at all others; further lanes have sign -1 everywhere.
/// curvature(score, cost) is the second derivative of a row of sign +1. `scores` are unchanged in
/// the end.
template <class Loss, class Positives, class Curvature>
LaneSums linearise_block(std::size_t num_lanes, const Positives& positives,
                         std::span<const float> costs, const Curvature& curvature,
                         std::span<Lanes> scores, std::span<Lanes> slopes,
                         std::span<Lanes> curvatures) {
  std::vector<float> own;  // scores of rows of sign +1: they are counted one by one
  for (std::size_t l = 0; l < num_lanes; ++l) {
    for (const std::uint32_t i : positives(l)) {
      own.push_back(std::exchange(scores[i].at[l], kNoLossScore));
    }
  }
  LaneSums losses;
  if constexpr (std::is_same_v<Loss, LogisticLoss>) {
    losses = linearise_logistic(scores, costs, slopes, curvatures);
  } else {
    static_assert(std::is_same_v<Loss, SquaredHingeLoss>);
    losses = linearise_squared_hinge(scores, costs, slopes, curvatures);
  }
  std::size_t k = 0;
  for (std::size_t l = 0; l < num_lanes; ++l) {
    for (const std::uint32_t i : positives(l)) {
      const double f = scores[i].at[l] = own[k++];
      const double cost = costs[i];
      losses.at[l] += cost * Loss::value(f);
      slopes[i].at[l] = static_cast<float>(cost * Loss::derivative(f));
      curvatures[i].at[l] = static_cast<float>(curvature(f, cost));
    }
  }
  return losses;
}

}  // namespace margrove::detail
