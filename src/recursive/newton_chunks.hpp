#pragma once
// The two layouts of joint Newton's method and conversions between them: chunks of
// LabelKernel::kWidth columns for all leaves, and blocks of sixteen leaves for all columns or rows.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/row_kernels.hpp"
#include "recursive/label_kernel.hpp"

namespace margrove::detail {

constexpr std::size_t kChunkWidth = LabelKernel::kWidth;

/// Matrices in chunks: zeta and p while a direction is computed, and w between the directions, as a
/// float32 in two halves. Neither is needed while the other is, so they have the same memory.
class DirectionOrWeights {
 public:
  DirectionOrWeights(std::size_t num_chunks, std::size_t chunk_size)
      : chunk_size_(chunk_size), first_(num_chunks * chunk_size), second_(first_.size()) {}
  std::span<BFloat16> zeta(std::size_t c) { return chunk(first_, c); }
  std::span<BFloat16> p(std::size_t c) { return chunk(second_, c); }
  LabelKernel::SplitChunk w(std::size_t c) { return {chunk(first_, c), chunk(second_, c)}; }
  /// zeta = p = 0 in place of w.
  void start_direction() {
    std::ranges::fill(first_, BFloat16{});
    std::ranges::fill(second_, BFloat16{});
  }

 private:
  std::span<BFloat16> chunk(std::vector<BFloat16>& values, std::size_t c) const {
    return std::span(values).subspan(c * chunk_size_, chunk_size_);
  }

  std::size_t chunk_size_;
  std::vector<BFloat16> first_, second_;
};

// A block's part of a chunk, sixteen rows of kChunkWidth, to and from kChunkWidth rows of lanes.
void read_chunk(const BFloat16* high, const BFloat16* low, Lanes* into);
void read_chunk(const BFloat16* from, Lanes* into);
void write_chunk(const Lanes* from, BFloat16* into);
// into = -gradient - z
void write_residual(const WideLanes* gradient, const float* z, BFloat16* into);

// Rows of sixteen numbers >= 0, packed to 8 bits each.
void pack(std::span<const Lanes> rows, std::int32_t base, Float8* into);
void unpack(const Float8* from, std::int32_t base, std::span<Lanes> rows);

LaneSums sum_lanes(std::span<const Lanes> rows);

}  // namespace margrove::detail
