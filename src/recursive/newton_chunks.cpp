#include "recursive/newton_chunks.hpp"

#include "base/simd.hpp"

namespace margrove::detail {

MARGROVE_MULTIVERSION
void read_chunk(const BFloat16* high, const BFloat16* low, Lanes* into) {
  for (std::size_t f = 0; f < kChunkWidth; ++f) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) {
      into[f].at[l] = join(high[l * kChunkWidth + f], low[l * kChunkWidth + f]);
    }
  }
}
MARGROVE_MULTIVERSION
void read_chunk(const BFloat16* from, Lanes* into) {
  for (std::size_t f = 0; f < kChunkWidth; ++f) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) into[f].at[l] = wide(from[l * kChunkWidth + f]);
  }
}
MARGROVE_MULTIVERSION
void write_chunk(const Lanes* from, BFloat16* into) {
  for (std::size_t l = 0; l < kLanes; ++l) {
#pragma omp simd
    for (std::size_t f = 0; f < kChunkWidth; ++f) into[l * kChunkWidth + f] = narrow(from[f].at[l]);
  }
}
MARGROVE_MULTIVERSION
void write_residual(const WideLanes* gradient, const float* z, BFloat16* into) {
  for (std::size_t l = 0; l < kLanes; ++l) {
#pragma omp simd
    for (std::size_t f = 0; f < kChunkWidth; ++f) {
      into[l * kChunkWidth + f] =
          narrow(static_cast<float>(-gradient[f].at[l] - z[l * kChunkWidth + f]));
    }
  }
}
MARGROVE_MULTIVERSION
void pack(std::span<const Lanes> rows, std::int32_t base, Float8* into) {
  const float* const from = rows.data()->at;
  const std::size_t count = rows.size() * kLanes;
#pragma omp simd
  for (std::size_t k = 0; k < count; ++k) into[k] = encode(from[k], base);
}
MARGROVE_MULTIVERSION
void unpack(const Float8* from, std::int32_t base, std::span<Lanes> rows) {
  float* const into = rows.data()->at;
  const std::size_t count = rows.size() * kLanes;
#pragma omp simd
  for (std::size_t k = 0; k < count; ++k) into[k] = decode(from[k], base);
}

MARGROVE_MULTIVERSION
LaneSums sum_lanes(std::span<const Lanes> rows) {
  LaneSums sums;
  const Lanes* const row = rows.data();
  const std::size_t count = rows.size();
  for (std::size_t begin = 0; begin < count; begin += 64) {
    float part[kLanes] = {};
    for (std::size_t i = begin; i < (begin + 64 < count ? begin + 64 : count); ++i) {
#pragma omp simd
      for (std::size_t l = 0; l < kLanes; ++l) part[l] += row[i].at[l];
    }
    for (std::size_t l = 0; l < kLanes; ++l) sums.at[l] += part[l];
  }
  return sums;
}

}  // namespace margrove::detail
