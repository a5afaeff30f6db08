#pragma once
// Weights in a model file, of which those of a feature are read when they are first needed.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/byte_store.hpp"
#include "margrove/csr_matrix.hpp"

namespace margrove {

/// num_features x num_nodes weights, dense or CSR, one row per feature. A row is read and checked
/// once, by the first call that asks for it; its memory is not touched before. So a model of
/// hundreds of megabytes answers its first rows after reading some of them. Safe to use from many
/// threads. All calls throw ModelFileError where the file has become shorter or has changed, where
/// a weight is not finite, or where the nodes of a row are not ascending or out of range.
class StoredWeights {
 public:
  struct Place {
    std::shared_ptr<const ByteStore> store;
    std::string tensor;        // for messages: the file and the tensor
    std::uint64_t values = 0;  // offsets of the arrays in the store
    std::uint64_t nodes = 0;   // of sparse weights
  };
  StoredWeights(Place place, std::uint32_t num_features, std::uint32_t num_nodes);
  /// Sparse. The pointers, one more than there are features, are those of check_csr().
  StoredWeights(Place place, std::vector<std::int64_t> row_pointers, std::uint32_t num_nodes);

  bool is_dense() const { return row_pointers_.empty(); }
  std::uint32_t num_features() const { return num_features_; }
  std::uint32_t num_nodes() const { return num_nodes_; }
  std::size_t num_values() const { return num_values_; }

  std::span<const float> dense_row(FeatureId feature) const;
  SparseRow sparse_row(FeatureId feature) const;
  /// All rows.
  std::span<const float> dense() const;
  CsrView sparse() const;

 private:
  void require_row(FeatureId feature) const;
  void require_all() const;
  void read_row(FeatureId feature) const;
  std::size_t first_of(FeatureId feature) const;
  std::size_t size_of(FeatureId feature) const { return first_of(feature + 1) - first_of(feature); }

  Place place_;
  std::uint32_t num_features_, num_nodes_;
  std::size_t num_values_;
  std::vector<std::int64_t> row_pointers_;  // empty: dense
  std::unique_ptr<float[]> values_;
  std::unique_ptr<FeatureId[]> nodes_;
  std::unique_ptr<std::atomic<bool>[]> is_read_;
  mutable std::mutex reading_;
};

}  // namespace margrove
