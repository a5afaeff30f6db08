#pragma once
// Operations on sparse rows that the methods share.

#include <vector>

#include "margrove/csr_matrix.hpp"

namespace margrove {

/// X with a constant last column: the intercept, regularised like the other weights. bias 0 copies
/// X and adds no column. O(nonzeros).
CsrMatrix with_intercept(const CsrView& X, double bias);

/// Those columns of X (ascending), numbered from 0; the others are dropped. O(nonzeros log
/// columns).
CsrMatrix select_columns(const CsrView& X, std::span<const FeatureId> columns);

/// Rows [begin, end) of X, whose arrays must outlive the result.
CsrView row_range(const CsrView& X, std::size_t begin, std::size_t end);

/// The transpose of X. O(nonzeros + columns).
CsrMatrix transpose(const CsrView& X);
double squared_norm(const SparseRow& row);
std::vector<double> squared_norms(const CsrView& X);

}  // namespace margrove
