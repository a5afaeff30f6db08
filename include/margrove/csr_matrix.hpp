#pragma once
// Sparse rows. X is num_rows x num_columns, CSR, columns ascending within a row, no duplicates.

#include <cstdint>
#include <span>
#include <vector>

#include "margrove/api.hpp"

namespace margrove MARGROVE_API {

using FeatureId = std::uint32_t;

struct SparseRow {
  std::span<const FeatureId> columns;  // ascending
  std::span<const float> values;       // same length
  std::size_t size() const { return columns.size(); }
};

/// CSR arrays owned by somebody else (a CsrMatrix, or NumPy). Cheap to copy. Row pointers are
/// 64-bit, columns 32-bit, values float32.
class CsrView {
 public:
  CsrView() = default;
  /// Does not check the arrays; check_csr() does.
  CsrView(std::uint32_t num_columns, std::span<const std::int64_t> row_pointers,
          std::span<const FeatureId> columns, std::span<const float> values)
      : num_columns_(num_columns),
        row_pointers_(row_pointers),
        columns_(columns),
        values_(values) {}

  std::size_t num_rows() const { return row_pointers_.empty() ? 0 : row_pointers_.size() - 1; }
  std::uint32_t num_columns() const { return num_columns_; }
  std::int64_t num_nonzeros() const { return row_pointers_.empty() ? 0 : row_pointers_.back(); }
  SparseRow row(std::size_t i) const {
    const auto begin = static_cast<std::size_t>(row_pointers_[i]);
    const auto size = static_cast<std::size_t>(row_pointers_[i + 1]) - begin;
    return {columns_.subspan(begin, size), values_.subspan(begin, size)};
  }
  std::span<const std::int64_t> row_pointers() const { return row_pointers_; }
  std::span<const FeatureId> columns() const { return columns_; }
  std::span<const float> values() const { return values_; }

 private:
  std::uint32_t num_columns_ = 0;
  std::span<const std::int64_t> row_pointers_;
  std::span<const FeatureId> columns_;
  std::span<const float> values_;
};

/// Throws InvalidInput naming the row and position: row pointers that do not start at 0, decrease
/// or overrun; columns not ascending or out of range; values that are not finite. O(nonzeros).
void check_csr(const CsrView& X);

/// CSR arrays that own their memory.
class CsrMatrix {
 public:
  CsrMatrix() : row_pointers_{0} {}
  explicit CsrMatrix(std::uint32_t num_columns) : num_columns_(num_columns), row_pointers_{0} {}
  /// Throws as check_csr().
  CsrMatrix(std::uint32_t num_columns, std::vector<std::int64_t> row_pointers,
            std::vector<FeatureId> columns, std::vector<float> values);

  CsrView view() const { return {num_columns_, row_pointers_, columns_, values_}; }
  operator CsrView() const { return view(); }  // NOLINT: a matrix is a view of itself
  std::size_t num_rows() const { return row_pointers_.size() - 1; }
  std::uint32_t num_columns() const { return num_columns_; }
  std::int64_t num_nonzeros() const { return row_pointers_.back(); }
  SparseRow row(std::size_t i) const { return view().row(i); }

  /// Columns must be ascending; num_columns() grows to hold them. Amortised O(size).
  void append_row(std::span<const FeatureId> columns, std::span<const float> values);
  void set_num_columns(std::uint32_t num_columns);  // not below the largest column used
  std::span<float> mutable_values() { return values_; }

 private:
  std::uint32_t num_columns_ = 0;
  std::vector<std::int64_t> row_pointers_;
  std::vector<FeatureId> columns_;
  std::vector<float> values_;
};

CsrMatrix select_rows(const CsrView& X, std::span<const std::uint32_t> rows);
}  // namespace margrove
