#include "data/weight_matrix.hpp"

#include <algorithm>
#include <utility>

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

/// Weights of several features for some nodes, values of these features in several rows, and the
/// rows' scores of the nodes.
struct Block {
  std::span<const float* const> weights;  // of each feature one for each node
  std::span<const float* const> values;   // of each row one for each feature
  std::span<float* const> scores;         // of each row one for each node
  std::size_t num_nodes;
};

// scores += values * weights, feature by feature, so that the bits are those of one after the other
__attribute__((always_inline)) inline void add_products(const Block& block) {
  const std::size_t size = block.weights.size(), num_nodes = block.num_nodes;
  std::size_t k = 0;
  for (; k + 4 <= size; k += 4) {
    const float* w0 = block.weights[k];
    const float* w1 = block.weights[k + 1];
    const float* w2 = block.weights[k + 2];
    const float* w3 = block.weights[k + 3];
    for (std::size_t r = 0; r < block.values.size(); ++r) {
      const float* x = block.values[r] + k;
      const float x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3];
      float* y = block.scores[r];
#pragma omp simd
      for (std::size_t n = 0; n < num_nodes; ++n) {
        float sum = y[n];
        sum += x0 * w0[n];
        sum += x1 * w1[n];
        sum += x2 * w2[n];
        sum += x3 * w3[n];
        y[n] = sum;
      }
    }
  }
  for (; k < size; ++k) {
    const float* w = block.weights[k];
    for (std::size_t r = 0; r < block.values.size(); ++r) {
      const float x = block.values[r][k];
      float* y = block.scores[r];
#pragma omp simd
      for (std::size_t n = 0; n < num_nodes; ++n) y[n] += x * w[n];
    }
  }
}

// Dense weights are added by the instructions of the machine, which may round once where those of
// sparse weights, below, round twice.
MARGROVE_MULTIVERSION
void add_dense(const Block& block) { add_products(block); }

void add_sparse(const Block& block) { add_products(block); }

bool have_same_nodes(const SparseRow& a, const SparseRow& b) {
  return std::ranges::equal(a.columns, b.columns);
}

SparseRow first_entries(const SparseRow& x, std::size_t count) {
  return {x.columns.first(count), x.values.first(count)};
}

/// How many last entries of the rows have the same columns.
std::size_t common_tail(std::span<const SparseRow> rows) {
  const std::span<const FeatureId> first = rows.front().columns;
  std::size_t tail = first.size();
  for (const SparseRow& row : rows.subspan(1)) {
    const std::size_t most = std::min(tail, row.size());
    tail = 0;
    while (tail < most && row.columns.rbegin()[static_cast<std::ptrdiff_t>(tail)] ==
                              first.rbegin()[static_cast<std::ptrdiff_t>(tail)]) {
      ++tail;
    }
  }
  return tail;
}

/// The last features of rows, which are the same, and the values of each row.
struct TailOfRows {
  std::span<const FeatureId> features;
  std::vector<const float*> values;
};

constexpr std::size_t kNodesTogether = 256;  // so that caches hold their scores of many rows

void add_dense_tail(const TailOfRows& tail, const WeightMatrix& W, std::span<float> scores) {
  const std::size_t num_nodes = W.num_nodes();
  std::vector<std::span<const float>> rows;
  for (const FeatureId feature : tail.features) rows.push_back(W.dense_row(feature));
  std::vector<const float*> weights(tail.features.size());
  std::vector<float*> of_rows(tail.values.size());
  for (std::size_t begin = 0; begin < num_nodes; begin += kNodesTogether) {
    for (std::size_t k = 0; k < weights.size(); ++k) {
      weights[k] = rows[k].data() + begin;
    }
    for (std::size_t r = 0; r < of_rows.size(); ++r) {
      of_rows[r] = scores.data() + r * num_nodes + begin;
    }
    add_dense({weights, tail.values, of_rows, std::min(kNodesTogether, num_nodes - begin)});
  }
}

/// Features `begin` and after, which have weights of the same nodes.
void add_same_nodes(const TailOfRows& tail, std::size_t begin, std::size_t end,
                    const WeightMatrix& W, std::span<float> scores) {
  const std::size_t num_rows = tail.values.size();
  const std::span<const FeatureId> nodes = W.sparse_row(tail.features[begin]).columns;
  std::vector<float> own(num_rows * kNodesTogether);
  std::vector<const float*> weights(end - begin), values;
  std::vector<float*> of_rows;
  for (std::size_t r = 0; r < num_rows; ++r) {
    values.push_back(tail.values[r] + begin);
    of_rows.push_back(own.data() + r * kNodesTogether);
  }
  for (std::size_t first = 0; first < nodes.size(); first += kNodesTogether) {
    const auto some = nodes.subspan(first, std::min(kNodesTogether, nodes.size() - first));
    for (std::size_t k = begin; k < end; ++k) {
      weights[k - begin] = W.sparse_row(tail.features[k]).values.data() + first;
    }
    const auto of_row = [&](std::size_t r) {
      return scores.subspan(r * W.num_nodes(), W.num_nodes());
    };
    for (std::size_t r = 0; r < num_rows; ++r) {
      for (std::size_t n = 0; n < some.size(); ++n) of_rows[r][n] = of_row(r)[some[n]];
    }
    add_sparse({weights, values, of_rows, some.size()});
    for (std::size_t r = 0; r < num_rows; ++r) {
      for (std::size_t n = 0; n < some.size(); ++n) of_row(r)[some[n]] = of_rows[r][n];
    }
  }
}

void add_sparse_tail(const TailOfRows& tail, const WeightMatrix& W, std::span<float> scores) {
  for (std::size_t begin = 0, end = 0; begin < tail.features.size(); begin = end) {
    const SparseRow weights = W.sparse_row(tail.features[begin]);
    for (end = begin + 1; end < tail.features.size(); ++end) {
      if (!have_same_nodes(weights, W.sparse_row(tail.features[end]))) break;
    }
    add_same_nodes(tail, begin, end, W, scores);
  }
}

std::size_t sparse_bytes(std::size_t num_features, std::int64_t num_nonzeros) {
  return num_features * sizeof(std::int64_t) +
         static_cast<std::size_t>(num_nonzeros) * (sizeof(FeatureId) + sizeof(float));
}

std::size_t dense_bytes(std::size_t num_features, std::size_t num_nodes) {
  return num_features * num_nodes * sizeof(float);
}

bool dense_is_smaller(std::size_t num_features, std::size_t num_nodes, std::int64_t num_nonzeros) {
  return dense_bytes(num_features, num_nodes) <= sparse_bytes(num_features, num_nonzeros);
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

WeightMatrix WeightMatrix::stored(std::shared_ptr<const StoredWeights> weights) {
  WeightMatrix W;
  W.is_dense_ = weights->is_dense();
  W.num_features_ = weights->num_features();
  W.num_nodes_ = weights->num_nodes();
  W.stored_ = std::move(weights);
  return W;
}

std::size_t WeightMatrix::num_bytes() const {
  return is_dense_ ? dense_bytes(num_features_, num_nodes_)
                   : sparse_bytes(num_features_, num_nonzeros());
}

std::int64_t WeightMatrix::num_nonzeros() const {
  if (is_dense_) {
    std::int64_t count = 0;
    WeightPass pass(*this);
    for (FeatureId j = 0; j < num_features_; ++j) {
      pass.for_each_of(j, [&](std::uint32_t, float value) { count += value != 0.0F ? 1 : 0; });
    }
    return count;
  }
  return stored_ ? static_cast<std::int64_t>(stored_->num_values()) : sparse_.num_nonzeros();
}

float WeightMatrix::at(FeatureId feature, std::uint32_t node) const {
  if (is_dense_) return dense_row(feature)[node];
  const SparseRow row = sparse_row(feature);
  const auto found = std::lower_bound(row.columns.begin(), row.columns.end(), node);
  if (found == row.columns.end() || *found != node) return 0.0F;
  return row.values[static_cast<std::size_t>(found - row.columns.begin())];
}

void WeightMatrix::scores(const SparseRow& x, std::span<float> scores) const {
  std::fill(scores.begin(), scores.end(), 0.0F);
  add_scores(x, scores);
}

void WeightMatrix::scores(std::span<const SparseRow> rows, std::span<float> scores) const {
  std::fill(scores.begin(), scores.end(), 0.0F);
  std::vector<SparseRow> known;
  for (const SparseRow& x : rows) {
    const auto end = std::lower_bound(x.columns.begin(), x.columns.end(), num_features_);
    known.push_back(first_entries(x, static_cast<std::size_t>(end - x.columns.begin())));
  }
  const std::size_t tail = known.size() > 1 ? common_tail(known) : 0;
  TailOfRows rest{tail == 0 ? std::span<const FeatureId>() : known.front().columns.last(tail), {}};
  for (std::size_t r = 0; r < known.size(); ++r) {
    const std::size_t own = known[r].size() - tail;
    add_scores(first_entries(known[r], own), scores.subspan(r * num_nodes_, num_nodes_));
    rest.values.push_back(known[r].values.data() + own);
  }
  is_dense_ ? add_dense_tail(rest, *this, scores) : add_sparse_tail(rest, *this, scores);
}

void WeightMatrix::add_scores(const SparseRow& x, std::span<float> scores) const {
  for (std::size_t k = 0; k < x.size(); ++k) {
    const FeatureId feature = x.columns[k];
    if (feature >= num_features_) break;  // ascending, so the rest is unknown too
    if (is_dense_) {
      axpy(x.values[k], dense_row(feature).data(), scores.data(), num_nodes_);
    } else {
      const SparseRow weights = sparse_row(feature);
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
  if (stored_) return true;  // as it was when the model was made
  return is_dense_ == dense_is_smaller(num_features_, num_nodes_, num_nonzeros());
}

WeightMatrix WeightMatrix::in_other_storage() const {
  WeightRows rows(num_features_, num_nodes_, num_nonzeros());
  std::vector<std::uint32_t> nodes;
  std::vector<float> values;
  for (FeatureId j = 0; j < num_features_; ++j) {
    nodes.clear();
    values.clear();
    for_each_of(j, [&](std::uint32_t node, float value) {
      if (value == 0.0F) return;
      nodes.push_back(node);
      values.push_back(value);
    });
    rows.append(nodes, values);
  }
  return std::move(rows).take();
}

WeightRows::WeightRows(std::uint32_t num_features, std::uint32_t num_nodes,
                       std::int64_t num_nonzeros)
    : is_dense_(dense_is_smaller(num_features, num_nodes, num_nonzeros)) {
  if (is_dense_) {
    dense_ = WeightMatrix::dense(num_features, num_nodes);
    return;
  }
  // Without room for all rows, their arrays would take up to three times the memory as they grow.
  std::vector<std::int64_t> row_pointers{0};
  std::vector<FeatureId> nodes;
  std::vector<float> values;
  row_pointers.reserve(std::size_t{num_features} + 1);
  nodes.reserve(static_cast<std::size_t>(num_nonzeros));
  values.reserve(static_cast<std::size_t>(num_nonzeros));
  sparse_ = CsrMatrix(num_nodes, std::move(row_pointers), std::move(nodes), std::move(values));
}

void WeightRows::append(std::span<const std::uint32_t> nodes, std::span<const float> values) {
  if (!is_dense_) return sparse_.append_row(nodes, values);
  float* const row =
      dense_.dense_values().data() + static_cast<std::size_t>(next_++) * dense_.num_nodes();
  for (std::size_t k = 0; k < nodes.size(); ++k) row[nodes[k]] = values[k];
}

WeightMatrix WeightRows::take() && {
  return is_dense_ ? std::move(dense_) : WeightMatrix::sparse(std::move(sparse_));
}

void WeightSums::append_to(CsrMatrix& by_feature) {
  std::ranges::sort(nodes_);
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  values_.clear();
  std::erase_if(nodes_, [&](std::uint32_t node) {
    const auto value = static_cast<float>(std::exchange(sums_[node], 0.0));
    if (value != 0) values_.push_back(value);
    return value == 0;
  });
  by_feature.append_row(nodes_, values_);
  nodes_.clear();
}

}  // namespace margrove
