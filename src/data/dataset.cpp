#include "margrove/dataset.hpp"

#include <algorithm>

namespace margrove {

void LabelSets::append(std::span<const LabelId> labels) {
  const auto begin = static_cast<std::ptrdiff_t>(labels_.size());
  labels_.insert(labels_.end(), labels.begin(), labels.end());
  std::sort(labels_.begin() + begin, labels_.end());
  labels_.erase(std::unique(labels_.begin() + begin, labels_.end()), labels_.end());
  row_pointers_.push_back(static_cast<std::int64_t>(labels_.size()));
}

bool LabelSets::single_label() const {
  if (unlabelled_ == LabelSets::Unlabelled::keep) return false;
  for (std::size_t i = 0; i < num_rows(); ++i) {
    if ((*this)[i].size() > 1) return false;
  }
  return !labels_.empty();
}

LabelSets LabelSets::without_rows() const {
  LabelSets empty;
  empty.unlabelled_ = unlabelled_;
  return empty;
}

LabelSets select_rows(const LabelSets& labels, std::span<const std::uint32_t> rows) {
  LabelSets selected = labels.without_rows();
  for (const std::uint32_t i : rows) selected.append(labels[i]);
  return selected;
}

}  // namespace margrove
