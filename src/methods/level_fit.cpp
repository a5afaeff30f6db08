#include "methods/level_fit.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <array>
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
/// Of t at the minimum, tried after all of it.
constexpr std::array kSharesOfStack{0.75, 0.5, 0.25, 0.125, 0.0};
constexpr double kStandardErrors = 2;  // that are not chance
// Second derivatives only set the direction of a step. They are those of so many rows, and leave
// out leaves with less of a row's curvature than this share of the mean.
constexpr std::size_t kRowsOfCurvature = 1000;
constexpr double kLeastCurvature = 1e-2;

/// The columns of each leaf: those of the nodes of A(l).
detail::LongRowLists columns_of_leaves(const LevelNodes& nodes,
                                       const std::vector<NodeId>& node_of_column) {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> column(nodes.graph.num_nodes(), kNone);
  for (std::uint32_t k = 0; k < node_of_column.size(); ++k) column[node_of_column[k]] = k;
  detail::LongRowLists columns;
  std::vector<std::uint32_t> of_leaf;
  for (const NodeId leaf : nodes.leaves) {
    of_leaf.clear();
    for (const NodeId n : nodes.above[leaf]) {
      if (column[n] != kNone) of_leaf.push_back(column[n]);
    }
    columns.append_row(of_leaf);
  }
  return columns;
}

}  // namespace

/// Of rows: their weights, losses, and the first and second derivatives of the loss.
struct HeldOutLevels::Sums {
  double weight = 0, loss = 0;
  double weight_of_curvature = 0;  // of the rows whose second derivatives are counted
  Eigen::VectorXd gradient;
  Eigen::MatrixXd hessian;

  explicit Sums(std::size_t size)
      : gradient(Eigen::VectorXd::Zero(static_cast<Eigen::Index>(size))),
        hessian(Eigen::MatrixXd::Zero(gradient.size(), gradient.size())) {}
  void add(const Sums& other) {
    weight += other.weight;
    loss += other.loss;
    weight_of_curvature += other.weight_of_curvature;
    gradient += other.gradient;
    hessian += other.hessian;
  }
};

/// f(x, l) of one row, and what follows from it for each leaf.
struct HeldOutLevels::RowScores {
  std::vector<double> score;      // f(x, l)
  std::vector<double> slope;      // of the loss in f(x, l)
  std::vector<double> curvature;  // sets: in f(x, l); single leaves: exp f(x, l) / sum
  std::vector<double> of_place;   // f(x, l) and then the slopes of the leaves, by places
  double loss = 0;
};

HeldOutLevels::HeldOutLevels(const LevelNodes& nodes, const LabelSets& sets,
                             std::span<const double> row_weights)
    : num_nodes_(nodes.nodes.size()),
      num_levels_(GraphLevels(nodes.graph).size()),
      names_(nodes.names),
      num_stacked_(nodes.stacked.size()),
      num_factors_((names_ != nullptr ? 2 * num_levels_ + 1 : num_levels_) + num_stacked_),
      place_of_leaf_(nodes.graph.num_nodes()),
      sets_(sets),
      row_weights_(row_weights),
      has_single_leaves_(sets.single_label()) {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  const GraphLevels levels(nodes.graph);
  std::vector<std::uint32_t> place(nodes.graph.num_nodes(), kNone);
  const auto add_place = [&](NodeId n) {
    place[n] = static_cast<std::uint32_t>(level_of_.size());
    level_of_.push_back(levels.of(n));
  };
  for (const NodeId n : nodes.nodes) add_place(n);
  for (const NodeId leaf : nodes.leaves) {
    for (const NodeId n : nodes.above[leaf]) {
      if (place[n] == kNone) add_place(n);
    }
  }
  const std::size_t kinds = (names_ != nullptr ? 1 : 0) + num_stacked_;
  num_places_ = level_of_.size() + kinds * nodes.leaves.size();
  for (const auto& columns : nodes.stacked) columns_.push_back(columns_of_leaves(nodes, columns));
  std::vector<std::uint32_t> path;
  for (std::uint32_t l = 0; l < nodes.leaves.size(); ++l) {
    place_of_leaf_[nodes.leaves[l]] = l;
    node_of_leaf_.push_back(place[nodes.leaves[l]]);
    path.clear();
    for (const NodeId n : nodes.above[nodes.leaves[l]]) path.push_back(place[n]);
    for (std::size_t kind = 0; kind < kinds; ++kind) {
      path.push_back(static_cast<std::uint32_t>(level_of_.size() + kind * nodes.leaves.size() + l));
    }
    paths_.append_row(path);
  }
  const std::size_t terms = sets.num_rows() * std::max(paths_.items.size(), num_places_);
  step_ = std::max<std::size_t>(1, (terms + kMostTerms - 1) / kMostTerms);
}

std::size_t HeldOutLevels::num_scores() const {
  return (sets_.num_rows() + step_ - 1) / step_ * num_places_;
}

double HeldOutLevels::num_bytes() const {
  return sizeof(float) * static_cast<double>(num_scores());
}

void HeldOutLevels::add(const CsrView& X, std::span<const std::uint32_t> held_out,
                        const WeightMatrix& classifiers, const std::vector<bool>& has_rows,
                        Executor& executor, std::span<const WeightMatrix> stacked) {
  const auto fold = static_cast<std::uint32_t>(factor_of_.size());
  const auto num_levels = static_cast<std::uint32_t>(num_levels_);
  const auto is_absent = [&](std::size_t place) {
    return names_ != nullptr && (place >= num_nodes_ || (!has_rows.empty() && !has_rows[place]));
  };
  std::vector<std::uint32_t> factors = level_of_;
  for (std::size_t k = 0; k < factors.size(); ++k) factors[k] += is_absent(k) ? num_levels : 0;
  for (std::size_t factor = num_levels + (names_ != nullptr ? num_levels : 0);
       factor < num_factors_; ++factor) {
    factors.resize(factors.size() + paths_.size(), static_cast<std::uint32_t>(factor));
  }
  const std::size_t first = rows_.size();
  for (const std::uint32_t row : held_out) {
    const bool counts = row_weights_.empty() || row_weights_[row] > 0;
    if (row % step_ == 0 && counts && has_known_leaf(row, has_rows)) rows_.push_back({row, fold});
  }
  scores_.reserve(num_scores());  // of all folds
  scores_.resize(rows_.size() * num_places_);
  executor.for_each(rows_.size() - first, [&](std::size_t k, int /*worker*/) {
    const SparseRow x = X.row(rows_[first + k].row);
    const auto scores = std::span(scores_).subspan((first + k) * num_places_, num_places_);
    classifiers.scores(x, scores.first(num_nodes_));
    add_stacked(x, stacked, scores.last(num_stacked_ * paths_.size()));
    if (names_ == nullptr) return;
    for (std::size_t place = 0; place < level_of_.size(); ++place) {
      if (is_absent(place)) scores[place] = -1;
    }
    names_->scores(x, scores.subspan(level_of_.size(), paths_.size()));
  });
  factor_of_.push_back(std::move(factors));
}

/// Whether a leaf of the row can be answered: by classifiers that have seen rows of it, or by name.
bool HeldOutLevels::has_known_leaf(std::uint32_t row, const std::vector<bool>& has_rows) const {
  return std::ranges::any_of(sets_[row], [&](NodeId leaf) {
    return names_ != nullptr || has_rows.empty() || has_rows[node_of_leaf_[place_of_leaf_[leaf]]];
  });
}

/// The leaves' scores by each further method.
void HeldOutLevels::add_stacked(const SparseRow& x, std::span<const WeightMatrix> stacked,
                                std::span<float> scores) const {
  std::vector<float> of_columns;
  for (std::size_t m = 0; m < num_stacked_; ++m) {
    of_columns.assign(stacked[m].num_nodes(), 0.0F);
    stacked[m].scores(x, of_columns);
    for (std::size_t l = 0; l < paths_.size(); ++l) {
      float& score = scores[m * paths_.size() + l];
      for (const std::uint32_t column : columns_[m][l]) score += of_columns[column];
    }
  }
}

// The fit -----------------------------------------------------------------------------------------

void HeldOutLevels::score(std::size_t k, const Theta& theta, RowScores& row) const {
  const std::span<const float> s = std::span(scores_).subspan(k * num_places_, num_places_);
  const std::vector<std::uint32_t>& factor = factor_of_[rows_[k].fold];
  const bool has_offsets = theta.size() > num_factors_;
  row.of_place.resize(num_places_);
  for (std::size_t n = 0; n < num_places_; ++n) {
    const double offset =
        has_offsets && n < level_of_.size() ? theta[num_factors_ + level_of_[n]] : 0;
    row.of_place[n] = theta[factor[n]] * s[n] + offset;
  }
  const std::size_t num_leaves = paths_.size();
  row.score.assign(num_leaves, 0.0);
  for (std::size_t l = 0; l < num_leaves; ++l) {
    for (const std::uint32_t n : paths_[l]) row.score[l] += row.of_place[n];
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
  for (const NodeId leaf : sets_[rows_[k].row]) {
    row.loss -= row.score[place_of_leaf_[leaf]];
    row.slope[place_of_leaf_[leaf]] -= 1;
  }
}

void HeldOutLevels::add_gradient(std::size_t k, RowScores& row, double weight, Sums& sums) const {
  const std::span<const float> s = std::span(scores_).subspan(k * num_places_, num_places_);
  const std::vector<std::uint32_t>& factor = factor_of_[rows_[k].fold];
  const bool has_offsets = static_cast<std::size_t>(sums.gradient.size()) > num_factors_;
  std::ranges::fill(row.of_place, 0.0);
  for (std::size_t l = 0; l < paths_.size(); ++l) {
    for (const std::uint32_t n : paths_[l]) row.of_place[n] += row.slope[l];
  }
  for (std::size_t n = 0; n < num_places_; ++n) {
    const double slope = weight * row.of_place[n];
    sums.gradient[static_cast<Eigen::Index>(factor[n])] += slope * s[n];
    if (!has_offsets || n >= level_of_.size()) continue;
    sums.gradient[static_cast<Eigen::Index>(num_factors_ + level_of_[n])] += slope;
  }
}

void HeldOutLevels::add_curvature(std::size_t k, const RowScores& row, double weight,
                                  Sums& sums) const {
  const std::span<const float> s = std::span(scores_).subspan(k * num_places_, num_places_);
  const std::vector<std::uint32_t>& factor = factor_of_[rows_[k].fold];
  const Eigen::Index size = sums.gradient.size();
  const bool has_offsets = static_cast<std::size_t>(size) > num_factors_;
  Eigen::VectorXd f = Eigen::VectorXd::Zero(size), mean = f;  // d f(x, l) / d theta
  std::vector<Eigen::Index> touched;
  double total = 0, of_all = 0;
  for (const double h : row.curvature) of_all += h;
  const double least = kLeastCurvature * of_all / static_cast<double>(paths_.size());
  for (std::size_t l = 0; l < paths_.size(); ++l) {
    if (row.curvature[l] < least) continue;
    touched.clear();
    const auto touch = [&](std::size_t i, double value) {
      f[static_cast<Eigen::Index>(i)] += value;
      touched.push_back(static_cast<Eigen::Index>(i));
    };
    for (const std::uint32_t n : paths_[l]) {
      touch(factor[n], s[n]);
      if (has_offsets && n < level_of_.size()) touch(num_factors_ + level_of_[n], 1);
    }
    std::ranges::sort(touched);
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const Eigen::Index i : touched) {
      const double weighted = row.curvature[l] * f[i];
      mean[i] += weighted;
      for (const Eigen::Index j : touched) {
        if (j > i) break;
        sums.hessian(i, j) += weight * weighted * f[j];
      }
    }
    total += row.curvature[l];
    for (const Eigen::Index i : touched) f[i] = 0;
  }
  sums.weight_of_curvature += weight;
  if (has_single_leaves_) sums.hessian -= weight / total * mean * mean.transpose();
}

/// The mean over the rows, and the ridge. Every `step`-th row has its second derivatives counted;
/// 0: no derivatives.
HeldOutLevels::Sums HeldOutLevels::sums(const Theta& theta, std::size_t step,
                                        Executor& executor) const {
  const std::size_t num_blocks = (rows_.size() + kRowsPerBlock - 1) / kRowsPerBlock;
  const std::size_t size = step > 0 ? theta.size() : 0;
  std::vector<Sums> of_block(num_blocks, Sums(size));
  executor.for_ranges(rows_.size(), kRowsPerBlock,
                      [&](std::size_t begin, std::size_t end, int /*worker*/) {
                        Sums& own = of_block[begin / kRowsPerBlock];
                        RowScores row;
                        for (std::size_t k = begin; k < end; ++k) {
                          const double weight = weight_of(row_weights_, rows_[k].row);
                          score(k, theta, row);
                          own.weight += weight;
                          own.loss += weight * row.loss;
                          if (step == 0) continue;
                          add_gradient(k, row, weight, own);
                          if (k % step == 0) add_curvature(k, row, weight, own);
                        }
                      });
  Sums mean(size);
  for (const Sums& block : of_block) mean.add(block);
  const Eigen::Map<const Eigen::VectorXd> all(theta.data(),
                                              static_cast<Eigen::Index>(theta.size()));
  mean.loss = mean.loss / mean.weight + 0.5 * kRidge * all.squaredNorm();
  if (step == 0) return mean;
  mean.gradient = mean.gradient / mean.weight + kRidge * all;
  mean.hessian /= mean.weight_of_curvature;
  mean.hessian.diagonal().array() += kRidge;
  return mean;
}

/// Newton's method among the coordinates that are not held at 0 by the gradient; steps are
/// projected to v, u, w >= 0 and halved until the loss falls. Where it does not fall for second
/// derivatives of some rows, they are those of all.
HeldOutLevels::Theta HeldOutLevels::minimum(Theta theta, Stacked stacked, Executor& executor,
                                            RunControl& control) const {
  constexpr double kSmallStep = 1e-9;  // of the loss
  constexpr double kShortest = 1e-8;
  const auto is_fixed = [&](std::size_t i, const Sums& now) {
    if (i >= num_factors_) return false;
    if (stacked == Stacked::fixed && i >= num_factors_ - num_stacked_) return true;
    return theta[i] <= 0 && now.gradient[static_cast<Eigen::Index>(i)] >= 0;
  };
  std::size_t every = std::max<std::size_t>(1, rows_.size() / kRowsOfCurvature);
  for (int step = 0; step < kMaxSteps && control.proceed(); ++step) {
    Sums now = sums(theta, every, executor);
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
    for (double length = 1; length > kShortest && !has_fallen && control.proceed(); length /= 2) {
      Theta next = theta;
      for (std::size_t i = 0; i < next.size(); ++i) {
        next[i] -= length * direction[static_cast<Eigen::Index>(i)];
        if (i < num_factors_) next[i] = std::max(next[i], 0.0);
      }
      has_fallen = sums(next, 0, executor).loss < now.loss;
      if (has_fallen) theta = std::move(next);
    }
    if (!has_fallen && every == 1) break;
    if (!has_fallen) every = 1;
  }
  return theta;
}

/// Whether the highest leaf of each row is one of its own.
std::vector<std::uint8_t> HeldOutLevels::right_answers(const Theta& theta,
                                                       Executor& executor) const {
  std::vector<std::uint8_t> is_right(rows_.size());
  executor.for_ranges(
      rows_.size(), kRowsPerBlock, [&](std::size_t begin, std::size_t end, int /*worker*/) {
        RowScores row;
        for (std::size_t k = begin; k < end; ++k) {
          score(k, theta, row);
          const auto highest = std::ranges::max_element(row.score);
          const auto place = static_cast<std::uint32_t>(highest - row.score.begin());
          is_right[k] = std::ranges::any_of(
              sets_[rows_[k].row], [&](NodeId leaf) { return place_of_leaf_[leaf] == place; });
        }
      });
  return is_right;
}

/// Whether the first answers are more often right than the second ones, by more than
/// kStandardErrors of the difference.
bool HeldOutLevels::is_better(const std::vector<std::uint8_t>& first,
                              const std::vector<std::uint8_t>& second) const {
  double sum = 0, squares = 0;
  for (std::size_t k = 0; k < rows_.size(); ++k) {
    const double difference =
        weight_of(row_weights_, rows_[k].row) * (int{first[k]} - int{second[k]});
    sum += difference;
    squares += difference * difference;
  }
  const double variance = squares - sum * sum / static_cast<double>(rows_.size());
  return sum > kStandardErrors * std::sqrt(std::max(variance, 0.0));
}

/// The minimum for the largest share of t with which answers are not more often wrong, beyond
/// chance, than with the best one.
HeldOutLevels::Theta HeldOutLevels::with_less_of_stack(const Theta& all, Executor& executor,
                                                       RunControl& control) const {
  std::vector<Theta> minima{all};
  std::vector<std::vector<std::uint8_t>> answers{right_answers(all, executor)};
  for (const double share : kSharesOfStack) {
    if (!control.proceed()) break;
    Theta theta = minima.back();
    for (std::size_t i = num_factors_ - num_stacked_; i < num_factors_; ++i) {
      theta[i] = share * all[i];
    }
    minima.push_back(minimum(std::move(theta), Stacked::fixed, executor, control));
    answers.push_back(right_answers(minima.back(), executor));
  }
  const auto is_as_good = [&](const std::vector<std::uint8_t>& own) {
    return std::ranges::none_of(answers,
                                [&](const auto& others) { return is_better(others, own); });
  };
  const auto chosen = std::ranges::find_if(answers, is_as_good);
  return minima[static_cast<std::size_t>(chosen - answers.begin())];
}

/// Whether one of the stacked methods has a weight.
bool HeldOutLevels::has_stack(const Theta& theta) const {
  const auto t = std::span(theta).first(num_factors_).last(num_stacked_);
  return std::ranges::any_of(t, [](double weight) { return weight != 0; });
}

LevelFit HeldOutLevels::fit(bool with_offsets, Executor& executor, RunControl& control) const {
  LevelFit found{LevelWeights::uniform(num_levels_), {}, 0};
  found.levels.stacked.assign(num_stacked_, 0.0);
  if (names_ != nullptr) found.absent.assign(num_levels_, 0.0);
  if (rows_.empty()) return found;
  Theta theta = found.levels.factors;
  theta.resize(num_factors_, 0.0);
  if (with_offsets) theta.resize(num_factors_ + num_levels_, 0.0);
  theta = minimum(std::move(theta), Stacked::free, executor, control);
  if (has_stack(theta)) theta = with_less_of_stack(theta, executor, control);
  end_if_interrupted(control);
  const std::span<const double> all(theta), factors = all.first(num_factors_);
  const auto v = factors.first(num_levels_);
  const double w = names_ != nullptr ? factors[2 * num_levels_] : 0;
  const auto t = factors.last(num_stacked_);
  const auto is_zero = [](double x) { return x == 0; };
  if (w == 0 && std::ranges::all_of(v, is_zero) && std::ranges::all_of(t, is_zero)) return found;
  found.levels.stacked.assign(t.begin(), t.end());
  found.levels.factors.assign(v.begin(), v.end());
  if (names_ != nullptr) {
    const auto u = factors.subspan(num_levels_, num_levels_);
    found.absent.assign(u.begin(), u.end());
  }
  found.name = w;
  const auto c = all.subspan(num_factors_);
  if (with_offsets) found.levels.offsets.assign(c.begin(), c.end());
  return found;
}

namespace {

/// c of the nodes with classifiers, and c - u instead of v s of the nodes above the leaves that
/// have no rows.
std::vector<double> constant_scores(const LevelNodes& nodes, const std::vector<bool>& is_absent,
                                    const LevelFit& fit) {
  const GraphLevels levels(nodes.graph);
  std::vector<double> constants(nodes.graph.num_nodes(), 0.0);
  for (const NodeId n : nodes.nodes) constants[n] = fit.levels.offsets[levels.of(n)];
  if (nodes.names == nullptr) return constants;
  for (const NodeId leaf : nodes.leaves) {
    for (const NodeId n : nodes.above[leaf]) {
      const std::uint32_t level = levels.of(n);
      constants[n] = fit.levels.offsets[level] - (is_absent[n] ? fit.absent[level] : 0.0);
    }
  }
  return constants;
}

}  // namespace

WeightMatrix path_weights(const LevelNodes& nodes, const WeightMatrix& classifiers,
                          const std::vector<bool>& has_rows, const LevelFit& fit, double bias,
                          std::span<const WeightMatrix> stacked) {
  const std::uint32_t num_features = classifiers.num_features();
  const std::uint32_t num_nodes = nodes.graph.num_nodes();
  const GraphLevels levels(nodes.graph);
  std::vector<bool> is_absent(num_nodes, nodes.names != nullptr);
  for (std::size_t k = 0; k < nodes.nodes.size(); ++k) {
    is_absent[nodes.nodes[k]] = nodes.names != nullptr && !has_rows.empty() && !has_rows[k];
  }
  CsrMatrix by_feature(num_nodes);
  WeightSums row(num_nodes);
  for (FeatureId feature = 0; feature < num_features; ++feature) {
    classifiers.for_each_of(feature, [&](std::uint32_t place, float weight) {
      const NodeId n = nodes.nodes[place];
      if (!is_absent[n]) row.add(n, fit.levels.factors[levels.of(n)] * double{weight});
    });
    if (nodes.names != nullptr) {
      nodes.names->for_each_of(feature, [&](std::uint32_t l, float weight) {
        row.add(nodes.leaves[l], fit.name * double{weight});
      });
    }
    for (std::size_t m = 0; m < stacked.size(); ++m) {
      stacked[m].for_each_of(feature, [&](std::uint32_t column, float weight) {
        row.add(nodes.stacked[m][column], fit.levels.stacked[m] * double{weight});
      });
    }
    if (bias > 0 && feature + 1 == num_features) {
      const std::vector<double> constants = constant_scores(nodes, is_absent, fit);
      for (NodeId n = 0; n < num_nodes; ++n) row.add(n, constants[n] / bias);
    }
    row.append_to(by_feature);
  }
  return WeightMatrix::sparse(std::move(by_feature));
}

}  // namespace margrove
