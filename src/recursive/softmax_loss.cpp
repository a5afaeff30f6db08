#include "recursive/softmax_loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace margrove::detail {
namespace {

/// Lanes without a target have no part in the sums.
void hide_padding(std::size_t num_lanes, std::span<Lanes> scores) {
  if (num_lanes == kLanes) return;
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  for (Lanes& row : scores) std::fill(row.at + num_lanes, row.at + kLanes, kLowest);
}

/// p (1 - p) at p = exp(-loss), but where p < 1/2, tanh(m/2) / (2m) at the log odds m, the
/// curvature of a parabola above the logistic loss: the second derivative is next to nothing there.
double own_curvature(double loss) {
  const double p = std::exp(-loss);
  if (p > 0.49) return p * (1 - p);
  const double m = loss < 30 ? std::log(std::expm1(loss)) : loss;
  return std::tanh(0.5 * m) / (2 * m);
}

template <class Task>
void for_rows(std::size_t num_rows, Executor& executor, const Task& task) {
  constexpr std::size_t kGrain = 1024;
  executor.for_each((num_rows + kGrain - 1) / kGrain, [&](std::size_t part, int) {
    const std::size_t end = std::min(num_rows, (part + 1) * kGrain);
    for (std::size_t i = part * kGrain; i < end; ++i) task(i);
  });
}

}  // namespace

void SoftmaxLoss::add_scores(std::size_t b, std::size_t num_lanes, std::span<Lanes> scores) {
  hide_padding(num_lanes, scores);
  sum_exponentials(scores, std::span(exponentials_).subspan(b * totals_.size(), totals_.size()));
}

void SoftmaxLoss::sum_up(Executor& executor) {
  const std::size_t num_rows = totals_.size();
  for_rows(num_rows, executor, [&](std::size_t i) {
    float largest = exponentials_[i].largest;
    for (std::size_t at = i; at < exponentials_.size(); at += num_rows) {
      largest = std::max(largest, exponentials_[at].largest);
    }
    double sum = 0;
    for (std::size_t at = i; at < exponentials_.size(); at += num_rows) {
      const ScoreSum& block = exponentials_[at];
      sum += block.sum * std::exp(static_cast<double>(block.largest) - largest);
    }
    totals_[i] = {largest, static_cast<float>(sum)};
  });
}

LaneSums SoftmaxLoss::linearise(std::size_t num_lanes, const Positives& positives,
                                std::span<const float> costs, std::span<Lanes> scores,
                                std::span<Lanes> slopes, std::span<Lanes> curvatures) const {
  hide_padding(num_lanes, scores);
  linearise_softmax(scores, costs, totals_, slopes, curvatures);
  LaneSums losses;
  for (std::size_t l = 0; l < num_lanes; ++l) {
    for (const std::uint32_t i : positives(l)) {
      const double loss = std::max(
          0.0, std::log(double{totals_[i].sum}) + totals_[i].largest - double{scores[i].at[l]});
      losses.at[l] += costs[i] * loss;
      slopes[i].at[l] = static_cast<float>(costs[i] * std::expm1(-loss));
      curvatures[i].at[l] = static_cast<float>(costs[i] * own_curvature(loss));
    }
  }
  return losses;
}

void SoftmaxLoss::to_weights(std::size_t num_lanes, const Positives& positives,
                             std::span<const float> costs, std::span<const Lanes> curvatures,
                             std::span<Lanes> slopes) {
  for (std::size_t l = 0; l < num_lanes; ++l) {
    for (const std::uint32_t i : positives(l)) {
      // The weight w of the row's own target with w o / (w + o) its curvature, for o those of
      // others.
      const double others = -slopes[i].at[l], curvature = curvatures[i].at[l];
      slopes[i].at[l] = others > curvature
                            ? static_cast<float>(curvature * others / (others - curvature))
                            : costs[i];
    }
  }
}

void SoftmaxLoss::add_changes(std::size_t b, std::span<const Lanes> changes,
                              std::span<const Lanes> weights) {
  weighted_sums(changes, weights, std::span(changes_).subspan(b * means_.size(), means_.size()));
}

void SoftmaxLoss::average(Executor& executor) {
  for_rows(means_.size(), executor, [&](std::size_t i) {
    double sum = 0, weight = 0;
    for (std::size_t at = i; at < changes_.size(); at += means_.size()) {
      sum += changes_[at].sum;
      weight += changes_[at].weight;
    }
    means_[i] = weight > 0 ? static_cast<float>(sum / weight) : 0.0F;
  });
}

}  // namespace margrove::detail
