#include "outputs/path/bounded_path_oracle.hpp"

#include <algorithm>
#include <cmath>

#include "base/simd.hpp"

namespace margrove {
namespace {

constexpr std::uint32_t kNone = SubtreeParts::kNone;
// Scores are sums in float32. A part is skipped only if its bound is below the best value by more
// than this multiple of the absolute values of the terms.
constexpr double kRounding = 1e-5;

// reach = sum_k x_k B_k for all parts. A row of B has the largest sums of all parts, then the
// smallest.
MARGROVE_MULTIVERSION
void sum_bounds(const FeatureId* rows, const float* x, std::size_t nonzeros, float scale,
                const float* bounds, std::size_t parts, float* reach) {
  for (std::size_t p = 0; p < parts; ++p) reach[p] = 0.0F;
  for (std::size_t k = 0; k < nonzeros; ++k) {
    const float value = scale * x[k];
    const float* row = bounds + rows[k] * 2 * parts + (value < 0.0F ? parts : 0);
#pragma omp simd
    for (std::size_t p = 0; p < parts; ++p) reach[p] += value * row[p];
  }
}

}  // namespace

BoundedPathModel::BoundedPathModel(const CsrView& X, std::span<const NodeId> leaf_of_row,
                                   const LabelGraph& tree, std::span<const double> alpha,
                                   TaskLoss loss, std::uint32_t part_nodes)
    : parts_(subtree_parts(tree, part_nodes)),
      paths_(X, leaf_of_row, tree, alpha, {loss}, NodeStorage::dense, parts_.order),
      place_(tree.num_nodes()),
      part_(tree.num_nodes(), 0) {
  const std::size_t size = parts_.order.size();
  std::vector<std::uint32_t> columns_before{0};
  for (std::uint32_t p = 0; p < size; ++p) {
    const NodeId n = parts_.order[p];
    place_[n] = p;
    column_.push_back(scorer().column(n));
    weight_.push_back(paths_.loss().node_weight(n));
    is_leaf_.push_back(tree.is_leaf(n) ? 1 : 0);
    columns_before.push_back(columns_before.back() +
                             (column_.back() == NodeScorer::kNoColumn ? 0 : 1));
  }
  std::vector<double> within(size, 0.0);
  for (std::uint32_t k = 0; k < parts_.parts.size(); ++k) {
    const auto& part = parts_.parts[k];
    column_pointers_.push_back(columns_before[part.begin]);
    double longest = 0.0;
    for (std::uint32_t p = part.begin; p < part.end; ++p) {
      const std::uint32_t parent = parts_.parents[p];
      within[p] = weight_[p] + (parent == part.above ? 0.0 : within[parent]);
      longest = std::max(longest, within[p]);
      part_[parts_.order[p]] = k;
    }
    longest_.push_back(longest);
  }
  column_pointers_.push_back(scorer().num_columns());
}

std::size_t BoundedPathModel::num_bounds() const {
  return scorer().num_features() * 2 * num_parts();
}

void BoundedPathModel::bound_part(FeatureId row, std::uint32_t part, std::span<const float> w,
                                  std::vector<float>& sums, std::span<float> bounds) const {
  float& upper = bounds[bound_row(row) + part];
  float& lower = bounds[bound_row(row) + num_parts() + part];
  const auto columns = w.subspan(scorer().index(row, column_pointers_[part]),
                                 column_pointers_[part + 1] - column_pointers_[part]);
  if (std::all_of(columns.begin(), columns.end(), [](float each) { return each == 0.0F; })) {
    upper = lower = 0.0F;  // the case of most features in most parts
    return;
  }
  const auto [begin, end, above] = parts_.parts[part];
  sums.resize(end - begin);
  float largest = -std::numeric_limits<float>::infinity(), smallest = -largest;
  const float* next = columns.data();
  for (std::uint32_t p = begin; p < end; ++p) {
    const std::uint32_t parent = parts_.parents[p];
    float sum = parent == above ? 0.0F : sums[parent - begin];
    if (column_[p] != NodeScorer::kNoColumn) sum += scorer().sqrt_alpha(column_[p]) * *next++;
    sums[p - begin] = sum;
    if (is_leaf_[p] == 0) continue;
    largest = std::max(largest, sum);
    smallest = std::min(smallest, sum);
  }
  upper = largest;
  lower = smallest;
}

void BoundedPathModel::bound_weights(std::span<const float> w, std::span<float> bounds) const {
  std::vector<float> sums;
  for (FeatureId row = 0; row < scorer().num_features(); ++row) {
    for (std::uint32_t part = 0; part < num_parts(); ++part) {
      bound_part(row, part, w, sums, bounds);
    }
  }
}

void BoundedPathModel::add_differences(std::size_t i, std::span<const NodeId> leaves,
                                       std::span<const double> coefficients, Workspace& ws,
                                       std::vector<float>& w, std::span<float> bounds) const {
  add_differences(i, leaves, coefficients, ws, w);
  ws.touched.clear();
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    if (coefficients[k] != 0) ws.touched.push_back(part_[leaves[k]]);
  }
  if (ws.touched.empty()) return;
  ws.touched.push_back(part_[truth(i)]);
  std::sort(ws.touched.begin(), ws.touched.end());
  ws.touched.erase(std::unique(ws.touched.begin(), ws.touched.end()), ws.touched.end());
  for (const FeatureId row : scorer().row(i).columns) {
    for (const std::uint32_t part : ws.touched) bound_part(row, part, w, ws.sums, bounds);
  }
}

BoundedPathModel::Oracle BoundedPathModel::oracle(std::size_t i, ScaledWeights w,
                                                  std::span<const float> bounds,
                                                  Workspace& ws) const {
  const std::size_t size = parts_.order.size();
  if (ws.scores.size() != size || ++ws.visit == 0) {
    ws.node_scores.resize(scorer().num_columns());
    ws.scores.resize(size);
    ws.distances.resize(size);
    ws.on_path.assign(size, 0);
    ws.scored.assign(num_parts(), 0);
    ws.reach.resize(num_parts());
    ws.visit = 1;
  }
  Oracle oracle;
  oracle.model_ = this;
  oracle.ws_ = &ws;
  oracle.i_ = i;
  oracle.w_ = w;
  oracle.bounds_ = bounds;
  oracle.truth_ = truth(i);
  for (std::uint32_t p = place_[truth(i)]; p != kNone; p = parts_.parents[p]) {
    ws.on_path[p] = ws.visit;
    ws.distances[p] = oracle.truth_weight_;
    oracle.truth_weight_ += weight_[p];
  }
  scorer().scores(i, w, 0, column_pointers_.front(), ws.node_scores);
  oracle.walk(0, parts_.num_top);
  oracle.score(part_[truth(i)]);
  oracle.truth_score_ = ws.scores[place_[truth(i)]];
  return oracle;
}

// Sums up scores and distances along paths, for places whose node scores are known.
void BoundedPathModel::Oracle::walk(std::uint32_t begin, std::uint32_t end) const {
  const BoundedPathModel& model = *model_;
  for (std::uint32_t p = begin; p < end; ++p) {
    const std::uint32_t parent = model.parts_.parents[p], c = model.column_[p];
    const bool is_root = parent == kNone;
    ws_->scores[p] = (is_root ? 0.0 : ws_->scores[parent]) +
                     (c == NodeScorer::kNoColumn ? 0.0 : static_cast<double>(ws_->node_scores[c]));
    if (ws_->on_path[p] == ws_->visit) continue;
    ws_->distances[p] = model.weight_[p] + (is_root ? truth_weight_ : ws_->distances[parent]);
  }
}

void BoundedPathModel::Oracle::score(std::uint32_t part) const {
  if (ws_->scored[part] == ws_->visit) return;
  ws_->scored[part] = ws_->visit;
  model_->scorer().scores(i_, w_, model_->column_pointers_[part],
                          model_->column_pointers_[part + 1], ws_->node_scores);
  walk(model_->parts_.parts[part].begin, model_->parts_.parts[part].end);
}

std::size_t BoundedPathModel::Oracle::num_scored() const {
  return static_cast<std::size_t>(std::count(ws_->scored.begin(), ws_->scored.end(), ws_->visit));
}

struct BoundedPathModel::Oracle::Best {
  Candidate<NodeId> candidate{};
  double value = -std::numeric_limits<double>::infinity();
  double second = 0.0;  // decides ties
};

void BoundedPathModel::Oracle::compare(std::uint32_t part, double w_m, double w_g,
                                       Best& best) const {
  const BoundedPathModel& model = *model_;
  for (std::uint32_t p = model.parts_.parts[part].begin; p < model.parts_.parts[part].end; ++p) {
    if (model.is_leaf_[p] == 0) continue;
    const double m = ws_->scores[p] - truth_score_;
    const double g = model.paths_.loss().of_distance(ws_->distances[p]);
    const double value = w_m * m + w_g * g;
    if (value < best.value) continue;
    const double second = w_m == 0 ? m : w_g == 0 ? g : 0.0;
    const NodeId leaf = model.parts_.order[p];
    if (value > best.value || second > best.second ||
        (second == best.second && leaf < best.candidate.y)) {
      best = {{leaf, m, g}, value, second};
    }
  }
}

void BoundedPathModel::Oracle::queue_parts(double w_m, double w_g, double floor) const {
  const BoundedPathModel& model = *model_;
  const SparseRow x = model.scorer().row(i_);
  sum_bounds(x.columns.data(), x.values.data(), x.size(), static_cast<float>(w_.scale),
             bounds_.data(), model.num_parts(), ws_->reach.data());
  for (std::uint32_t k = 0; k < model.num_parts(); ++k) {
    if (ws_->scored[k] == ws_->visit) continue;
    const std::uint32_t above = model.parts_.parts[k].above;
    const double score = above == kNone ? 0.0 : ws_->scores[above];
    const double distance = above == kNone ? truth_weight_ : ws_->distances[above];
    const double reach = static_cast<double>(ws_->reach[k]);
    const double rounding =
        kRounding * (std::abs(score) + std::abs(reach) + std::abs(truth_score_));
    const double m = score + reach + rounding - truth_score_;
    const double g = model.paths_.loss().of_distance(distance + model.longest_[k]);
    const double bound = w_m * m + w_g * g;
    if (bound >= floor) ws_->queue.emplace_back(bound, k);
  }
  std::make_heap(ws_->queue.begin(), ws_->queue.end());
}

Candidate<NodeId> BoundedPathModel::Oracle::argmax(double w_m, double w_g) const {
  Best best;
  for (std::uint32_t k = 0; k < model_->num_parts(); ++k) {
    if (bounds_.empty()) score(k);
    if (ws_->scored[k] == ws_->visit) compare(k, w_m, w_g, best);
  }
  ws_->queue.clear();
  if (!bounds_.empty()) queue_parts(w_m, w_g, best.value);
  while (!ws_->queue.empty()) {
    const auto [bound, part] = ws_->queue.front();
    if (bound < best.value) break;
    std::pop_heap(ws_->queue.begin(), ws_->queue.end());
    ws_->queue.pop_back();
    score(part);
    compare(part, w_m, w_g, best);
  }
  return best.candidate;
}

Candidate<NodeId> BoundedPathModel::Oracle::evaluate(NodeId leaf) const {
  score(model_->part_[leaf]);
  const std::uint32_t p = model_->place_[leaf];
  return {leaf, ws_->scores[p] - truth_score_,
          model_->paths_.loss().of_distance(ws_->distances[p])};
}

}  // namespace margrove
