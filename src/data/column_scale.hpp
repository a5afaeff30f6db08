#pragma once
// Columns of numbers on one scale: the work of Preprocessing::fit_columns() and apply().

#include <span>

#include "margrove/csr_matrix.hpp"

namespace margrove {

/// Rows of (x_j - centre_j) / spread_j, with as many columns as there are centres; further columns
/// of X are dropped, and those of spread 0. A column whose centre is not 0 is filled in every row.
/// O(nonzeros + rows * filled columns).
CsrMatrix scale_columns(const CsrView& X, std::span<const double> centre,
                        std::span<const double> spread);

}  // namespace margrove
