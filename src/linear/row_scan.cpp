#include "linear/row_scan.hpp"

#include "base/simd.hpp"

namespace margrove::detail {
namespace {

MARGROVE_MULTIVERSION
void scan(const std::int64_t* pointers, const FeatureId* columns, const float* values,
          std::size_t begin, std::size_t end, const float* block, float* scores) {
  for (std::size_t r = begin; r < end; ++r) {
    float sum[kScanWidth] = {};
    for (std::int64_t k = pointers[r]; k < pointers[r + 1]; ++k) {
      const float x = values[k];
      const float* weights = block + static_cast<std::size_t>(columns[k]) * kScanWidth;
#pragma omp simd
      for (std::size_t t = 0; t < kScanWidth; ++t) sum[t] += x * weights[t];
    }
    float* out = scores + (r - begin) * kScanWidth;
#pragma omp simd
    for (std::size_t t = 0; t < kScanWidth; ++t) out[t] = sum[t];
  }
}

}  // namespace

void scan_rows(const CsrView& X, std::size_t begin, std::size_t end, std::span<const float> block,
               std::span<float> scores) {
  scan(X.row_pointers().data(), X.columns().data(), X.values().data(), begin, end, block.data(),
       scores.data());
}

}  // namespace margrove::detail
