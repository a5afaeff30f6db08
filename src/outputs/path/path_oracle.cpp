#include "outputs/path/path_oracle.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/simd.hpp"
#include "hierarchy/weight_paths.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr std::size_t kMaxTableLeaves = 2048;  // 32 MB of task losses

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
                     std::span<const double> alpha, const LeafLoss& loss, NodeStorage storage,
                     std::span<const NodeId> order, LeafChoices choices)
    : scorer_(X, graph, alpha, storage, order),
      leaf_of_row_(leaf_of_row.begin(), leaf_of_row.end()),
      leaves_(graph.leaves().begin(), graph.leaves().end()),
      is_tree_(graph.is_tree()),
      loss_(loss, graph, alpha),
      alpha_distance_(graph, alpha),
      choices_(std::move(choices)) {
  require(leaf_of_row.size() == X.num_rows(), "path model: ", leaf_of_row.size(),
          " labels, but must be one per row of X, ", X.num_rows());
  for (std::size_t i = 0; i < leaf_of_row.size(); ++i) {
    require(leaf_of_row[i] < graph.num_nodes() && graph.is_leaf(leaf_of_row[i]),
            "path model: label of row ", i, " is ", leaf_of_row[i],
            ", but must be a leaf of the graph");
  }
  place_paths(graph);
  if (leaves_.size() <= kMaxTableLeaves) {
    loss_table_.resize(leaves_.size() * leaves_.size());
    loss_row_made_ = std::make_unique<std::once_flag[]>(leaves_.size());
  }
  if (choices_.all_known()) return;
  set_losses_.resize(choices_.num_sets() * leaves_.size());
  set_row_made_ = std::make_unique<std::once_flag[]>(choices_.num_sets());
}

void PathModel::place_paths(const LabelGraph& graph) {
  rank_.assign(graph.num_nodes(), 0);
  path_pointers_ = {0};
  for (std::uint32_t k = 0; k < leaves_.size(); ++k) {
    rank_[leaves_[k]] = k;
    for (const NodeId n : graph.ancestors(leaves_[k])) {
      if (scorer_.column(n) != NodeScorer::kNoColumn) path_columns_.push_back(scorer_.column(n));
    }
    std::sort(path_columns_.begin() + static_cast<std::ptrdiff_t>(path_pointers_.back()),
              path_columns_.end());
    path_pointers_.push_back(path_columns_.size());
  }
  if (!is_tree_) return;
  const std::uint32_t none = scorer_.num_columns();
  parent_column_.assign(none, none);
  for (const NodeId leaf : leaves_) {
    const auto columns = path(leaf);
    for (std::size_t k = 1; k < columns.size(); ++k) parent_column_[columns[k]] = columns[k - 1];
    leaf_column_.push_back(columns.empty() ? none : columns.back());
  }
}

// margins = the scores of the leaves, summed up from those of the nodes
void PathModel::path_sums(Workspace& ws) const {
  ws.margins.resize(leaves_.size());
  if (is_tree_) {
    const std::uint32_t none = scorer_.num_columns();
    ws.path_scores.resize(none + std::size_t{1});
    ws.path_scores[none] = 0.0;
    for (std::uint32_t c = 0; c < none; ++c) {
      ws.path_scores[c] =
          ws.path_scores[parent_column_[c]] + static_cast<double>(ws.node_scores[c]);
    }
    for (std::size_t k = 0; k < leaves_.size(); ++k) {
      ws.margins[k] = ws.path_scores[leaf_column_[k]];
    }
    return;
  }
  for (std::size_t k = 0; k < leaves_.size(); ++k) {
    double sum = 0.0;
    for (std::size_t p = path_pointers_[k]; p < path_pointers_[k + 1]; ++p) {
      sum += static_cast<double>(ws.node_scores[path_columns_[p]]);
    }
    ws.margins[k] = sum;
  }
}

std::span<const double> PathModel::losses_of_set(std::uint32_t set) const {
  const auto row = std::span(set_losses_).subspan(set * leaves_.size(), leaves_.size());
  std::call_once(set_row_made_[set], [&] { loss_.from_nearest(choices_.set(set), row); });
  return row;
}

std::span<const double> PathModel::losses_of(std::size_t i, Workspace& ws) const {
  if (const std::uint32_t set = choices_.set_of(i); set != LeafChoices::kKnown) {
    return losses_of_set(set);
  }
  const NodeId truth = leaf_of_row_[i];
  if (loss_table_.empty()) {
    if (ws.losses_of != truth) {
      ws.losses.resize(leaves_.size());
      loss_.from(truth, ws.losses);
      ws.losses_of = truth;
    }
    return ws.losses;
  }
  const std::size_t k = rank_[truth];
  const auto row = std::span(loss_table_).subspan(k * leaves_.size(), leaves_.size());
  std::call_once(loss_row_made_[k], [&] { loss_.from(truth, row); });
  return row;
}

PathModel::Oracle PathModel::oracle(std::size_t i, ScaledWeights w, Workspace& ws) const {
  const NodeId truth = leaf_of_row_[i];
  scorer_.scores(i, w, ws.node_scores);
  path_sums(ws);
  const double truth_score = ws.margins[rank_[truth]];
  for (double& margin : ws.margins) margin -= truth_score;
  Oracle oracle;
  oracle.model_ = this;
  oracle.truth_ = truth;
  oracle.leaves_ = leaves_;
  oracle.margins_ = ws.margins;
  oracle.losses_ = losses_of(i, ws);
  ws.values.resize(leaves_.size());
  oracle.values_ = ws.values;
  return oracle;
}

NodeId PathModel::best_choice(std::size_t i, ScaledWeights w, Workspace& ws) const {
  scorer_.scores(i, w, ws.node_scores);
  path_sums(ws);
  const std::span<const NodeId> choices = choices_.set(choices_.set_of(i));
  NodeId best = choices.front();
  for (const NodeId leaf : choices) {
    if (ws.margins[rank_[leaf]] > ws.margins[rank_[best]]) best = leaf;
  }
  return best;
}

Candidate<NodeId> PathModel::Oracle::argmax(double w_m, double w_g) const {
  const double best =
      combine(w_m, margins_.data(), w_g, losses_.data(), values_.data(), leaves_.size());
  // The maximum of numbers some of which are NaN may be NaN, or none of them.
  std::size_t chosen =
      static_cast<std::size_t>(std::find(values_.begin(), values_.end(), best) - values_.begin());
  require(std::isfinite(best) && chosen < leaves_.size(),
          "training: a score of a path is not finite; the weights have overflowed: scale the "
          "features, or choose a smaller C");
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
  const SparseRow x = scorer_.row(i);
  const auto add_columns = [&](std::span<const std::uint32_t> columns,
                               std::span<const std::uint32_t> others, float sign) {
    for (const std::uint32_t c : columns) {
      if (std::binary_search(others.begin(), others.end(), c)) continue;
      for (std::size_t k = 0; k < x.size(); ++k) {
        difference.add(scorer_.index(x.columns[k], c), sign * scorer_.sqrt_alpha(c) * x.values[k]);
      }
    }
  };
  add_columns(gained, lost, 1.0F);
  add_columns(lost, gained, -1.0F);
}

void PathModel::margins(std::size_t i, std::span<const NodeId> leaves, ScaledWeights w,
                        Workspace& ws, std::span<double> margins) const {
  NodeScorer::Scratch& scratch = ws.scratch;
  for (const std::uint32_t c : path(leaf_of_row_[i])) scratch.add(c, 0.0);
  for (const NodeId leaf : leaves) {
    for (const std::uint32_t c : path(leaf)) scratch.add(c, 0.0);
  }
  scorer_.gather(i, w, scratch);
  const auto path_sum = [&](NodeId leaf) {
    double sum = 0.0;
    for (const std::uint32_t c : path(leaf)) sum += scratch.sums[c];
    return sum;
  };
  const double truth_score = path_sum(leaf_of_row_[i]);
  for (std::size_t k = 0; k < leaves.size(); ++k) margins[k] = path_sum(leaves[k]) - truth_score;
  scratch.clear();
}

void PathModel::difference_products(std::size_t i, std::span<const NodeId> leaves,
                                    std::span<double> products) const {
  // <y - t, z - t> = (|y - t|^2 + |z - t|^2 - |y - z|^2) / 2
  const std::size_t size = leaves.size();
  const NodeId truth = leaf_of_row_[i];
  for (std::size_t j = 0; j < size; ++j) {
    products[j * size + j] = scorer_.squared_norm(i) * alpha_distance_(leaves[j], truth);
  }
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t k = 0; k < j; ++k) {
      const double product =
          0.5 * (products[j * size + j] + products[k * size + k] -
                 scorer_.squared_norm(i) * alpha_distance_(leaves[j], leaves[k]));
      products[j * size + k] = products[k * size + j] = product;
    }
  }
}

void PathModel::add_differences(std::size_t i, std::span<const NodeId> leaves,
                                std::span<const double> coefficients, Workspace& ws,
                                std::vector<float>& w) const {
  double total = 0.0;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if (coefficients[k] == 0) continue;
    for (const std::uint32_t c : path(leaves[k])) ws.scratch.add(c, coefficients[k]);
    total += coefficients[k];
  }
  for (const std::uint32_t c : path(leaf_of_row_[i])) ws.scratch.add(c, -total);
  scorer_.scatter(i, ws.scratch, w);
}

std::size_t PathModel::num_bytes() const {
  return scorer_.num_bytes() + (loss_table_.size() + set_losses_.size()) * sizeof(double);
}

}  // namespace margrove
