#pragma once
// Conversions between the two layouts of joint Newton's method: chunks of LabelKernel::kWidth
// columns for all leaves, and blocks of sixteen leaves for all columns or rows.

#include <cstdint>
#include <span>

#include "numerics/row_kernels.hpp"
#include "recursive/label_kernel.hpp"

namespace margrove::detail {

constexpr std::size_t kChunkWidth = LabelKernel::kWidth;

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
