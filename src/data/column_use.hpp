#pragma once
// Which columns of a matrix occur.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "margrove/csr_matrix.hpp"

namespace margrove {

/// How many columns have an entry in some row. O(nonzeros + columns).
inline std::size_t num_used_columns(const CsrView& X) {
  std::vector<bool> occurs(X.num_columns(), false);
  for (const FeatureId feature : X.columns()) occurs[feature] = true;
  return static_cast<std::size_t>(std::count(occurs.begin(), occurs.end(), true));
}

}  // namespace margrove
