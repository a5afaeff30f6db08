#include "recursive/common_part.hpp"

#include <numeric>
#include <utility>

#include "recursive/newton_chunks.hpp"

namespace margrove::detail {

CommonPart::CommonPart(std::vector<double> q)
    : q_(std::move(q)), total_(std::accumulate(q_.begin(), q_.end(), 0.0)) {}

std::optional<CommonPart> CommonPart::of(const LabelKernel& kernel) {
  if (!kernel.is_invertible() || kernel.targets().empty()) return std::nullopt;
  return CommonPart(kernel.solve_column(std::vector<double>(kernel.targets().size(), 1.0)));
}

void CommonPart::remove(std::span<float> z) const {
  double sums[kChunkWidth] = {};
  for (std::size_t t = 0; t < q_.size(); ++t) {
    for (std::size_t f = 0; f < kChunkWidth; ++f) sums[f] += z[t * kChunkWidth + f];
  }
  for (std::size_t t = 0; t < q_.size(); ++t) {
    const double share = q_[t] / total_;
    for (std::size_t f = 0; f < kChunkWidth; ++f) {
      float& value = z[t * kChunkWidth + f];
      value = static_cast<float>(value - share * sums[f]);
    }
  }
}

double CommonPart::add_curvature(std::span<const BFloat16> zeta, std::span<const BFloat16> h,
                                 std::span<BFloat16> product) const {
  double sums[kChunkWidth] = {}, curvatures[kChunkWidth] = {};  // q' p = 1' zeta
  for (std::size_t k = 0; k < q_.size() * kChunkWidth; ++k) {
    sums[k % kChunkWidth] += wide(zeta[k]);
    curvatures[k % kChunkWidth] += wide(h[k]);
  }
  double squares = 0;
  for (std::size_t f = 0; f < kChunkWidth; ++f) {
    const double m = curvatures[f] / (total_ * total_);
    squares += m * sums[f] * sums[f];
    for (std::size_t t = 0; t < q_.size(); ++t) {
      BFloat16& value = product[t * kChunkWidth + f];
      value = narrow(static_cast<float>(wide(value) + m * sums[f] * q_[t]));
    }
  }
  return squares;
}

}  // namespace margrove::detail
