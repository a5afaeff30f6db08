#include "linear/smoothed_hinge.hpp"

#include <algorithm>

#include "base/simd.hpp"

namespace margrove::detail {
namespace {

constexpr float kBeyondParabola = 0.5F;  // times v: curvature where the hinge is straight

}  // namespace

SmoothedHinge smoothed_hinge_at(double v, float width) {
  const double inside = std::clamp<double>(v, 0.0, width);
  SmoothedHinge hinge;
  if (v <= 0) return hinge;
  hinge.smooth = v - inside + 0.5 * inside * inside / width;
  hinge.exact = v;
  hinge.smoothing = inside * (1.0 - inside / width);
  hinge.derivative = inside / width;
  hinge.curvature = v < width ? 1.0 / width : kBeyondParabola / v;
  return hinge;
}

MARGROVE_MULTIVERSION
HingeSums smoothed_hinge(std::span<const Lanes> scores, std::span<const float> costs, float width,
                         std::span<Lanes> slopes, std::span<Lanes> curvatures) {
  HingeSums sums;
  const std::size_t num_rows = scores.size();
  const float inverse = 1.0F / width;
  for (std::size_t begin = 0; begin < num_rows; begin += 64) {
    const std::size_t end = begin + 64 < num_rows ? begin + 64 : num_rows;
    float smooth[kLanes] = {};
    float hinge[kLanes] = {};
    float parabola[kLanes] = {};
    for (std::size_t i = begin; i < end; ++i) {
      const float cost = costs[i];
      const float* f = scores[i].at;
#pragma omp simd
      for (std::size_t l = 0; l < kLanes; ++l) {
        const float v = 1.0F + f[l] > 0.0F ? 1.0F + f[l] : 0.0F;
        const float inside = v < width ? v : width;
        const float share = inside * inverse;
        slopes[i].at[l] = cost * share;
        curvatures[i].at[l] = v > 0.0F ? cost * (v < width ? inverse : kBeyondParabola / v) : 0.0F;
        smooth[l] += cost * (v - inside + 0.5F * inside * share);
        hinge[l] += cost * v;
        parabola[l] += cost * inside * (1.0F - share);
      }
    }
    for (std::size_t l = 0; l < kLanes; ++l) {
      sums.smooth += smooth[l];
      sums.exact += hinge[l];
      sums.smoothing += parabola[l];
    }
  }
  return sums;
}

MARGROVE_MULTIVERSION
void move_scores(std::span<const Lanes> scores, std::span<const Lanes> moves, float length,
                 std::span<Lanes> into) {
  const Lanes* const from = scores.data();
  const Lanes* const by = moves.data();
  Lanes* const to = into.data();
  for (std::size_t i = 0; i < scores.size(); ++i) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) to[i].at[l] = from[i].at[l] + length * by[i].at[l];
  }
}

MARGROVE_MULTIVERSION
double product(std::span<const Lanes> left, std::span<const Lanes> right) {
  const Lanes* const x = left.data();
  const Lanes* const y = right.data();
  const std::size_t num_rows = left.size();
  double sum = 0;
  for (std::size_t begin = 0; begin < num_rows; begin += 64) {
    const std::size_t end = begin + 64 < num_rows ? begin + 64 : num_rows;
    float part = 0;
    for (std::size_t i = begin; i < end; ++i) {
#pragma omp simd reduction(+ : part)
      for (std::size_t l = 0; l < kLanes; ++l) part += x[i].at[l] * y[i].at[l];
    }
    sum += part;
  }
  return sum;
}

}  // namespace margrove::detail
