#pragma once
// Copies of some rows, side by side, over the columns that they use. Many passes over a few rows of
// a large matrix then stay in cache.

#include <cstdint>
#include <span>
#include <vector>

#include "linear/dual_descent.hpp"
#include "margrove/csr_matrix.hpp"

namespace margrove::detail {

class CompactRows {
 public:
  /// Takes the place of the rows before. O(nonzeros of the rows), times log columns for the
  /// columns, and O(columns of X) the first time. All rows have the last `tail` columns of X, which
  /// are the last ones of view(), too.
  void assign(const CsrView& X, std::uint32_t tail, std::span<const DualRow> rows);

  /// The rows in their order, or X where they are more than 1 / kLeastShare of it, as the copy
  /// would take much memory and gain little.
  CsrView view() const;
  bool is_copy() const { return is_copy_; }
  /// Column of view() -> column of X, ascending.
  std::span<const FeatureId> columns() const { return columns_; }

 private:
  static constexpr std::size_t kLeastShare = 4;
  void take_used_columns();

  bool is_copy_ = true;
  CsrView X_;                        // if there is no copy
  std::vector<std::uint64_t> used_;  // bit j: some row uses column j of X; zero between calls
  std::vector<FeatureId> numbers_;   // by column of X, if some row uses it
  std::vector<FeatureId> columns_;
  std::vector<std::int64_t> pointers_;
  std::vector<FeatureId> indices_;
  std::vector<float> values_;
};

}  // namespace margrove::detail
