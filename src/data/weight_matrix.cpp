#include "data/weight_matrix.hpp"

#include <algorithm>

#include "base/simd.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
// y += a * x
MARGROVE_MULTIVERSION
void axpy(float a, const float* x, float* y, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) y[i] += a * x[i];
}

std::size_t sparse_bytes(std::size_t num_features, std::int64_t num_nonzeros) {
  return num_features * sizeof(std::int64_t) +
         static_cast<std::size_t>(num_nonzeros) * (sizeof(FeatureId) + sizeof(float));
}
}  // namespace

WeightMatrix WeightMatrix::dense(std::uint32_t num_features, std::uint32_t num_nodes) {
  const std::size_t size = static_cast<std::size_t>(num_features) * num_nodes;
  return dense(num_features, num_nodes, std::vector<float>(size, 0.0F));
}

WeightMatrix WeightMatrix::dense(std::uint32_t num_features, std::uint32_t num_nodes,
                                 std::vector<float> values) {
  require(values.size() == static_cast<std::size_t>(num_features) * num_nodes,
          "weights: ", values.size(), " values, but must be ", num_features, " x ", num_nodes);
  WeightMatrix W;
  W.num_features_ = num_features;
  W.num_nodes_ = num_nodes;
  W.dense_ = std::move(values);
  return W;
}

WeightMatrix WeightMatrix::sparse(CsrMatrix by_feature) {
  WeightMatrix W;
  W.is_dense_ = false;
  W.num_features_ = static_cast<std::uint32_t>(by_feature.num_rows());
  W.num_nodes_ = by_feature.num_columns();
  W.sparse_ = std::move(by_feature);
  return W;
}

std::size_t WeightMatrix::num_bytes() const {
  return is_dense_ ? dense_.size() * sizeof(float)
                   : sparse_bytes(num_features_, sparse_.num_nonzeros());
}

std::int64_t WeightMatrix::num_nonzeros() const {
  if (!is_dense_) return sparse_.num_nonzeros();
  return static_cast<std::int64_t>(dense_.size()) - std::count(dense_.begin(), dense_.end(), 0.0F);
}

float WeightMatrix::at(FeatureId feature, std::uint32_t node) const {
  if (is_dense_) return dense_[static_cast<std::size_t>(feature) * num_nodes_ + node];
  const SparseRow row = sparse_.row(feature);
  const auto found = std::lower_bound(row.columns.begin(), row.columns.end(), node);
  if (found == row.columns.end() || *found != node) return 0.0F;
  return row.values[static_cast<std::size_t>(found - row.columns.begin())];
}

void WeightMatrix::scores(const SparseRow& x, std::span<float> scores) const {
  std::fill(scores.begin(), scores.end(), 0.0F);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const FeatureId feature = x.columns[k];
    if (feature >= num_features_) break;  // ascending, so the rest is unknown too
    if (is_dense_) {
      axpy(x.values[k], dense_.data() + static_cast<std::size_t>(feature) * num_nodes_,
           scores.data(), num_nodes_);
    } else {
      const SparseRow weights = sparse_.row(feature);
      for (std::size_t m = 0; m < weights.size(); ++m) {
        scores[weights.columns[m]] += x.values[k] * weights.values[m];
      }
    }
  }
}

WeightMatrix WeightMatrix::compacted() const& { return is_compact() ? *this : in_other_storage(); }

WeightMatrix WeightMatrix::compacted() && {
  return is_compact() ? std::move(*this) : in_other_storage();
}

bool WeightMatrix::is_compact() const {
  const std::size_t dense_bytes =
      static_cast<std::size_t>(num_features_) * num_nodes_ * sizeof(float);
  return is_dense_ == (dense_bytes <= sparse_bytes(num_features_, num_nonzeros()));
}

WeightMatrix WeightMatrix::in_other_storage() const {
  if (!is_dense_) {
    WeightMatrix W = dense(num_features_, num_nodes_);
    for (FeatureId j = 0; j < num_features_; ++j) {
      const SparseRow row = sparse_.row(j);
      for (std::size_t m = 0; m < row.size(); ++m) {
        W.dense_[static_cast<std::size_t>(j) * num_nodes_ + row.columns[m]] = row.values[m];
      }
    }
    return W;
  }
  CsrMatrix by_feature(num_nodes_);
  std::vector<FeatureId> nodes;
  std::vector<float> values;
  for (FeatureId j = 0; j < num_features_; ++j) {
    nodes.clear();
    values.clear();
    for (std::uint32_t n = 0; n < num_nodes_; ++n) {
      const float w = dense_[static_cast<std::size_t>(j) * num_nodes_ + n];
      if (w == 0.0F) continue;
      nodes.push_back(n);
      values.push_back(w);
    }
    by_feature.append_row(nodes, values);
  }
  return sparse(std::move(by_feature));
}

}  // namespace margrove
