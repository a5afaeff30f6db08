#include "data/stored_weights.hpp"

#include <cmath>
#include <utility>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

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

void StoredWeights::require_all() const {
  for (FeatureId feature = 0; feature < num_features_; ++feature) require_row(feature);
}

void StoredWeights::require_row(FeatureId feature) const {
  if (is_read_[feature].load(std::memory_order_acquire)) return;
  const std::lock_guard lock(reading_);
  if (is_read_[feature].load(std::memory_order_relaxed)) return;
  read_row(feature);
  is_read_[feature].store(true, std::memory_order_release);
}

void StoredWeights::read_row(FeatureId feature) const {
  const auto require_valid = [&](bool is_valid, std::size_t k, std::string_view what) {
    if (is_valid) return;
    throw ModelFileError(concat(place_.tensor, ": weight ", k, " of feature ", feature, what));
  };
  const std::size_t first = first_of(feature), size = size_of(feature);
  const std::span values(values_.get() + first, size);
  read_values(*place_.store, place_.values + first * sizeof(float), values);
  for (std::size_t k = 0; k < size; ++k) {
    require_valid(std::isfinite(values[k]), k, " must be a finite number");
  }
  if (is_dense()) return;
  const std::span nodes(nodes_.get() + first, size);
  read_values(*place_.store, place_.nodes + first * sizeof(FeatureId), nodes);
  for (std::size_t k = 0; k < size; ++k) {
    require_valid(nodes[k] < num_nodes_, k, " is of a node that does not exist");
    require_valid(k == 0 || nodes[k - 1] < nodes[k], k, " is not in the order of the nodes");
  }
}

}  // namespace margrove
