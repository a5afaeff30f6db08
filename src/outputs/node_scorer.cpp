#include "outputs/node_scorer.hpp"

#include <algorithm>
#include <cmath>

#include "base/simd.hpp"
#include "data/column_use.hpp"
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

// scores += x times the blocks of a feature, as far as there are weights
MARGROVE_MULTIVERSION
void add_blocks(const WeightBlocks::Block* blocks, std::size_t count, float x, const float* w,
                std::size_t num_weights, float* scores) {
  constexpr std::size_t kWidth = WeightBlocks::kWidth, kAhead = 16;
  for (std::size_t b = 0; b < count; ++b) {
    // Blocks made since the last sort lie apart, so that no hardware foresees the next one.
    if (b + kAhead < count) __builtin_prefetch(w + blocks[b + kAhead].number * kWidth);
    const std::size_t begin = blocks[b].number * kWidth;
    if (begin >= num_weights) continue;
    const float* from = w + begin;
    float* to = scores + blocks[b].group * kWidth;
#pragma omp simd
    for (std::size_t c = 0; c < kWidth; ++c) to[c] += x * from[c];
  }
}

std::size_t round_up(std::size_t number, std::size_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

// Those that can differ from 0, one for each such node.
std::vector<bool> has_weights(const LabelGraph& graph, std::span<const double> alpha) {
  std::vector<bool> has = above_every_leaf(graph);
  for (NodeId n = 0; n < has.size(); ++n) has[n] = alpha[n] > 0 && !has[n];
  return has;
}

}  // namespace

double expected_blocks(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha,
                       double paths) {
  // Of a row and a node of its paths, measured: those that compete with them share many blocks.
  constexpr double kOfNode = 0.8;
  const std::vector<bool> has = has_weights(graph, alpha);
  const auto columns = static_cast<double>(std::ranges::count(has, true));
  double on_paths = 0;
  for (const NodeId leaf : graph.leaves()) {
    for (const NodeId n : graph.ancestors(leaf)) on_paths += has[n] ? 1 : 0;
  }
  const double path = on_paths / std::max(1.0, static_cast<double>(graph.leaves().size()));
  std::vector<std::uint32_t> num_rows(X.num_columns(), 0);
  for (const FeatureId feature : X.columns()) ++num_rows[feature];
  const double groups = std::ceil(columns / WeightBlocks::kWidth);
  double blocks = 0;
  for (const std::uint32_t rows : num_rows) {
    blocks += std::min(groups, rows * kOfNode * path * paths);
  }
  return blocks;
}

bool suits_blocks(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha) {
  constexpr double kLargestDense = 1e9;  // bytes that are no trouble
  const std::vector<bool> has = has_weights(graph, alpha);
  const double dense = 4 * static_cast<double>(std::ranges::count(has, true)) *
                       static_cast<double>(num_used_columns(X));
  return dense > kLargestDense &&
         WeightBlocks::bytes(1) * expected_blocks(X, graph, alpha) < 0.5 * dense;
}

NodeScorer::NodeScorer(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha,
                       NodeStorage storage, std::span<const NodeId> order)
    : has_blocks_(storage == NodeStorage::blocks) {
  require(alpha.size() == graph.num_nodes(), "node scorer: ", alpha.size(),
          " node weights alpha, but must be ", graph.num_nodes());
  for (std::size_t n = 0; n < alpha.size(); ++n) {
    require(alpha[n] >= 0 && std::isfinite(alpha[n]), "node scorer: alpha of node ", n, " is ",
            alpha[n], ", but must be finite and >= 0");
  }
  constexpr FeatureId kAbsent = std::numeric_limits<FeatureId>::max();
  std::vector<FeatureId> row_of_feature(X.num_columns(),
                                        storage == NodeStorage::all_features ? 0 : kAbsent);
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

  const std::vector<bool> has = has_weights(graph, alpha);
  column_of_node_.assign(graph.num_nodes(), kNoColumn);
  std::vector<NodeId> close;
  if (has_blocks_ && order.empty()) order = close = depth_first_order(graph);
  for (const NodeId n : order.empty() ? graph.topological_order() : order) {
    if (!has[n]) continue;
    column_of_node_[n] = num_columns_++;
    node_of_column_.push_back(n);
    sqrt_alpha_.push_back(static_cast<float>(std::sqrt(alpha[n])));
  }
  stride_ = num_columns_ >= 16 || has_blocks_ ? round_up(num_columns_, 16) : num_columns_;
  sqrt_alpha_.resize(stride_, 0.0F);
  if (!has_blocks_) return;
  blocks_ =
      WeightBlocks(features_.size(), static_cast<std::uint32_t>(stride_ / WeightBlocks::kWidth));
  expected_weights_ =
      WeightBlocks::kWidth * static_cast<std::size_t>(expected_blocks(X, graph, alpha));
}

void NodeScorer::scores(std::size_t i, ScaledWeights w, std::vector<float>& scores) const {
  scores.resize(stride_);
  if (!has_blocks_) {
    this->scores(i, w, 0, static_cast<std::uint32_t>(stride_), scores);
    return;
  }
  std::ranges::fill(scores, 0.0F);
  const SparseRow x = X_.row(i);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const auto blocks = blocks_.of(x.columns[k]);
    add_blocks(blocks.data(), blocks.size(), x.values[k], w.values.data(), w.values.size(),
               scores.data());
  }
  const auto scale = static_cast<float>(w.scale);
  for (std::size_t c = 0; c < stride_; ++c) scores[c] *= scale * sqrt_alpha_[c];
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
  if (has_blocks_) {
    gather_blocks(x, w, scratch);
  } else if (sweeps(scratch.columns.size())) {
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

template <class Visit>
void NodeScorer::for_each_group(std::span<const std::uint32_t> columns, const Visit& visit) {
  for (auto c = columns.begin(); c != columns.end();) {
    const std::uint32_t group = *c / WeightBlocks::kWidth;
    const auto end = std::find_if(
        c, columns.end(), [&](std::uint32_t each) { return each / WeightBlocks::kWidth != group; });
    visit(group, std::span(c, end));
    c = end;
  }
}

void NodeScorer::gather_blocks(const SparseRow& x, ScaledWeights w, Scratch& scratch) const {
  constexpr std::uint32_t kWidth = WeightBlocks::kWidth;
  std::ranges::sort(scratch.columns);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const auto blocks = blocks_.of(x.columns[k]);
    std::size_t place = 0;
    for_each_group(
        scratch.columns, [&](std::uint32_t group, std::span<const std::uint32_t> columns) {
          place = blocks_.place(x.columns[k], group, place);
          if (place == blocks.size() || blocks[place].group != group) return;
          const std::size_t begin = std::size_t{blocks[place].number} * kWidth;
          if (begin >= w.values.size()) return;
          for (const std::uint32_t c : columns) {
            scratch.sums[c] += static_cast<double>(x.values[k] * w.values[begin + c % kWidth]);
          }
        });
  }
}

void NodeScorer::scatter_blocks(const SparseRow& x, Scratch& scratch, std::vector<float>& w) const {
  constexpr std::uint32_t kWidth = WeightBlocks::kWidth;
  std::ranges::sort(scratch.columns);
  scratch.numbers.clear();
  for (std::size_t k = 0; k < x.size(); ++k) {
    std::size_t place = 0;
    for_each_group(scratch.columns, [&](std::uint32_t group, std::span<const std::uint32_t>) {
      place = blocks_.place(x.columns[k], group, place);
      scratch.numbers.push_back(blocks_.number(x.columns[k], group, place));
    });
  }
  if (w.size() < num_weights()) {
    // Memory that is reserved, but never used, costs nothing.
    if (w.capacity() < num_weights()) {
      w.reserve(std::max(expected_weights_, num_weights() + num_weights() / 4));
    }
    w.resize(num_weights(), 0.0F);
  }
  auto number = scratch.numbers.begin();
  for (std::size_t k = 0; k < x.size(); ++k) {
    for_each_group(scratch.columns, [&](std::uint32_t, std::span<const std::uint32_t> columns) {
      float* block = w.data() + std::size_t{*number++} * kWidth;
      for (const std::uint32_t c : columns) {
        block[c % kWidth] += static_cast<float>(scratch.sums[c]) * x.values[k];
      }
    });
  }
}

void NodeScorer::scatter(std::size_t i, Scratch& scratch, std::vector<float>& w) const {
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
  if (has_blocks_) {
    scatter_blocks(x, scratch, w);
  } else if (sweeps(kept)) {
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

template <class Visit>
void NodeScorer::for_each_weight(std::size_t row, std::span<const float> w,
                                 const Visit& visit) const {
  if (!has_blocks_) {
    for (std::uint32_t c = 0; c < num_columns_; ++c) visit(c, w[row * stride_ + c]);
    return;
  }
  constexpr std::uint32_t kWidth = WeightBlocks::kWidth;
  for (const auto& [group, number] : blocks_.of(static_cast<FeatureId>(row))) {
    const std::size_t begin = std::size_t{number} * kWidth;
    if (begin >= w.size()) continue;
    const std::uint32_t first = group * kWidth, width = std::min(kWidth, num_columns_ - first);
    for (std::uint32_t c = 0; c < width; ++c) visit(first + c, w[begin + c]);
  }
}

WeightMatrix NodeScorer::node_weights(ScaledWeights w, std::uint32_t num_features) const {
  const auto num_nodes = static_cast<std::uint32_t>(column_of_node_.size());
  const std::size_t nonzeros = w.values.size() - static_cast<std::size_t>(std::count(
                                                     w.values.begin(), w.values.end(), 0.0F));
  const auto scaled = [&](std::uint32_t c, float weight) {
    return static_cast<float>(w.scale) * sqrt_alpha_[c] * weight;
  };
  const std::size_t dense_size = static_cast<std::size_t>(num_features) * num_nodes;
  if (nonzeros * 2 + num_features * 2 >= dense_size) {
    std::vector<float> values(dense_size, 0.0F);
    for (std::size_t row = 0; row < features_.size(); ++row) {
      float* out = values.data() + static_cast<std::size_t>(features_[row]) * num_nodes;
      for_each_weight(row, w.values, [&](std::uint32_t c, float weight) {
        out[node_of_column_[c]] = scaled(c, weight);
      });
    }
    return WeightMatrix::dense(num_features, num_nodes, std::move(values));
  }
  std::vector<std::pair<NodeId, float>> of_row;
  std::vector<std::int64_t> pointers{0};
  std::vector<FeatureId> nodes;
  std::vector<float> values;
  pointers.reserve(num_features + 1);
  nodes.reserve(nonzeros);
  values.reserve(nonzeros);
  for (std::size_t row = 0; row < features_.size(); ++row) {
    pointers.resize(features_[row] + 1, static_cast<std::int64_t>(nodes.size()));
    of_row.clear();
    for_each_weight(row, w.values, [&](std::uint32_t c, float weight) {
      const float value = scaled(c, weight);
      if (value != 0.0F) of_row.emplace_back(node_of_column_[c], value);
    });
    std::ranges::sort(of_row);
    for (const auto& [node, value] : of_row) {
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
    for_each_weight(row, w.values, [&](std::uint32_t c, float weight) {
      const double value = w.scale * static_cast<double>(weight);
      norms[node_of_column_[c]] += value * value;
    });
  }
  return norms;
}

std::size_t NodeScorer::num_bytes() const {
  return num_weights() * sizeof(float) + blocks_.size() * sizeof(WeightBlocks::Block) +
         static_cast<std::size_t>(X_.num_nonzeros()) * (sizeof(FeatureId) + sizeof(float));
}

}  // namespace margrove
