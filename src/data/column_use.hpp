#pragma once
// Which columns of a matrix occur.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "margrove/csr_matrix.hpp"

namespace margrove {

/// The columns that have an entry in some row, ascending, where X has so many more that sizes must
/// not go by its width; otherwise empty. O(nonzeros log nonzeros) where X is so wide.
inline std::vector<FeatureId> columns_of_wide_rows(const CsrView& X) {
  constexpr std::uint32_t kNarrow = 1U << 20U;  // some megabytes, however few columns occur
  constexpr std::int64_t kWide = 4;             // columns for each nonzero
  if (X.num_columns() <= kNarrow || X.num_columns() / kWide <= X.num_nonzeros()) return {};
  std::vector<FeatureId> columns(X.columns().begin(), X.columns().end());
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

/// How many columns have an entry in some row. O(nonzeros + columns).
inline std::size_t num_used_columns(const CsrView& X) {
  std::vector<bool> occurs(X.num_columns(), false);
  for (const FeatureId feature : X.columns()) occurs[feature] = true;
  return static_cast<std::size_t>(std::count(occurs.begin(), occurs.end(), true));
}

/// Whether more than half of the cells in columns that have an entry are entries. O(nonzeros +
/// columns).
inline bool is_dense(const CsrView& X) {
  const double cells = static_cast<double>(X.num_rows()) * static_cast<double>(num_used_columns(X));
  return static_cast<double>(X.num_nonzeros()) > 0.5 * cells;
}

}  // namespace margrove
