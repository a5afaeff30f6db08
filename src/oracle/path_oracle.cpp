#include "margrove/oracle/path_oracle.hpp"

#include <algorithm>
#include <cmath>

#include "margrove/base/errors.hpp"
#include "margrove/base/simd.hpp"

namespace margrove {
namespace {

constexpr std::size_t kMaxTableLeaves = 2048;  // 32 MB of task losses

// scores = sum_k x_k W_k, four rows at a time to save traffic on `scores`
MARGROVE_MULTIVERSION
void sweep(const FeatureId* rows, const float* x, std::size_t nonzeros, const float* w,
           std::size_t stride, float* scores) {
  for (std::size_t c = 0; c < stride; ++c) scores[c] = 0.0F;
  std::size_t k = 0;
  for (; k + 4 <= nonzeros; k += 4) {
    const float* w0 = w + rows[k] * stride;
    const float* w1 = w + rows[k + 1] * stride;
    const float* w2 = w + rows[k + 2] * stride;
    const float* w3 = w + rows[k + 3] * stride;
    const float x0 = x[k], x1 = x[k + 1], x2 = x[k + 2], x3 = x[k + 3];
#pragma omp simd
    for (std::size_t c = 0; c < stride; ++c) {
      scores[c] += (x0 * w0[c] + x1 * w1[c]) + (x2 * w2[c] + x3 * w3[c]);
    }
  }
  for (; k < nonzeros; ++k) {
    const float* w0 = w + rows[k] * stride;
    const float x0 = x[k];
#pragma omp simd
    for (std::size_t c = 0; c < stride; ++c) scores[c] += x0 * w0[c];
  }
}

// values = w_m m + w_g g; returns the largest
MARGROVE_MULTIVERSION
double combine(double w_m, const double* m, double w_g, const double* g, double* values,
               std::size_t n) {
  double best = -std::numeric_limits<double>::infinity();
#pragma omp simd reduction(max : best)
  for (std::size_t k = 0; k < n; ++k) {
    values[k] = w_m * m[k] + w_g * g[k];
    best = values[k] > best ? values[k] : best;
  }
  return best;
}

}  // namespace

PathModel::PathModel(const CsrView& X, std::span<const NodeId> leaf_of_row, const LabelGraph& graph,
                     std::span<const double> alpha, TaskLoss loss)
    : leaf_of_row_(leaf_of_row.begin(), leaf_of_row.end()),
      leaves_(graph.leaves().begin(), graph.leaves().end()),
      num_nodes_(graph.num_nodes()),
      is_tree_(graph.is_tree()),
      loss_(loss, graph, alpha),
      alpha_distance_(graph, alpha) {
  require(leaf_of_row.size() == X.num_rows(), "path model: ", leaf_of_row.size(),
          " labels, but must be one a row of X, ", X.num_rows());
  for (std::size_t i = 0; i < leaf_of_row.size(); ++i) {
    require(leaf_of_row[i] < num_nodes_ && graph.is_leaf(leaf_of_row[i]),
            "path model: label of row ", i, " is ", leaf_of_row[i],
            ", but must be a leaf of the graph");
  }
  // Only features that occur get a row of weights.
  constexpr FeatureId kAbsent = static_cast<FeatureId>(-1);
  std::vector<FeatureId> row_of_feature(X.num_columns(), kAbsent);
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
  place_columns(graph, alpha);
  if (leaves_.size() <= kMaxTableLeaves) {
    loss_table_.resize(leaves_.size() * leaves_.size());
    for (std::size_t k = 0; k < leaves_.size(); ++k) {
      loss_.from(leaves_[k], std::span(loss_table_).subspan(k * leaves_.size(), leaves_.size()));
    }
  }
}

void PathModel::place_columns(const LabelGraph& graph, std::span<const double> alpha) {
  rank_.assign(num_nodes_, 0);
  std::vector<std::vector<NodeId>> paths(leaves_.size());
  std::vector<std::size_t> leaves_below(num_nodes_, 0);
  for (std::uint32_t k = 0; k < leaves_.size(); ++k) {
    rank_[leaves_[k]] = k;
    paths[k] = graph.ancestors(leaves_[k]);
    for (const NodeId n : paths[k]) ++leaves_below[n];
  }
  std::vector<std::uint32_t> column_of_node(num_nodes_, static_cast<std::uint32_t>(-1));
  for (const NodeId n : graph.topological_order()) {
    if (alpha[n] > 0 && leaves_below[n] < leaves_.size()) {
      column_of_node[n] = num_columns_++;
      node_of_column_.push_back(n);
      sqrt_alpha_.push_back(static_cast<float>(std::sqrt(alpha[n])));
    }
  }
  stride_ = num_columns_ >= 16 ? (num_columns_ + 15) / 16 * 16 : num_columns_;
  path_pointers_ = {0};
  for (const auto& nodes : paths) {
    for (const NodeId n : nodes) {
      if (column_of_node[n] != static_cast<std::uint32_t>(-1)) {
        path_columns_.push_back(column_of_node[n]);
      }
    }
    std::sort(path_columns_.begin() + static_cast<std::ptrdiff_t>(path_pointers_.back()),
              path_columns_.end());
    path_pointers_.push_back(path_columns_.size());
  }
  if (!is_tree_) return;
  parent_column_.assign(num_columns_, num_columns_);
  for (const NodeId leaf : leaves_) {
    const auto columns = path(leaf);
    for (std::size_t k = 1; k < columns.size(); ++k) parent_column_[columns[k]] = columns[k - 1];
    leaf_column_.push_back(columns.empty() ? num_columns_ : columns.back());
  }
}

void PathModel::path_sums(Workspace& ws) const {
  ws.margins.resize(leaves_.size());
  if (is_tree_) {
    ws.path_scores.resize(num_columns_ + 1);
    ws.path_scores[num_columns_] = 0.0;
    for (std::uint32_t c = 0; c < num_columns_; ++c) {
      ws.path_scores[c] = ws.path_scores[parent_column_[c]] +
                          static_cast<double>(sqrt_alpha_[c] * ws.node_scores[c]);
    }
    for (std::size_t k = 0; k < leaves_.size(); ++k) {
      ws.margins[k] = ws.path_scores[leaf_column_[k]];
    }
    return;
  }
  for (std::uint32_t c = 0; c < num_columns_; ++c) ws.node_scores[c] *= sqrt_alpha_[c];
  for (std::size_t k = 0; k < leaves_.size(); ++k) {
    double sum = 0.0;
    for (std::size_t p = path_pointers_[k]; p < path_pointers_[k + 1]; ++p) {
      sum += static_cast<double>(ws.node_scores[path_columns_[p]]);
    }
    ws.margins[k] = sum;
  }
}

PathModel::Oracle PathModel::oracle(std::size_t i, ScaledWeights w, Workspace& ws) const {
  const SparseRow x = X_.row(i);
  const NodeId truth = leaf_of_row_[i];
  ws.node_scores.resize(stride_);
  sweep(x.columns.data(), x.values.data(), x.size(), w.values.data(), stride_,
        ws.node_scores.data());
  path_sums(ws);
  const double truth_score = ws.margins[rank_[truth]];
  for (double& margin : ws.margins) margin = w.scale * (margin - truth_score);
  Oracle oracle;
  oracle.model_ = this;
  oracle.truth_ = truth;
  oracle.leaves_ = leaves_;
  oracle.margins_ = ws.margins;
  if (!loss_table_.empty()) {
    oracle.losses_ = std::span(loss_table_).subspan(rank_[truth] * leaves_.size(), leaves_.size());
  } else {
    if (ws.losses_of != truth) {
      ws.losses.resize(leaves_.size());
      loss_.from(truth, ws.losses);
      ws.losses_of = truth;
    }
    oracle.losses_ = ws.losses;
  }
  ws.values.resize(leaves_.size());
  oracle.values_ = ws.values;
  return oracle;
}

Candidate<NodeId> PathModel::Oracle::argmax(double w_m, double w_g) const {
  const double best =
      combine(w_m, margins_.data(), w_g, losses_.data(), values_.data(), leaves_.size());
  std::size_t chosen =
      static_cast<std::size_t>(std::find(values_.begin(), values_.end(), best) - values_.begin());
  if (w_m == 0 || w_g == 0) {
    const std::span<const double> second = w_m == 0 ? margins_ : losses_;
    for (std::size_t k = chosen + 1; k < leaves_.size(); ++k) {
      if (values_[k] == best && second[k] > second[chosen]) chosen = k;
    }
  }
  return {leaves_[chosen], margins_[chosen], losses_[chosen]};
}

Candidate<NodeId> PathModel::Oracle::evaluate(NodeId leaf) const {
  const std::uint32_t k = model_->rank_[leaf];
  return {leaf, margins_[k], losses_[k]};
}

void PathModel::difference(std::size_t i, NodeId leaf, SparseVector& difference) const {
  const auto gained = path(leaf), lost = path(leaf_of_row_[i]);
  const SparseRow x = X_.row(i);
  const auto add_columns = [&](std::span<const std::uint32_t> columns,
                               std::span<const std::uint32_t> others, float sign) {
    for (const std::uint32_t c : columns) {
      if (std::binary_search(others.begin(), others.end(), c)) continue;
      for (std::size_t k = 0; k < x.size(); ++k) {
        difference.add(x.columns[k] * stride_ + c, sign * sqrt_alpha_[c] * x.values[k]);
      }
    }
  };
  add_columns(gained, lost, 1.0F);
  add_columns(lost, gained, -1.0F);
}

void PathModel::margins(std::size_t i, std::span<const NodeId> leaves, ScaledWeights w,
                        Workspace& ws, std::span<double> margins) const {
  const auto true_path = path(leaf_of_row_[i]);
  ws.columns.assign(true_path.begin(), true_path.end());
  for (const NodeId leaf : leaves) {
    const auto columns = path(leaf);
    ws.columns.insert(ws.columns.end(), columns.begin(), columns.end());
  }
  std::sort(ws.columns.begin(), ws.columns.end());
  ws.columns.erase(std::unique(ws.columns.begin(), ws.columns.end()), ws.columns.end());
  ws.column_sums.resize(num_columns_, 0.0);
  const SparseRow x = X_.row(i);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const float* row = w.values.data() + x.columns[k] * stride_;
    for (const std::uint32_t c : ws.columns) {
      ws.column_sums[c] += static_cast<double>(x.values[k] * row[c]);
    }
  }
  for (const std::uint32_t c : ws.columns) {
    ws.column_sums[c] *= w.scale * static_cast<double>(sqrt_alpha_[c]);
  }
  const auto path_sum = [&](std::span<const std::uint32_t> columns) {
    double sum = 0.0;
    for (const std::uint32_t c : columns) sum += ws.column_sums[c];
    return sum;
  };
  const double truth_score = path_sum(true_path);
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    margins[k] = path_sum(path(leaves[k])) - truth_score;
  }
  for (const std::uint32_t c : ws.columns) ws.column_sums[c] = 0.0;
}

void PathModel::difference_products(std::size_t i, std::span<const NodeId> leaves,
                                    std::span<double> products) const {
  // <y - t, z - t> = (|y - t|^2 + |z - t|^2 - |y - z|^2) / 2
  const std::size_t size = leaves.size();
  const NodeId truth = leaf_of_row_[i];
  for (std::size_t j = 0; j < size; ++j) {
    products[j * size + j] = squared_norms_[i] * alpha_distance_(leaves[j], truth);
  }
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      const double product = 0.5 * (products[j * size + j] + products[k * size + k] -
                                    squared_norms_[i] * alpha_distance_(leaves[j], leaves[k]));
      products[j * size + k] = products[k * size + j] = product;
    }
  }
}

void PathModel::add_differences(std::size_t i, std::span<const NodeId> leaves,
                                std::span<const double> coefficients, Workspace& ws,
                                std::span<float> w) const {
  ws.column_sums.resize(num_columns_, 0.0);
  ws.columns.clear();
  const auto add_path = [&](NodeId leaf, double coefficient) {
    for (const std::uint32_t c : path(leaf)) {
      ws.column_sums[c] += coefficient;
      ws.columns.push_back(c);
    }
  };
  double total = 0.0;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if (coefficients[k] != 0) add_path(leaves[k], coefficients[k]);
    total += coefficients[k];
  }
  add_path(leaf_of_row_[i], -total);
  // What all touched paths share cancels, up to rounding; such columns are left alone.
  std::sort(ws.columns.begin(), ws.columns.end());
  ws.columns.erase(std::unique(ws.columns.begin(), ws.columns.end()), ws.columns.end());
  double largest = 0.0;
  for (const std::uint32_t c : ws.columns) largest = std::max(largest, std::abs(ws.column_sums[c]));
  const SparseRow x = X_.row(i);
  std::size_t kept = 0;
  for (const std::uint32_t c : ws.columns) {
    if (std::abs(ws.column_sums[c]) > 1e-14 * largest) {
      ws.columns[kept++] = c;
      ws.column_sums[c] *= static_cast<double>(sqrt_alpha_[c]);
    } else {
      ws.column_sums[c] = 0.0;
    }
  }
  ws.columns.resize(kept);
  for (std::size_t k = 0; k < x.size(); ++k) {
    float* row = w.data() + x.columns[k] * stride_;
    for (const std::uint32_t c : ws.columns) {
      row[c] += static_cast<float>(ws.column_sums[c]) * x.values[k];
    }
  }
  for (const std::uint32_t c : ws.columns) ws.column_sums[c] = 0.0;
}

double PathModel::oracle_cost() const {
  return static_cast<double>(X_.num_nonzeros()) /
         static_cast<double>(std::max<std::size_t>(1, X_.num_rows())) *
         static_cast<double>(stride_);
}

WeightMatrix PathModel::node_weights(ScaledWeights w, std::uint32_t num_features) const {
  const std::size_t nonzeros = w.values.size() - static_cast<std::size_t>(std::count(
                                                     w.values.begin(), w.values.end(), 0.0F));
  const auto weight = [&](std::size_t row, std::uint32_t c) {
    return static_cast<float>(w.scale) * sqrt_alpha_[c] * w.values[row * stride_ + c];
  };
  const std::size_t dense_size = static_cast<std::size_t>(num_features) * num_nodes_;
  if (nonzeros * 2 + num_features * 2 >= dense_size) {
    std::vector<float> values(dense_size, 0.0F);
    for (std::size_t row = 0; row < features_.size(); ++row) {
      float* out = values.data() + static_cast<std::size_t>(features_[row]) * num_nodes_;
      for (std::uint32_t c = 0; c < num_columns_; ++c) out[node_of_column_[c]] = weight(row, c);
    }
    return WeightMatrix::dense(num_features, num_nodes_, std::move(values));
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
      CsrMatrix(num_nodes_, std::move(pointers), std::move(nodes), std::move(values)));
}

std::vector<double> PathModel::squared_norms(ScaledWeights w) const {
  std::vector<double> norms(num_nodes_, 0.0);
  for (std::size_t row = 0; row < features_.size(); ++row) {
    for (std::uint32_t c = 0; c < num_columns_; ++c) {
      const double value = w.scale * static_cast<double>(w.values[row * stride_ + c]);
      norms[node_of_column_[c]] += value * value;
    }
  }
  return norms;
}

std::size_t PathModel::num_bytes() const {
  return num_weights() * sizeof(float) +
         static_cast<std::size_t>(X_.num_nonzeros()) * (sizeof(FeatureId) + sizeof(float)) +
         loss_table_.size() * sizeof(double);
}

}  // namespace margrove
