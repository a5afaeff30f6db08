#include "outputs/node_scorer.hpp"

#include <algorithm>
#include <cmath>

#include "base/simd.hpp"
#include "data/csr_operations.hpp"
#include "hierarchy/graph_operations.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

// scores = sum_k x_k W_k over `width` columns, by four rows at a time, which saves memory traffic
MARGROVE_MULTIVERSION
void sweep(const FeatureId* rows, const float* x, std::size_t nonzeros, const float* w,
           std::size_t stride, std::size_t width, float* scores) {
  for (std::size_t c = 0; c < width; ++c) scores[c] = 0.0F;
  std::size_t k = 0;
  for (; k + 4 <= nonzeros; k += 4) {
    const float* w0 = w + rows[k] * stride;
    const float* w1 = w + rows[k + 1] * stride;
    const float* w2 = w + rows[k + 2] * stride;
    const float* w3 = w + rows[k + 3] * stride;
    const float x0 = x[k], x1 = x[k + 1], x2 = x[k + 2], x3 = x[k + 3];
#pragma omp simd
    for (std::size_t c = 0; c < width; ++c) {
      scores[c] += (x0 * w0[c] + x1 * w1[c]) + (x2 * w2[c] + x3 * w3[c]);
    }
  }
  for (; k < nonzeros; ++k) {
    const float* w0 = w + rows[k] * stride;
    const float x0 = x[k];
#pragma omp simd
    for (std::size_t c = 0; c < width; ++c) scores[c] += x0 * w0[c];
  }
}

// sums += sum_k x_k W_k, in double
MARGROVE_MULTIVERSION
void sweep_in_double(const FeatureId* rows, const float* x, std::size_t nonzeros, const float* w,
                     std::size_t stride, double* sums) {
  for (std::size_t k = 0; k < nonzeros; ++k) {
    const float* row = w + rows[k] * stride;
    const float value = x[k];
#pragma omp simd
    for (std::size_t c = 0; c < stride; ++c) sums[c] += static_cast<double>(value * row[c]);
  }
}

// W_k += x_k coefficients
MARGROVE_MULTIVERSION
void sweep_updates(const FeatureId* rows, const float* x, std::size_t nonzeros,
                   const float* coefficients, std::size_t stride, float* w) {
  for (std::size_t k = 0; k < nonzeros; ++k) {
    float* row = w + rows[k] * stride;
    const float value = x[k];
#pragma omp simd
    for (std::size_t c = 0; c < stride; ++c) row[c] += coefficients[c] * value;
  }
}

}  // namespace

NodeScorer::NodeScorer(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha,
                       bool all_features, std::span<const NodeId> order) {
  require(alpha.size() == graph.num_nodes(), "node scorer: ", alpha.size(),
          " node weights alpha, but must be ", graph.num_nodes());
  for (std::size_t n = 0; n < alpha.size(); ++n) {
    require(alpha[n] >= 0 && std::isfinite(alpha[n]), "node scorer: alpha of node ", n, " is ",
            alpha[n], ", but must be finite and >= 0");
  }
  constexpr FeatureId kAbsent = std::numeric_limits<FeatureId>::max();
  std::vector<FeatureId> row_of_feature(X.num_columns(), all_features ? 0 : kAbsent);
  for (const FeatureId feature : X.columns()) row_of_feature[feature] = 0;
  for (FeatureId feature = 0; feature < X.num_columns(); ++feature) {
    if (row_of_feature[feature] == kAbsent) continue;
    row_of_feature[feature] = static_cast<FeatureId>(features_.size());
    features_.push_back(feature);
  }
  std::vector<FeatureId> columns(X.columns().begin(), X.columns().end());
  for (FeatureId& column : columns) column = row_of_feature[column];
  X_ = CsrMatrix(static_cast<std::uint32_t>(features_.size()),
                 {X.row_pointers().begin(), X.row_pointers().end()}, std::move(columns),
                 {X.values().begin(), X.values().end()});
  squared_norms_ = margrove::squared_norms(X_);

  const std::vector<bool> is_common = above_every_leaf(graph);
  column_of_node_.assign(graph.num_nodes(), kNoColumn);
  for (const NodeId n : order.empty() ? graph.topological_order() : order) {
    if (alpha[n] > 0 && !is_common[n]) {
      column_of_node_[n] = num_columns_++;
      node_of_column_.push_back(n);
      sqrt_alpha_.push_back(static_cast<float>(std::sqrt(alpha[n])));
    }
  }
  stride_ = num_columns_ >= 16 ? (num_columns_ + 15) / 16 * 16 : num_columns_;
  sqrt_alpha_.resize(stride_, 0.0F);
}

void NodeScorer::scores(std::size_t i, ScaledWeights w, std::vector<float>& scores) const {
  scores.resize(stride_);
  this->scores(i, w, 0, static_cast<std::uint32_t>(stride_), scores);
}

void NodeScorer::scores(std::size_t i, ScaledWeights w, std::uint32_t begin, std::uint32_t end,
                        std::span<float> scores) const {
  const SparseRow x = X_.row(i);
  sweep(x.columns.data(), x.values.data(), x.size(), w.values.data() + begin, stride_, end - begin,
        scores.data() + begin);
  const auto scale = static_cast<float>(w.scale);
  for (std::uint32_t c = begin; c < end; ++c) scores[c] *= scale * sqrt_alpha_[c];
}

void NodeScorer::gather(std::size_t i, ScaledWeights w, Scratch& scratch) const {
  const SparseRow x = X_.row(i);
  if (sweeps(scratch.columns.size())) {
    scratch.scores.assign(stride_, 0.0);
    sweep_in_double(x.columns.data(), x.values.data(), x.size(), w.values.data(), stride_,
                    scratch.scores.data());
    for (const std::uint32_t c : scratch.columns) scratch.sums[c] += scratch.scores[c];
  } else {
    for (std::size_t k = 0; k < x.size(); ++k) {
      const float* row = w.values.data() + x.columns[k] * stride_;
      for (const std::uint32_t c : scratch.columns) {
        scratch.sums[c] += static_cast<double>(x.values[k] * row[c]);
      }
    }
  }
  for (const std::uint32_t c : scratch.columns) {
    scratch.sums[c] *= w.scale * static_cast<double>(sqrt_alpha_[c]);
  }
}

void NodeScorer::scatter(std::size_t i, Scratch& scratch, std::span<float> w) const {
  // Sums that cancel up to rounding are dropped, so that weights which no labelling needs stay 0.
  double largest = 0.0;
  for (const std::uint32_t c : scratch.columns) {
    largest = std::max(largest, std::abs(scratch.sums[c]));
  }
  std::size_t kept = 0;
  for (const std::uint32_t c : scratch.columns) {
    if (std::abs(scratch.sums[c]) > 1e-14 * largest) {
      scratch.columns[kept++] = c;
      scratch.sums[c] *= static_cast<double>(sqrt_alpha_[c]);
    } else {
      scratch.sums[c] = 0.0;
      scratch.is_used[c] = 0;
    }
  }
  scratch.columns.resize(kept);
  const SparseRow x = X_.row(i);
  if (sweeps(kept)) {
    scratch.coefficients.resize(stride_, 0.0F);
    for (const std::uint32_t c : scratch.columns) {
      scratch.coefficients[c] = static_cast<float>(scratch.sums[c]);
    }
    sweep_updates(x.columns.data(), x.values.data(), x.size(), scratch.coefficients.data(), stride_,
                  w.data());
    for (const std::uint32_t c : scratch.columns) scratch.coefficients[c] = 0.0F;
  } else {
    for (std::size_t k = 0; k < x.size(); ++k) {
      float* row = w.data() + x.columns[k] * stride_;
      for (const std::uint32_t c : scratch.columns) {
        row[c] += static_cast<float>(scratch.sums[c]) * x.values[k];
      }
    }
  }
  scratch.clear();
}

double NodeScorer::sweep_cost() const {
  return static_cast<double>(X_.num_nonzeros()) /
         static_cast<double>(std::max<std::size_t>(1, X_.num_rows())) *
         static_cast<double>(stride_);
}

WeightMatrix NodeScorer::node_weights(ScaledWeights w, std::uint32_t num_features) const {
  const auto num_nodes = static_cast<std::uint32_t>(column_of_node_.size());
  const std::size_t nonzeros = w.values.size() - static_cast<std::size_t>(std::count(
                                                     w.values.begin(), w.values.end(), 0.0F));
  const auto weight = [&](std::size_t row, std::uint32_t c) {
    return static_cast<float>(w.scale) * sqrt_alpha_[c] * w.values[row * stride_ + c];
  };
  const std::size_t dense_size = static_cast<std::size_t>(num_features) * num_nodes;
  if (nonzeros * 2 + num_features * 2 >= dense_size) {
    std::vector<float> values(dense_size, 0.0F);
    for (std::size_t row = 0; row < features_.size(); ++row) {
      float* out = values.data() + static_cast<std::size_t>(features_[row]) * num_nodes;
      for (std::uint32_t c = 0; c < num_columns_; ++c) out[node_of_column_[c]] = weight(row, c);
    }
    return WeightMatrix::dense(num_features, num_nodes, std::move(values));
  }
  std::vector<std::pair<NodeId, std::uint32_t>> by_node;  // columns in the order of their nodes
  for (std::uint32_t c = 0; c < num_columns_; ++c) by_node.emplace_back(node_of_column_[c], c);
  std::sort(by_node.begin(), by_node.end());
  std::vector<std::int64_t> pointers{0};
  std::vector<FeatureId> nodes;
  std::vector<float> values;
  pointers.reserve(num_features + 1);
  nodes.reserve(nonzeros);
  values.reserve(nonzeros);
  for (std::size_t row = 0; row < features_.size(); ++row) {
    pointers.resize(features_[row] + 1, static_cast<std::int64_t>(nodes.size()));
    for (const auto& [node, c] : by_node) {
      const float value = weight(row, c);
      if (value == 0.0F) continue;
      nodes.push_back(node);
      values.push_back(value);
    }
  }
  pointers.resize(num_features + 1, static_cast<std::int64_t>(nodes.size()));
  return WeightMatrix::sparse(
      CsrMatrix(num_nodes, std::move(pointers), std::move(nodes), std::move(values)));
}

std::vector<double> NodeScorer::squared_norms(ScaledWeights w) const {
  std::vector<double> norms(column_of_node_.size(), 0.0);
  for (std::size_t row = 0; row < features_.size(); ++row) {
    for (std::uint32_t c = 0; c < num_columns_; ++c) {
      const double value = w.scale * static_cast<double>(w.values[row * stride_ + c]);
      norms[node_of_column_[c]] += value * value;
    }
  }
  return norms;
}

std::size_t NodeScorer::num_bytes() const {
  return num_weights() * sizeof(float) +
         static_cast<std::size_t>(X_.num_nonzeros()) * (sizeof(FeatureId) + sizeof(float));
}

}  // namespace margrove
