#pragma once
// The columns of X that occur. Text often uses only a part of a larger vocabulary.

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "margrove/csr_matrix.hpp"

namespace margrove::detail {

/// X over the columns that some row uses, the common ones first, otherwise in their order. Refers
/// to X.
class UsedColumns {
 public:
  static constexpr FeatureId kUnused = std::numeric_limits<FeatureId>::max();

  /// A column is common if more than `common_share` of the rows use it; none is at a share of 1.
  /// O(nonzeros), times log row size where columns are common.
  explicit UsedColumns(const CsrView& X, double common_share = 1.0);

  CsrView view() const;
  /// Column of view() -> column of X.
  std::span<const FeatureId> original() const { return original_; }
  /// Column of X -> column of view(), or kUnused.
  FeatureId renumbered(FeatureId original) const { return renumbered_[original]; }
  /// The columns [0, num_common()) of view() are the common ones.
  FeatureId num_common() const { return num_common_; }
  /// How many entries of a row lie in common columns.
  std::uint32_t num_common_in(std::size_t row) const {
    return num_common_ == 0 ? 0 : num_common_in_[row];
  }

 private:
  void move_common_entries();

  CsrView X_;
  std::vector<FeatureId> original_, renumbered_;
  FeatureId num_common_ = 0;
  std::vector<std::uint32_t> num_common_in_;  // by row, if any column is common
  std::vector<FeatureId> columns_;
  std::vector<float> values_;  // if any column is common
};

/// The value of the last column if every row has the same one there, otherwise 0.
double constant_column(const CsrView& X);
/// The same for a column whose weights are not regularised. Throws InvalidInput that begins with
/// `solver` if the column is not constant; 0 without rows.
double free_intercept_column(const CsrView& X, std::string_view solver);

}  // namespace margrove::detail
