#pragma once
// The scaling of columns of numbers.

#include <span>

#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"

namespace margrove {

struct Preprocessing;

/// Rows of (x_j - centre_j) / spread_j with as many columns as there are centres. Further columns
/// of X and those of spread 0 are dropped. A column whose centre is not 0 is filled in every row.
/// Throws OutOfTime where `control`, which may be null, asks to end. O(nonzeros + rows * filled
/// columns).
CsrMatrix scale_columns(const CsrView& X, std::span<const double> centre,
                        std::span<const double> spread, RunControl* control = nullptr);

/// Whether it gives columns comparable sizes, and those of dense rows mean 0: standard and common.
bool centres_columns(const Preprocessing& preprocessing);
/// Whether the columns of dense rows have mean 0 and comparable sizes of about 1, so that
/// `automatic` would leave them alone. `row_weights` (empty: all 1) count rows as repeated.
/// O(nonzeros).
bool are_scaled_columns(const CsrView& X, std::span<const double> row_weights);

}  // namespace margrove
