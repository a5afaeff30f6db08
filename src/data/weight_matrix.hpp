#pragma once
// The weights of many nodes (labels) at once.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "data/stored_weights.hpp"
#include "margrove/csr_matrix.hpp"

namespace margrove {

/// num_features x num_nodes float32 weights, feature-major: the weights of one feature for all
/// nodes are contiguous, so that scoring a sparse row reads one block of memory per feature. The
/// storage is dense, or CSR with one row per feature. Weights that lie in a file are read as they
/// are needed, and then all calls may throw as those of StoredWeights.
class WeightMatrix {
 public:
  WeightMatrix() = default;
  static WeightMatrix dense(std::uint32_t num_features, std::uint32_t num_nodes);
  static WeightMatrix dense(std::uint32_t num_features, std::uint32_t num_nodes,
                            std::vector<float> values);
  /// `by_feature` has one row per feature and one column per node.
  static WeightMatrix sparse(CsrMatrix by_feature);
  /// Copies share what has been read.
  static WeightMatrix stored(std::shared_ptr<const StoredWeights> weights);

  bool is_dense() const { return is_dense_; }
  std::uint32_t num_features() const { return num_features_; }
  std::uint32_t num_nodes() const { return num_nodes_; }
  std::size_t num_bytes() const;
  std::int64_t num_nonzeros() const;  // dense stored weights are read for it and not kept
  float at(FeatureId feature, std::uint32_t node) const;
  /// Calls visit(node, weight) in the order of the nodes: for all nodes if the storage is dense,
  /// otherwise for those with a weight. Features >= num_features() have none.
  template <class Visit>
  void for_each_of(FeatureId feature, const Visit& visit) const {
    if (feature >= num_features_) return;
    if (is_dense_) {
      const std::span<const float> row = dense_row(feature);
      for (std::uint32_t n = 0; n < num_nodes_; ++n) visit(n, row[n]);
    } else {
      const SparseRow row = sparse_row(feature);
      for (std::size_t k = 0; k < row.size(); ++k) visit(row.columns[k], row.values[k]);
    }
  }

  /// scores[n] = sum_j x_j W[j][n] for all nodes; features >= num_features() count as unknown and
  /// are skipped. scores.size() == num_nodes().
  void scores(const SparseRow& x, std::span<float> scores) const;
  /// The same bits for several rows, one after the other. Weights of the last features, if
  /// the rows end with the same ones, as they do with a vector, are read once for all of them.
  void scores(std::span<const SparseRow> rows, std::span<float> scores) const;

  /// The same weights in whichever storage is smaller.
  WeightMatrix compacted() const&;
  WeightMatrix compacted() &&;  // no copy if the storage stays

  std::span<float> dense_values() { return dense_; }  // not of stored weights
  std::span<const float> dense_values() const { return stored_ ? stored_->dense() : dense_; }
  CsrView sparse_values() const { return stored_ ? stored_->sparse() : sparse_; }
  /// The weights of one feature below num_features().
  std::span<const float> dense_row(FeatureId feature) const {
    if (stored_) return stored_->dense_row(feature);
    return {dense_.data() + static_cast<std::size_t>(feature) * num_nodes_, num_nodes_};
  }
  SparseRow sparse_row(FeatureId feature) const {
    return stored_ ? stored_->sparse_row(feature) : sparse_.row(feature);
  }

 private:
  friend class WeightPass;
  void add_scores(const SparseRow& x, std::span<float> scores) const;
  bool is_compact() const;
  WeightMatrix in_other_storage() const;

  bool is_dense_ = true;
  std::uint32_t num_features_ = 0;
  std::uint32_t num_nodes_ = 0;
  std::vector<float> dense_;
  CsrMatrix sparse_;
  std::shared_ptr<const StoredWeights> stored_;
};

/// Reads the weights of all features in ascending order. Those that lie in a file and have not been
/// read are read in blocks and not kept. Throws as WeightMatrix.
class WeightPass {
 public:
  /// `weights` must outlive the pass.
  explicit WeightPass(const WeightMatrix& weights) : weights_(weights) {
    if (weights.stored_) stored_.emplace(weights.stored_);
  }
  /// WeightMatrix::for_each_of().
  template <class Visit>
  void for_each_of(FeatureId feature, const Visit& visit) {
    if (!stored_) return weights_.for_each_of(feature, visit);
    if (feature >= weights_.num_features()) return;
    const SparseRow row = stored_->row(feature);
    if (weights_.is_dense()) {
      for (std::uint32_t n = 0; n < weights_.num_nodes(); ++n) visit(n, row.values[n]);
    } else {
      for (std::size_t k = 0; k < row.size(); ++k) visit(row.columns[k], row.values[k]);
    }
  }

 private:
  const WeightMatrix& weights_;
  std::optional<StoredWeights::Pass> stored_;
};

/// Makes a matrix of rows in the storage that is smaller for so many weights other than zero.
class WeightRows {
 public:
  WeightRows(std::uint32_t num_features, std::uint32_t num_nodes, std::int64_t num_nonzeros);
  /// The weights of the next feature. The nodes are ascending.
  void append(std::span<const std::uint32_t> nodes, std::span<const float> values);
  /// After the rows of all features.
  WeightMatrix take() &&;

 private:
  bool is_dense_;
  WeightMatrix dense_;
  FeatureId next_ = 0;  // row of dense_
  CsrMatrix sparse_;
};

/// The weights of a feature as sums, of which most are zero.
class WeightSums {
 public:
  explicit WeightSums(std::uint32_t num_nodes) : sums_(num_nodes) {}
  void add(std::uint32_t node, double weight) {
    if (sums_[node] == 0) nodes_.push_back(node);
    sums_[node] += weight;
  }
  /// Appends the row of the sums that are not zero, and sets all to zero.
  void append_to(CsrMatrix& by_feature);

 private:
  std::vector<double> sums_;
  std::vector<std::uint32_t> nodes_;  // all whose sums are not zero
  std::vector<float> values_;
};

}  // namespace margrove
