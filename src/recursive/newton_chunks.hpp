#pragma once
// Between the two layouts of joint Newton's method: chunks of LabelKernel::kWidth columns for all
// leaves, and blocks of sixteen leaves for all columns or rows.

#include <cstdint>
#include <span>

#include "linear/lanes.hpp"
#include "recursive/label_kernel.hpp"

namespace margrove::detail {

// A block's part of a chunk, sixteen rows of kWidth, to and from kWidth rows of lanes.
void read_chunk(const BFloat16* high, const BFloat16* low, Lanes* into);
void read_chunk(const BFloat16* from, Lanes* into);
void write_chunk(const Lanes* from, BFloat16* into);
// into = -gradient - z
void write_residual(const WideLanes* gradient, const float* z, BFloat16* into);

/// A number from 2^-32 times the largest up to the largest, in eight bits: three of its mantissa.
struct Float8 {
  std::uint8_t bits = 0;
};
/// What the code of the largest number is short of, given that number.
std::int32_t byte_base(float largest);
// Rows of lanes >= 0, kept in a quarter of the length: sixteen numbers per row.
void pack(std::span<const Lanes> rows, std::int32_t base, Float8* into);
void unpack(const Float8* from, std::int32_t base, std::span<Lanes> rows);

LaneSums sum_lanes(std::span<const Lanes> rows);
// rows[i] += step
void add_to_all(const Lanes& step, std::span<Lanes> rows);

}  // namespace margrove::detail
