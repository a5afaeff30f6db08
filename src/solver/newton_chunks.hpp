#pragma once
// Between the two layouts of joint Newton's method: chunks of PathKernel::kWidth columns for all
// leaves, and blocks of sixteen leaves for all columns or rows. Internal.

#include <span>

#include "lanes.hpp"
#include "path_kernel.hpp"

namespace margrove::detail {

// A block's part of a chunk, sixteen rows of kWidth, to and from kWidth rows of lanes.
void read_chunk(const float* from, Lanes* into);
void read_chunk(const Half* from, Lanes* into);
void write_chunk(const Lanes* from, Half* into);
// into = -gradient - z
void write_residual(const WideLanes* gradient, const float* z, Half* into);

// Rows of lanes, kept in half the length: sixteen numbers a row.
void pack(std::span<const Lanes> rows, Half* into);
void unpack(const Half* from, std::span<Lanes> rows);

LaneSums sum_lanes(std::span<const Lanes> rows);
// rows[i] += step
void add_to_all(const Lanes& step, std::span<Lanes> rows);

}  // namespace margrove::detail
