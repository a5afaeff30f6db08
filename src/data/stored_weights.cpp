#include "data/stored_weights.hpp"

#include <cmath>
#include <utility>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr std::size_t kBlockValues = std::size_t{1} << 18U;  // one megabyte of float32

template <class T>
void read_values(const ByteStore& store, std::uint64_t offset, std::span<T> out) {
  store.read(offset, std::as_writable_bytes(out));
}

}  // namespace

// Memory is left uninitialised, so that the system provides only the pages that are read.
StoredWeights::StoredWeights(Place place, std::uint32_t num_features, std::uint32_t num_nodes)
    : place_(std::move(place)),
      num_features_(num_features),
      num_nodes_(num_nodes),
      num_values_(static_cast<std::size_t>(num_features) * num_nodes),
      values_(std::make_unique_for_overwrite<float[]>(num_values_)),
      is_read_(std::make_unique<std::atomic<bool>[]>(num_features)) {}

StoredWeights::StoredWeights(Place place, std::vector<std::int64_t> row_pointers,
                             std::uint32_t num_nodes)
    : place_(std::move(place)),
      num_features_(static_cast<std::uint32_t>(row_pointers.size() - 1)),
      num_nodes_(num_nodes),
      num_values_(static_cast<std::size_t>(row_pointers.back())),
      row_pointers_(std::move(row_pointers)),
      values_(std::make_unique_for_overwrite<float[]>(num_values_)),
      nodes_(std::make_unique_for_overwrite<FeatureId[]>(num_values_)),
      is_read_(std::make_unique<std::atomic<bool>[]>(num_features_)) {}

std::size_t StoredWeights::first_of(FeatureId feature) const {
  return is_dense() ? static_cast<std::size_t>(feature) * num_nodes_
                    : static_cast<std::size_t>(row_pointers_[feature]);
}

std::span<const float> StoredWeights::dense_row(FeatureId feature) const {
  require_row(feature);
  return {values_.get() + first_of(feature), num_nodes_};
}

SparseRow StoredWeights::sparse_row(FeatureId feature) const {
  require_row(feature);
  const std::size_t first = first_of(feature), size = size_of(feature);
  return {{nodes_.get() + first, size}, {values_.get() + first, size}};
}

std::span<const float> StoredWeights::dense() const {
  require_all();
  return {values_.get(), num_values_};
}

CsrView StoredWeights::sparse() const {
  require_all();
  return {num_nodes_, row_pointers_, {nodes_.get(), num_values_}, {values_.get(), num_values_}};
}

void StoredWeights::require_row(FeatureId feature) const {
  if (is_read(feature)) return;
  const std::lock_guard lock(reading_);
  if (!is_read(feature)) keep_rows(feature, feature + 1);
}

void StoredWeights::require_all() const {
  const std::lock_guard lock(reading_);
  for (FeatureId begin = 0, end = 0; begin < num_features_; begin = end) {
    end = begin + 1;
    if (is_read(begin)) continue;
    for (const FeatureId last = end_of_block(begin); end < last && !is_read(end);) ++end;
    keep_rows(begin, end);
  }
}

void StoredWeights::keep_rows(FeatureId begin, FeatureId end) const {
  const Rows all{values_.get(), nodes_.get()};
  const std::size_t first = first_of(begin);
  read_rows(begin, end, {all.values + first, is_dense() ? nullptr : all.nodes + first});
  for (FeatureId feature = begin; feature < end; ++feature) {
    check_row(feature, row_in(all, first_of(feature), size_of(feature)));
    is_read_[feature].store(true, std::memory_order_release);
  }
}

void StoredWeights::read_rows(FeatureId begin, FeatureId end, Rows out) const {
  const std::size_t first = first_of(begin), size = first_of(end) - first;
  read_values(*place_.store, place_.values + first * sizeof(float), std::span(out.values, size));
  if (is_dense()) return;
  read_values(*place_.store, place_.nodes + first * sizeof(FeatureId), std::span(out.nodes, size));
}

FeatureId StoredWeights::end_of_block(FeatureId first) const {
  FeatureId end = first + 1;
  const std::size_t most = first_of(first) + kBlockValues;
  while (end < num_features_ && first_of(end + 1) <= most) ++end;
  return end;
}

SparseRow StoredWeights::row_in(Rows rows, std::size_t first, std::size_t size) const {
  if (is_dense()) return {{}, {rows.values + first, size}};
  return {{rows.nodes + first, size}, {rows.values + first, size}};
}

SparseRow StoredWeights::Pass::row(FeatureId feature) {
  const StoredWeights& all = *weights_;
  const std::size_t size = all.size_of(feature);
  if (all.is_read(feature)) {
    return all.row_in({all.values_.get(), all.nodes_.get()}, all.first_of(feature), size);
  }
  if (feature < begin_ || feature >= end_) {
    const FeatureId end = all.end_of_block(feature);
    const std::size_t block = all.first_of(end) - all.first_of(feature);
    if (values_.size() < block) {
      values_.resize(block);
      if (!all.is_dense()) nodes_.resize(block);
    }
    begin_ = end_ = 0;  // if reading throws
    all.read_rows(feature, end, {values_.data(), nodes_.data()});
    begin_ = feature;
    end_ = end;
  }
  const SparseRow row = all.row_in({values_.data(), nodes_.data()},
                                   all.first_of(feature) - all.first_of(begin_), size);
  all.check_row(feature, row);
  return row;
}

void StoredWeights::check(std::shared_ptr<const StoredWeights> weights) {
  const std::uint32_t num_features = weights->num_features();
  Pass pass(std::move(weights));
  for (FeatureId feature = 0; feature < num_features; ++feature) pass.row(feature);
}

void StoredWeights::check_row(FeatureId feature, const SparseRow& row) const {
  const auto require_valid = [&](bool is_valid, std::size_t k, std::string_view what) {
    if (is_valid) return;
    throw ModelFileError(concat(place_.tensor, ": weight ", k, " of feature ", feature, what));
  };
  for (std::size_t k = 0; k < row.values.size(); ++k) {
    require_valid(std::isfinite(row.values[k]), k, " must be a finite number");
  }
  const std::span<const FeatureId> nodes = row.columns;
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    require_valid(nodes[k] < num_nodes_, k, " is of a node that does not exist");
    require_valid(k == 0 || nodes[k - 1] < nodes[k], k, " is not in the order of the nodes");
  }
}

}  // namespace margrove
