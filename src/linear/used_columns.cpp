#include "linear/used_columns.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "margrove/errors.hpp"

namespace margrove::detail {

UsedColumns::UsedColumns(const CsrView& X, double common_share)
    : X_(X), renumbered_(X.num_columns(), kUnused) {
  std::vector<std::size_t> count(X.num_columns(), 0);
  for (const FeatureId j : X.columns()) ++count[j];
  const double threshold = common_share * static_cast<double>(X.num_rows());
  for (const bool common : {true, false}) {
    for (FeatureId j = 0; j < X.num_columns(); ++j) {
      if (count[j] == 0 || (static_cast<double>(count[j]) > threshold) != common) continue;
      renumbered_[j] = static_cast<FeatureId>(original_.size());
      original_.push_back(j);
    }
    if (common) num_common_ = static_cast<FeatureId>(original_.size());
  }
  columns_.reserve(X.columns().size());
  for (const FeatureId j : X.columns()) columns_.push_back(renumbered_[j]);
  if (num_common_ > 0) move_common_entries();
}

// To the beginning of their rows.
void UsedColumns::move_common_entries() {
  values_.assign(X_.values().begin(), X_.values().end());
  std::vector<std::pair<FeatureId, float>> row;
  for (std::size_t i = 0; i < X_.num_rows(); ++i) {
    const auto begin = static_cast<std::size_t>(X_.row_pointers()[i]);
    const auto end = static_cast<std::size_t>(X_.row_pointers()[i + 1]);
    row.clear();
    for (std::size_t k = begin; k < end; ++k) row.emplace_back(columns_[k], values_[k]);
    std::sort(row.begin(), row.end());
    std::uint32_t num_common = 0;
    for (std::size_t k = begin; k < end; ++k) {
      std::tie(columns_[k], values_[k]) = row[k - begin];
      num_common += columns_[k] < num_common_;
    }
    num_common_in_.push_back(num_common);
  }
}

CsrView UsedColumns::view() const {
  return {static_cast<FeatureId>(original_.size()), X_.row_pointers(), columns_,
          num_common_ > 0 ? std::span<const float>(values_) : X_.values()};
}

double constant_column(const CsrView& X) {
  double value = 0;
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    const SparseRow x = X.row(i);
    if (x.size() == 0 || x.columns.back() + 1 != X.num_columns()) return 0;
    if (i > 0 && x.values.back() != value) return 0;
    value = x.values.back();
  }
  return value;
}

double free_intercept_column(const CsrView& X, std::string_view solver) {
  const double value = constant_column(X);
  require(value != 0 || X.num_rows() == 0, solver,
          ": the last column is the free intercept, but it is not constant");
  return value;
}

}  // namespace margrove::detail
