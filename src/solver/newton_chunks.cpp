#include "newton_chunks.hpp"

#include "margrove/base/simd.hpp"

namespace margrove::detail {
namespace {

constexpr std::size_t kWidth = PathKernel::kWidth;

// A block's part of a chunk, sixteen rows of kWidth, to and from kWidth rows of lanes.
MARGROVE_MULTIVERSION
void read_chunk_kernel(const float* from, Lanes* into) {
  for (std::size_t f = 0; f < kWidth; ++f) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) into[f].at[l] = from[l * kWidth + f];
  }
}
MARGROVE_MULTIVERSION
void read_chunk_kernel(const Half* from, Lanes* into) {
  for (std::size_t f = 0; f < kWidth; ++f) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) into[f].at[l] = wide(from[l * kWidth + f]);
  }
}
MARGROVE_MULTIVERSION
void write_chunk_kernel(const Lanes* from, Half* into) {
  for (std::size_t l = 0; l < kLanes; ++l) {
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) into[l * kWidth + f] = narrow(from[f].at[l]);
  }
}
// into = -gradient - z
MARGROVE_MULTIVERSION
void write_residual_kernel(const WideLanes* gradient, const float* z, Half* into) {
  for (std::size_t l = 0; l < kLanes; ++l) {
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) {
      into[l * kWidth + f] = narrow(static_cast<float>(-gradient[f].at[l] - z[l * kWidth + f]));
    }
  }
}
MARGROVE_MULTIVERSION
void pack_kernel(const float* from, std::size_t count, Half* into) {
#pragma omp simd
  for (std::size_t k = 0; k < count; ++k) into[k] = narrow(from[k]);
}
MARGROVE_MULTIVERSION
void unpack_kernel(const Half* from, std::size_t count, float* into) {
#pragma omp simd
  for (std::size_t k = 0; k < count; ++k) into[k] = wide(from[k]);
}

MARGROVE_MULTIVERSION
void add_lanes_kernel(const Lanes* rows, std::size_t count, double* sums) {
  for (std::size_t begin = 0; begin < count; begin += 64) {
    float part[kLanes] = {};
    for (std::size_t i = begin; i < (begin + 64 < count ? begin + 64 : count); ++i) {
#pragma omp simd
      for (std::size_t l = 0; l < kLanes; ++l) part[l] += rows[i].at[l];
    }
    for (std::size_t l = 0; l < kLanes; ++l) sums[l] += part[l];
  }
}

}  // namespace

void read_chunk(const float* from, Lanes* into) { read_chunk_kernel(from, into); }
void read_chunk(const Half* from, Lanes* into) { read_chunk_kernel(from, into); }
void write_chunk(const Lanes* from, Half* into) { write_chunk_kernel(from, into); }
void write_residual(const WideLanes* gradient, const float* z, Half* into) {
  write_residual_kernel(gradient, z, into);
}

void pack(std::span<const Lanes> rows, Half* into) {
  pack_kernel(rows.data()->at, rows.size() * kLanes, into);
}
void unpack(const Half* from, std::span<Lanes> rows) {
  unpack_kernel(from, rows.size() * kLanes, rows.data()->at);
}

LaneSums sum_lanes(std::span<const Lanes> rows) {
  LaneSums sums;
  add_lanes_kernel(rows.data(), rows.size(), sums.at);
  return sums;
}

void add_to_all(const Lanes& step, std::span<Lanes> rows) {
  for (Lanes& row : rows) {
    for (std::size_t l = 0; l < kLanes; ++l) row.at[l] += step.at[l];
  }
}

}  // namespace margrove::detail
