#include "linear/compact_rows.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace margrove::detail {

void CompactRows::assign(const CsrView& X, std::uint32_t tail, std::span<const DualRow> rows) {
  constexpr std::size_t kAhead = 8;  // rows are prefetched so many ahead
  is_copy_ = kLeastShare * rows.size() <= X.num_rows();
  if (!is_copy_) {
    X_ = X;
    columns_.resize(X.num_columns());
    std::iota(columns_.begin(), columns_.end(), 0U);
    return;
  }
  numbers_.resize(X.num_columns());
  used_.resize((std::size_t{X.num_columns()} + 63) / 64, 0);
  pointers_.assign(1, 0);
  indices_.clear();
  values_.clear();
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const SparseRow later = X.row(rows[std::min(k + kAhead, rows.size() - 1)].row);
    __builtin_prefetch(later.columns.data());
    __builtin_prefetch(later.values.data());
    const SparseRow x = X.row(rows[k].row);
    for (const FeatureId j : x.columns.first(x.size() - tail))
      used_[j / 64] |= std::uint64_t{1} << (j % 64);
    indices_.insert(indices_.end(), x.columns.begin(), x.columns.end());
    values_.insert(values_.end(), x.values.begin(), x.values.end());
    pointers_.push_back(static_cast<std::int64_t>(indices_.size()));
  }
  for (FeatureId j = X.num_columns() - tail; j < X.num_columns() && !rows.empty(); ++j) {
    used_[j / 64] |= std::uint64_t{1} << (j % 64);
  }
  take_used_columns();
  for (FeatureId& j : indices_) j = numbers_[j];
}

void CompactRows::take_used_columns() {
  columns_.clear();
  for (std::size_t word = 0; word < used_.size(); ++word) {
    for (std::uint64_t bits = std::exchange(used_[word], 0); bits != 0; bits &= bits - 1) {
      const auto j = static_cast<FeatureId>(64 * word + std::countr_zero(bits));
      numbers_[j] = static_cast<FeatureId>(columns_.size());
      columns_.push_back(j);
    }
  }
}

CsrView CompactRows::view() const {
  if (!is_copy_) return X_;
  return CsrView(static_cast<std::uint32_t>(columns_.size()), pointers_, indices_, values_);
}

}  // namespace margrove::detail
