#include "methods/level_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/out_of_time.hpp"
#include "model/answer_metrics.hpp"
#include "numerics/log_number.hpp"

namespace margrove {
namespace {

constexpr double kRidge = 1e-6;  // of what rows do not decide, as c where all leaves are as deep
constexpr int kMaxSteps = 100;
constexpr std::size_t kRowsPerBlock = 64;
/// A leaf with less of a row's curvature than this share of the mean is left out of the second
/// derivatives, which only set the direction of a step.
constexpr double kLeastCurvature = 1e-3;

}  // namespace

/// Of rows: their weights, losses, and the first and second derivatives of the loss.
struct HeldOutLevels::Sums {
  double weight = 0, loss = 0;
  Eigen::VectorXd gradient;
  Eigen::MatrixXd hessian;

  explicit Sums(std::size_t size)
      : gradient(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(size))),
        hessian(Eigen::MatrixXd::Zero(gradient.size(), gradient.size())) {}
  void add(const Sums& other) {
    weight += other.weight;
    loss += other.loss;
    gradient += other.gradient;
    hessian += other.hessian;
  }
};

/// f(x, l) of one row, and what follows from it for each leaf.
struct HeldOutLevels::RowScores {
  std::vector<double> score;      // f(x, l)
  std::vector<double> slope;      // of the loss in f(x, l)
  std::vector<double> curvature;  // sets: in f(x, l); single leaves: exp f(x, l) / sum
  double loss = 0;
};

HeldOutLevels::HeldOutLevels(const LevelNodes& nodes, const LabelSets& sets,
                             std::span<const double> row_weights)
    : num_nodes_(nodes.nodes.size()),
      num_levels_(GraphLevels(nodes.graph).size()),
      paths_(ancestor_sets(nodes.graph, nodes.leaves)),
      place_of_leaf_(nodes.graph.num_nodes()),
      sets_(sets),
      row_weights_(row_weights),
      has_single_leaves_(sets.single_label()) {
  const GraphLevels levels(nodes.graph);
  std::vector<std::uint32_t> place(nodes.graph.num_nodes());
  for (std::uint32_t k = 0; k < num_nodes_; ++k) {
    place[nodes.nodes[k]] = k;
    level_of_.push_back(levels.of(nodes.nodes[k]));
  }
  detail::LongRowLists paths;
  std::vector<std::uint32_t> path;
  for (std::uint32_t l = 0; l < nodes.leaves.size(); ++l) {
    place_of_leaf_[nodes.leaves[l]] = l;
    path.clear();
    for (const NodeId n : paths_[nodes.leaves[l]]) path.push_back(place[n]);
    paths.append_row(path);
  }
  paths_ = std::move(paths);
  const std::size_t terms = sets.num_rows() * std::max(paths_.items.size(), num_nodes_);
  step_ = std::max<std::size_t>(1, (terms + kMostTerms - 1) / kMostTerms);
}

double HeldOutLevels::num_bytes(std::size_t num_rows, std::size_t num_nodes) {
  const double cells = static_cast<double>(num_rows) * static_cast<double>(num_nodes);
  return sizeof(float) * std::min(cells, static_cast<double>(kMostTerms + num_nodes));
}

void HeldOutLevels::add(const CsrView& X, std::span<const std::uint32_t> held_out,
                        const WeightMatrix& classifiers, Executor& executor) {
  const std::size_t first = rows_.size();
  for (const std::uint32_t row : held_out) {
    const bool counts = row_weights_.empty() || row_weights_[row] > 0;
    if (row % step_ == 0 && counts && !sets_[row].empty()) rows_.push_back(row);
  }
  scores_.resize(rows_.size() * num_nodes_);
  executor.for_each(rows_.size() - first, [&](std::size_t k, int /*worker*/) {
    classifiers.scores(X.row(rows_[first + k]),
                       std::span(scores_).subspan((first + k) * num_nodes_, num_nodes_));
  });
}

// The fit -----------------------------------------------------------------------------------------

void HeldOutLevels::score(std::size_t k, const Theta& theta, RowScores& row) const {
  const std::span<const float> s = std::span(scores_).subspan(k * num_nodes_, num_nodes_);
  const bool has_offsets = theta.size() > num_levels_;
  std::vector<double> of_node(num_nodes_);
  for (std::size_t n = 0; n < num_nodes_; ++n) {
    of_node[n] = theta[level_of_[n]] * s[n] + (has_offsets ? theta[num_levels_ + level_of_[n]] : 0);
  }
  const std::size_t num_leaves = paths_.size();
  row.score.assign(num_leaves, 0.0);
  for (std::size_t l = 0; l < num_leaves; ++l) {
    for (const std::uint32_t n : paths_[l]) row.score[l] += of_node[n];
  }
  row.slope.resize(num_leaves);
  row.curvature.resize(num_leaves);
  row.loss = 0;
  if (has_single_leaves_) {
    const double highest = std::ranges::max(row.score);
    double total = 0;
    for (std::size_t l = 0; l < num_leaves; ++l) {
      total += row.curvature[l] = std::exp(row.score[l] - highest);
    }
    for (std::size_t l = 0; l < num_leaves; ++l) row.slope[l] = row.curvature[l] /= total;
    row.loss = highest + std::log(total);
  } else {
    for (std::size_t l = 0; l < num_leaves; ++l) {
      row.loss += softplus(row.score[l]);
      row.slope[l] = sigmoid(row.score[l]);
      row.curvature[l] = row.slope[l] * (1 - row.slope[l]);
    }
  }
  for (const NodeId leaf : sets_[rows_[k]]) {
    row.loss -= row.score[place_of_leaf_[leaf]];
    row.slope[place_of_leaf_[leaf]] -= 1;
  }
}

void HeldOutLevels::add_derivatives(std::size_t k, const RowScores& row, double weight,
                                    Sums& sums) const {
  const std::span<const float> s = std::span(scores_).subspan(k * num_nodes_, num_nodes_);
  const Eigen::Index size = sums.gradient.size();
  const bool has_offsets = static_cast<std::size_t>(size) > num_levels_;
  const auto offset = static_cast<Eigen::Index>(num_levels_);
  Eigen::VectorXd f = Eigen::VectorXd::Zero(size), mean = f;  // d f(x, l) / d theta
  std::vector<Eigen::Index> touched;
  double total = 0, of_all = 0;
  for (const double h : row.curvature) of_all += h;
  const double least = kLeastCurvature * of_all / static_cast<double>(paths_.size());
  for (std::size_t l = 0; l < paths_.size(); ++l) {
    touched.clear();
    for (const std::uint32_t n : paths_[l]) {
      const auto level = static_cast<Eigen::Index>(level_of_[n]);
      sums.gradient[level] += weight * row.slope[l] * s[n];
      if (has_offsets) sums.gradient[offset + level] += weight * row.slope[l];
      if (row.curvature[l] < least) continue;
      f[level] += s[n];
      touched.push_back(level);
      if (!has_offsets) continue;
      f[offset + level] += 1;
      touched.push_back(offset + level);
    }
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const Eigen::Index i : touched) {
      const double factor = row.curvature[l] * f[i];
      mean[i] += factor;
      for (const Eigen::Index j : touched) {
        if (j > i) break;
        sums.hessian(i, j) += weight * factor * f[j];
      }
    }
    if (!touched.empty()) total += row.curvature[l];
    for (const Eigen::Index i : touched) f[i] = 0;
  }
  if (has_single_leaves_) sums.hessian -= weight / total * mean * mean.transpose();
}

/// The mean over the rows, and the ridge.
HeldOutLevels::Sums HeldOutLevels::sums(const Theta& theta, bool with_derivatives,
                                        Executor& executor) const {
  const std::size_t num_blocks = (rows_.size() + kRowsPerBlock - 1) / kRowsPerBlock;
  const std::size_t size = with_derivatives ? theta.size() : 0;
  std::vector<Sums> of_block(num_blocks, Sums(size));
  executor.for_ranges(rows_.size(), kRowsPerBlock,
                      [&](std::size_t begin, std::size_t end, int /*worker*/) {
                        Sums& own = of_block[begin / kRowsPerBlock];
                        RowScores row;
                        for (std::size_t k = begin; k < end; ++k) {
                          const double weight = weight_of(row_weights_, rows_[k]);
                          score(k, theta, row);
                          own.weight += weight;
                          own.loss += weight * row.loss;
                          if (with_derivatives) add_derivatives(k, row, weight, own);
                        }
                      });
  Sums mean(size);
  for (const Sums& block : of_block) mean.add(block);
  const Eigen::Map<const Eigen::VectorXd> all(theta.data(),
                                              static_cast<Eigen::Index>(theta.size()));
  mean.loss = mean.loss / mean.weight + 0.5 * kRidge * all.squaredNorm();
  if (!with_derivatives) return mean;
  mean.gradient = mean.gradient / mean.weight + kRidge * all;
  mean.hessian /= mean.weight;
  mean.hessian.diagonal().array() += kRidge;
  return mean;
}

/// Newton's method among the coordinates that are not held at v = 0 by the gradient; steps are
/// projected to v >= 0 and halved until the loss falls.
HeldOutLevels::Theta HeldOutLevels::minimum(Theta theta, Executor& executor,
                                            RunControl& control) const {
  constexpr double kSmallStep = 1e-9;  // of the loss
  constexpr double kShortest = 1e-8;
  const auto is_fixed = [&](std::size_t i, const Sums& now) {
    return i < num_levels_ && theta[i] <= 0 && now.gradient[static_cast<Eigen::Index>(i)] >= 0;
  };
  for (int step = 0; step < kMaxSteps && control.proceed(); ++step) {
    Sums now = sums(theta, true, executor);
    for (std::size_t i = 0; i < theta.size(); ++i) {
      if (!is_fixed(i, now)) continue;
      const auto at = static_cast<Eigen::Index>(i);
      now.gradient[at] = 0;
      now.hessian.row(at).setZero();
      now.hessian.col(at).setZero();
      now.hessian(at, at) = 1;
    }
    const Eigen::VectorXd direction =
        now.hessian.selfadjointView<Eigen::Lower>().ldlt().solve(now.gradient);
    if (direction.dot(now.gradient) <= kSmallStep * std::max(now.loss, kSmallStep)) break;
    bool has_fallen = false;
    for (double length = 1; length > kShortest && !has_fallen; length /= 2) {
      Theta next = theta;
      for (std::size_t i = 0; i < next.size(); ++i) {
        next[i] -= length * direction[static_cast<Eigen::Index>(i)];
        if (i < num_levels_) next[i] = std::max(next[i], 0.0);
      }
      has_fallen = sums(next, false, executor).loss < now.loss;
      if (has_fallen) theta = std::move(next);
    }
    if (!has_fallen) break;
  }
  return theta;
}

LevelWeights HeldOutLevels::fit(bool with_offsets, Executor& executor, RunControl& control) const {
  LevelWeights levels = LevelWeights::uniform(num_levels_);
  if (rows_.empty()) return levels;
  Theta theta = levels.factors;
  if (with_offsets) theta.resize(2 * num_levels_, 0.0);
  theta = minimum(std::move(theta), executor, control);
  end_if_interrupted(control);
  const auto num_levels = static_cast<std::ptrdiff_t>(num_levels_);
  if (std::all_of(theta.begin(), theta.begin() + num_levels, [](double v) { return v == 0; })) {
    return levels;
  }
  levels.factors.assign(theta.begin(), theta.begin() + num_levels);
  if (with_offsets) levels.offsets.assign(theta.begin() + num_levels, theta.end());
  return levels;
}

WeightMatrix path_weights(const LevelNodes& nodes, const WeightMatrix& classifiers,
                          const LevelWeights& levels, double bias) {
  const std::uint32_t num_features = classifiers.num_features();
  const GraphLevels graph_levels(nodes.graph);
  CsrMatrix by_feature(nodes.graph.num_nodes());
  std::vector<NodeId> columns;
  std::vector<float> values;
  const auto add = [&](std::uint32_t place, double weight, bool is_intercept) {
    const std::uint32_t level = graph_levels.of(nodes.nodes[place]);
    const double offset = is_intercept ? levels.offsets[level] / bias : 0;
    const auto value = static_cast<float>(levels.factors[level] * weight + offset);
    if (value == 0) return;
    columns.push_back(nodes.nodes[place]);
    values.push_back(value);
  };
  for (FeatureId feature = 0; feature < num_features; ++feature) {
    const bool is_intercept = bias > 0 && feature + 1 == num_features;
    columns.clear();
    values.clear();
    if (classifiers.is_dense() || is_intercept) {
      for (std::uint32_t n = 0; n < nodes.nodes.size(); ++n) {
        add(n, classifiers.at(feature, n), is_intercept);
      }
    } else {
      const SparseRow row = classifiers.sparse_values().row(feature);
      for (std::size_t k = 0; k < row.size(); ++k) add(row.columns[k], row.values[k], false);
    }
    by_feature.append_row(columns, values);
  }
  return WeightMatrix::sparse(std::move(by_feature));
}

}  // namespace margrove
