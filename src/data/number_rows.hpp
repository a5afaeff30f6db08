#pragma once
// Preprocessing of rows of numbers, with a control that may end it.

#include <cstdint>
#include <span>

#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

// These are Preprocessing::fit_counts(), fit_columns() and apply(). They throw OutOfTime where
// `control`, which may be null, asks to end.

Preprocessing fit_counts(const CsrView& counts, const TfidfOptions& options, RunControl* control);
Preprocessing fit_columns(const CsrView& X, ColumnScale scale, std::span<const double> row_weights,
                          std::span<const std::uint8_t> is_numeric, RunControl* control);
CsrMatrix apply_to_numbers(const Preprocessing& fitted, const CsrView& X, RunControl* control);

}  // namespace margrove
