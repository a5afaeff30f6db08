#pragma once
// Scores of all rows under a block of weight vectors at once: what screening, gaps and one-vs-rest
// primal values need.

#include <array>
#include <cstdint>
#include <span>

#include "margrove/csr_matrix.hpp"

namespace margrove::detail {

/// A block's weights lie feature-major, kScanWidth floats (a cache line) a feature.
inline constexpr std::size_t kScanWidth = 16;

/// scores[r][t] = sum_j x_rj W[j][t] for the rows [begin, end) of X; block.size() is num_columns *
/// kScanWidth, scores.size() is (end - begin) * kScanWidth.
void scan_rows(const CsrView& X, std::size_t begin, std::size_t end, std::span<const float> block,
               std::span<float> scores);

}  // namespace margrove::detail
