#pragma once
// Weights in a model file, of which those of a feature are read when they are first needed.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_store.hpp"
#include "margrove/csr_matrix.hpp"

namespace margrove {

/// num_features x num_nodes weights, dense or CSR, one row per feature. A row is read and checked
/// once, by the first call that asks for it (but a Pass keeps none); its memory is not touched
/// before. So a model of hundreds of megabytes answers its first rows after reading some of them.
/// Safe to use from many threads. All calls throw ModelFileError where the file has become shorter
/// or has changed, where a weight is not finite, or where the nodes of a row are not ascending or
/// out of range.
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

  /// Reads and checks all rows, and keeps none.
  static void check(std::shared_ptr<const StoredWeights> weights);

  bool is_dense() const { return row_pointers_.empty(); }
  std::uint32_t num_features() const { return num_features_; }
  std::uint32_t num_nodes() const { return num_nodes_; }
  std::size_t num_values() const { return num_values_; }

  std::span<const float> dense_row(FeatureId feature) const;
  SparseRow sparse_row(FeatureId feature) const;
  /// All rows.
  std::span<const float> dense() const;
  CsrView sparse() const;

  /// Reads the rows of ascending features in blocks, which it does not keep. Rows that the weights
  /// have read are not read again. For one thread.
  class Pass {
   public:
    explicit Pass(std::shared_ptr<const StoredWeights> weights) : weights_(std::move(weights)) {}
    /// Without columns if the weights are dense. Valid until the next call.
    SparseRow row(FeatureId feature);

   private:
    std::shared_ptr<const StoredWeights> weights_;
    FeatureId begin_ = 0, end_ = 0;  // the features of the block
    std::vector<float> values_;
    std::vector<FeatureId> nodes_;
  };

 private:
  /// Memory for consecutive rows.
  struct Rows {
    float* values;
    FeatureId* nodes;  // of sparse weights
  };
  bool is_read(FeatureId feature) const {
    return is_read_[feature].load(std::memory_order_acquire);
  }
  void require_row(FeatureId feature) const;
  void require_all() const;
  /// Reads features [begin, end), of which none has been read, and checks them. Under the lock.
  void keep_rows(FeatureId begin, FeatureId end) const;
  /// Does not check them.
  void read_rows(FeatureId begin, FeatureId end, Rows out) const;
  void check_row(FeatureId feature, const SparseRow& row) const;
  /// The end of the features that are read together with the first one.
  FeatureId end_of_block(FeatureId first) const;
  SparseRow row_in(Rows rows, std::size_t first, std::size_t size) const;
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
