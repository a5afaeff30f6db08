#pragma once
// The columns of X that occur at all.

#include <cstdint>
#include <vector>

#include "margrove/csr_matrix.hpp"

namespace margrove::detail {

/// X over the columns that some row uses, the common ones first.
struct UsedColumns {
  CsrMatrix X;
  std::vector<FeatureId> original;   // column of `X` -> column of the matrix it came from
  FeatureId num_common = 0;          // columns [0, num_common) are the common ones
  std::vector<std::uint32_t> split;  // how many entries of each row lie in common columns
};

/// A column is common if more than `common_share` of the rows use it. O(nonzeros log row size).
UsedColumns used_columns(const CsrView& X, double common_share);

}  // namespace margrove::detail
