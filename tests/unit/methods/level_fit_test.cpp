#include "methods/level_fit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/out_of_time.hpp"
#include "base/random.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;

/// Scores of rows at nodes, and the rows' leaves.
struct Problem {
  LabelGraph graph;
  std::vector<NodeId> nodes, leaves;
  NodeLists above;                      // of the leaves
  std::vector<std::uint32_t> level_of;  // of each of the nodes
  std::vector<std::vector<float>> scores;
  std::vector<std::vector<NodeId>> sets;
  std::vector<double> weights;  // empty: all 1

  LevelNodes level_nodes() const { return {graph, nodes, leaves, above}; }
  std::size_t num_levels() const { return GraphLevels(graph).size(); }
  bool is_above(NodeId n, NodeId leaf) const { return std::ranges::binary_search(above[leaf], n); }
};

/// 0 above 3 and 4, 1 above 4 and 5, 2 (without a classifier) above 6, 5 above 7: the leaves 3, 4
/// and 7 are all of the last level, and 5 is an inner node of level 1.
Problem on_dag() {
  const std::vector<LabelEdge> edges{{0, 3}, {0, 4}, {1, 4}, {1, 5}, {2, 6}, {5, 7}};
  Problem problem;
  problem.graph = LabelGraph::build(8, edges);
  problem.nodes = {0, 1, 3, 4, 5, 7};
  problem.leaves = {3, 4, 7};
  problem.above = ancestor_sets(problem.graph, problem.leaves);
  problem.level_of = {0, 0, 2, 2, 1, 2};
  return problem;
}

/// A node's score is `signal` of its level if the row has a leaf below, otherwise -signal, and
/// noise.
void draw_rows(Problem& problem, std::size_t count, std::vector<double> signal,
               std::size_t most_leaves, std::uint64_t seed) {
  Random random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<NodeId> leaves = problem.leaves;
    random.shuffle(std::span(leaves));
    leaves.resize(1 + random.below(most_leaves));
    std::ranges::sort(leaves);
    std::vector<float> scores;
    for (std::size_t k = 0; k < problem.nodes.size(); ++k) {
      const bool is_positive = std::ranges::any_of(
          leaves, [&](NodeId leaf) { return problem.is_above(problem.nodes[k], leaf); });
      const double mean = signal[problem.level_of[k]] * (is_positive ? 1 : -1);
      scores.push_back(static_cast<float>(mean + random.normal()));
    }
    problem.scores.push_back(scores);
    problem.sets.push_back(leaves);
  }
}

Problem drawn(std::size_t count, std::vector<double> signal, std::size_t most_leaves) {
  Problem problem = on_dag();
  draw_rows(problem, count, std::move(signal), most_leaves, 7);
  return problem;
}

LabelSets sets_of(const Problem& problem) {
  LabelSets sets;
  for (const auto& set : problem.sets) sets.append(set);
  return sets;
}

/// Row i has feature i alone, whose weights are its scores.
struct ScoredRows {
  CsrMatrix X;
  WeightMatrix classifiers;
  std::vector<std::uint32_t> all;

  auto first(std::size_t count) const { return std::span(all).first(count); }
  auto after(std::size_t count) const { return std::span(all).subspan(count); }
};

ScoredRows rows_of(const Problem& problem) {
  const auto rows = static_cast<std::uint32_t>(problem.scores.size());
  std::vector<float> values;
  ScoredRows scored{.X = CsrMatrix(rows), .classifiers = {}, .all = {}};
  for (std::uint32_t i = 0; i < rows; ++i) {
    values.insert(values.end(), problem.scores[i].begin(), problem.scores[i].end());
    scored.X.append_row(std::vector<FeatureId>{i}, std::vector<float>{1});
    scored.all.push_back(i);
  }
  const auto nodes = static_cast<std::uint32_t>(problem.nodes.size());
  scored.classifiers = WeightMatrix::dense(rows, nodes, values);
  return scored;
}

LevelWeights fit(const Problem& problem, bool with_offsets, int threads = 1) {
  const ScoredRows rows = rows_of(problem);
  const LabelSets sets = sets_of(problem);
  const std::size_t half = rows.all.size() / 2;
  Executor executor(threads);
  RunControl control;
  HeldOutLevels levels(problem.level_nodes(), sets, problem.weights);
  levels.add(rows.X, rows.first(half), rows.classifiers, {}, executor);
  levels.add(rows.X, rows.after(half), rows.classifiers, {}, executor);
  const LevelFit found = levels.fit(with_offsets, executor, control);
  EXPECT_TRUE(found.absent.empty());
  EXPECT_EQ(found.name, 0);
  return found.levels;
}

/// The mean loss and the ridge, written out.
double objective(const Problem& problem, const LevelWeights& levels) {
  const bool has_sets =
      std::ranges::any_of(problem.sets, [](const auto& set) { return set.size() > 1; });
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < problem.scores.size(); ++i) {
    double all = 0, loss = 0;
    for (const NodeId leaf : problem.leaves) {
      double f = 0;
      for (std::size_t k = 0; k < problem.nodes.size(); ++k) {
        if (!problem.is_above(problem.nodes[k], leaf)) continue;
        const std::uint32_t level = problem.level_of[k];
        f += levels.factors[level] * problem.scores[i][k] + levels.offsets[level];
      }
      const bool is_own = std::ranges::count(problem.sets[i], leaf) > 0;
      all += std::exp(f);
      if (has_sets) loss += std::log1p(std::exp(is_own ? -f : f));
      if (!has_sets && is_own) loss -= f;
    }
    const double weight = problem.weights.empty() ? 1 : problem.weights[i];
    sum += weight * (has_sets ? loss : loss + std::log(all));
    total += weight;
  }
  double squares = 0;
  for (const double v : levels.factors) squares += v * v;
  for (const double c : levels.offsets) squares += c * c;
  return sum / total + 0.5e-6 * squares;
}

/// No step of a grid around the point, within v >= 0, is lower: the objective is convex.
void expect_minimum(const Problem& problem, const LevelWeights& found, bool with_offsets) {
  const double least = objective(problem, found);
  for (const double length : {1e-3, 0.01, 0.1, 1.0}) {
    const std::size_t moved = found.size() * (with_offsets ? 2 : 1);
    std::vector<int> digits(moved, -1);  // in {-1, 0, 1}, counted up
    for (std::size_t at = 0; at < moved;) {
      LevelWeights other = found;
      for (std::size_t k = 0; k < moved; ++k) {
        if (k < found.size()) {
          other.factors[k] = std::max(0.0, other.factors[k] + length * digits[k]);
        } else {
          other.offsets[k - found.size()] += length * digits[k];
        }
      }
      EXPECT_GE(objective(problem, other), least - 1e-8);
      for (at = 0; at < moved && ++digits[at] > 1; ++at) digits[at] = -1;
    }
  }
}

double slope(const Problem& problem, LevelWeights levels, std::size_t level) {
  const double at = objective(problem, levels);
  levels.factors[level] += 1e-5;
  return (objective(problem, levels) - at) / 1e-5;
}

TEST(LevelFit, finds_the_minimum_for_single_leaves) {
  const Problem problem = drawn(150, {0.5, 0.3, 1}, 1);
  for (const bool with_offsets : {false, true}) {
    const LevelWeights levels = fit(problem, with_offsets);
    ASSERT_EQ(levels.size(), problem.num_levels());
    for (const double v : levels.factors) EXPECT_GT(v, 0.05);
    expect_minimum(problem, levels, with_offsets);
  }
}

TEST(LevelFit, finds_the_minimum_for_label_sets) {
  const Problem problem = drawn(150, {0.5, 0.3, 1}, 2);
  for (const bool with_offsets : {false, true}) {
    expect_minimum(problem, fit(problem, with_offsets), with_offsets);
  }
  EXPECT_LT(objective(problem, fit(problem, true)), objective(problem, fit(problem, false)) - 1e-4);
}

TEST(LevelFit, offsets_are_fitted_only_where_they_are_asked_for) {
  for (const std::size_t most_leaves : {1U, 2U}) {
    const Problem problem = drawn(150, {0.5, 0.3, 1}, most_leaves);
    EXPECT_THAT(fit(problem, false).offsets, ElementsAre(0, 0, 0));
    const std::vector<double> offsets = fit(problem, true).offsets;
    EXPECT_TRUE(std::ranges::any_of(offsets, [](double c) { return std::abs(c) > 1e-3; }));
  }
}

TEST(LevelFit, a_level_whose_scores_mislead_weighs_nothing) {
  for (const std::size_t most_leaves : {1U, 2U}) {
    const Problem problem = drawn(200, {-1, 0.5, 1}, most_leaves);
    const LevelWeights levels = fit(problem, true);
    EXPECT_EQ(levels.factors[0], 0);
    EXPECT_GT(slope(problem, levels, 0), 1e-3) << "the bound is active";
    expect_minimum(problem, levels, true);
  }
}

TEST(LevelFit, where_all_levels_mislead_all_weigh_the_same) {
  for (const bool with_offsets : {false, true}) {
    EXPECT_EQ(fit(drawn(100, {-2, -2, -2}, 1), with_offsets), LevelWeights::uniform(3));
  }
}

TEST(LevelFit, without_rows_all_levels_weigh_the_same) {
  Problem problem = on_dag();
  EXPECT_EQ(fit(problem, true), LevelWeights::uniform(3));
  problem = drawn(20, {1, 1, 1}, 1);
  problem.weights.assign(20, 0.0);
  EXPECT_EQ(fit(problem, true), LevelWeights::uniform(3));
}

TEST(LevelFit, has_the_same_bits_on_any_number_of_threads) {
  for (const std::size_t most_leaves : {1U, 3U}) {
    const Problem problem = drawn(300, {0.5, 0.3, 1}, most_leaves);
    EXPECT_EQ(fit(problem, true, 4), fit(problem, true, 1));
  }
}

void expect_near(const LevelWeights& one, const LevelWeights& other) {
  for (std::size_t d = 0; d < one.size(); ++d) {
    EXPECT_NEAR(one.factors[d], other.factors[d], 1e-4);
    EXPECT_NEAR(one.offsets[d], other.offsets[d], 1e-4);
  }
}

TEST(LevelFit, a_row_of_weight_two_is_two_rows_and_one_of_weight_0_is_none) {
  for (const std::size_t most_leaves : {1U, 2U}) {
    Problem weighted = drawn(90, {0.5, 0.3, 1}, most_leaves);
    Problem repeated = on_dag();
    for (std::size_t i = 0; i < 90; ++i) {
      weighted.weights.push_back(static_cast<double>(i % 3));
      for (std::size_t copy = 0; copy < i % 3; ++copy) {
        repeated.scores.push_back(weighted.scores[i]);
        repeated.sets.push_back(weighted.sets[i]);
      }
    }
    expect_near(fit(weighted, true), fit(repeated, true));
  }
}

TEST(LevelFit, ends_with_the_weights_so_far_where_time_is_over) {
  const Problem problem = drawn(30, {0.5, 0.3, 1}, 1);
  const LabelSets sets = sets_of(problem);
  HeldOutLevels levels(problem.level_nodes(), sets, {});
  CsrMatrix X(1);
  for (std::size_t i = 0; i < 30; ++i) X.append_row({}, {});
  const std::vector<std::uint32_t> rows{0, 1, 2};
  levels.add(X, rows, WeightMatrix::dense(1, 6), {}, Executor::serial());
  RunControl control({}, 0);
  EXPECT_EQ(levels.fit(true, Executor::serial(), control).levels, LevelWeights::uniform(3));
  RunControl interrupted;
  interrupted.interrupt();
  EXPECT_THROW(levels.fit(true, Executor::serial(), interrupted), OutOfTime);
}

TEST(LevelFit, memory_is_that_of_the_scores_up_to_a_limit) {
  const Problem problem = drawn(30, {0.5, 0.3, 1}, 1);
  const LabelSets few = sets_of(problem);
  EXPECT_EQ(HeldOutLevels(problem.level_nodes(), few, {}).num_bytes(), 4 * 30 * 6);
  constexpr std::uint32_t kLeaves = 4096;  // so that all scores of these rows exceed kMostTerms
  const LabelGraph flat = LabelGraph::flat(kLeaves);
  std::vector<NodeId> leaves(kLeaves);
  std::iota(leaves.begin(), leaves.end(), NodeId{0});
  const NodeLists above = ancestor_sets(flat, leaves);
  LabelSets many;
  for (std::uint32_t i = 0; i < 17'000; ++i) many.append(std::span(&leaves[0], 1));
  const LevelNodes nodes{flat, leaves, leaves, above};
  EXPECT_EQ(HeldOutLevels(nodes, many, {}).num_bytes(), 4.0 * 8'500 * kLeaves);
}

const LevelWeights kLevels{{2, 0.5, 3}, {0.25, -1, 4}};

// Names -------------------------------------------------------------------------------------------

/// The leaves of on_dag() and 6 below 2, both of which have no classifier. Held-out rows have a
/// leaf whose name is similar to them; node 3 has rows in the first fold only.
struct NamedProblem {
  Problem problem = on_dag();
  WeightMatrix names;
  std::vector<std::vector<float>> similarities;
  std::vector<std::vector<bool>> has_rows;  // of each fold
  std::size_t fold_size = 0;

  LevelNodes level_nodes() const {
    return {problem.graph, problem.nodes, problem.leaves, problem.above, &names};
  }
};

NamedProblem with_names(std::size_t most_leaves, double likeness) {
  NamedProblem named;
  Problem& problem = named.problem;
  problem.leaves = {3, 4, 6, 7};
  problem.above = ancestor_sets(problem.graph, problem.leaves);
  constexpr std::uint32_t kRows = 160;
  draw_rows(problem, kRows, {0.5, 0.3, 1}, most_leaves, 11);
  named.fold_size = kRows / 2;
  named.has_rows.assign(2, std::vector<bool>(problem.nodes.size(), true));
  named.has_rows[1][2] = false;  // node 3
  Random random(12);
  std::vector<float> values;
  for (std::size_t i = 0; i < kRows; ++i) {
    for (const NodeId leaf : problem.leaves) {
      const bool is_own = std::ranges::count(problem.sets[i], leaf) > 0;
      values.push_back(static_cast<float>((is_own ? likeness : 0) + 0.5 * random.normal()));
    }
    named.similarities.emplace_back(values.end() - 4, values.end());
  }
  named.names = WeightMatrix::dense(kRows, 4, values);
  return named;
}

LevelFit fit(const NamedProblem& named, int threads = 1) {
  const ScoredRows rows = rows_of(named.problem);
  const LabelSets sets = sets_of(named.problem);
  const std::size_t first = named.fold_size;
  Executor executor(threads);
  RunControl control;
  HeldOutLevels levels(named.level_nodes(), sets, {});
  // All nodes have rows in the first fold.
  levels.add(rows.X, rows.first(first), rows.classifiers, {}, executor);
  levels.add(rows.X, rows.after(first), rows.classifiers, named.has_rows[1], executor);
  return levels.fit(true, executor, control);
}

/// The formula of LevelFit, of one row and leaf.
double score(const NamedProblem& named, const LevelFit& at, std::size_t i, std::size_t leaf) {
  const Problem& problem = named.problem;
  const GraphLevels levels(problem.graph);
  const std::vector<bool>& has_rows = named.has_rows[i < named.fold_size ? 0 : 1];
  double f = at.name * named.similarities[i][leaf];
  for (const NodeId n : problem.above[problem.leaves[leaf]]) {
    const std::uint32_t level = levels.of(n);
    const auto place = std::ranges::find(problem.nodes, n) - problem.nodes.begin();
    const auto k = static_cast<std::size_t>(place);
    const bool is_absent = k == problem.nodes.size() || !has_rows[k];
    f += at.levels.offsets[level];
    f += is_absent ? -at.absent[level] : at.levels.factors[level] * problem.scores[i][k];
  }
  return f;
}

double objective(const NamedProblem& named, const LevelFit& at) {
  const Problem& problem = named.problem;
  const bool has_sets =
      std::ranges::any_of(problem.sets, [](const auto& set) { return set.size() > 1; });
  double sum = 0;
  for (std::size_t i = 0; i < problem.scores.size(); ++i) {
    double all = 0, loss = 0;
    for (std::size_t l = 0; l < problem.leaves.size(); ++l) {
      const double f = score(named, at, i, l);
      const bool is_own = std::ranges::count(problem.sets[i], problem.leaves[l]) > 0;
      all += std::exp(f);
      if (has_sets) loss += std::log1p(std::exp(is_own ? -f : f));
      if (!has_sets && is_own) loss -= f;
    }
    sum += has_sets ? loss : loss + std::log(all);
  }
  double squares = at.name * at.name;
  for (const auto& each : {at.levels.factors, at.levels.offsets, at.absent}) {
    for (const double x : each) squares += x * x;
  }
  return sum / static_cast<double>(problem.scores.size()) + 0.5e-6 * squares;
}

TEST(LevelFit, finds_the_minimum_with_names) {
  for (const std::size_t most_leaves : {1U, 2U}) {
    const NamedProblem named = with_names(most_leaves, 1.5);
    const LevelFit found = fit(named);
    EXPECT_GT(found.name, 0.5);
    EXPECT_GT(std::ranges::max(found.absent), 0.1);
    const double least = objective(named, found);
    Random random(3);
    for (int trial = 0; trial < 3000; ++trial) {
      LevelFit other = found;
      const double length = std::pow(10.0, -4.0 * random.uniform());
      const auto moved = [&](double x) { return std::max(0.0, x + length * random.normal()); };
      for (double& v : other.levels.factors) v = moved(v);
      for (double& u : other.absent) u = moved(u);
      for (double& c : other.levels.offsets) c += length * random.normal();
      other.name = moved(other.name);
      EXPECT_GE(objective(named, other), least - 1e-8);
    }
  }
}

TEST(LevelFit, names_that_mislead_weigh_nothing) {
  for (const std::size_t most_leaves : {1U, 2U}) {
    EXPECT_EQ(fit(with_names(most_leaves, -1)).name, 0);
  }
}

TEST(LevelFit, has_the_same_bits_with_names_on_any_number_of_threads) {
  const NamedProblem named = with_names(2, 1);
  EXPECT_EQ(fit(named, 4), fit(named, 1));
}

TEST(PathWeights, with_names_sum_to_the_scores_of_leaves) {
  const NamedProblem named = with_names(1, 1.5);
  const Problem& problem = named.problem;
  const LevelFit found{kLevels, {0.5, 1, 2}, 0.75};
  const auto rows = static_cast<std::uint32_t>(problem.scores.size());
  std::vector<float> values;
  for (const auto& of_row : problem.scores)
    values.insert(values.end(), of_row.begin(), of_row.end());
  values.resize(values.size() + 6, 0.0F);  // the intercept
  const WeightMatrix classifiers = WeightMatrix::dense(rows + 1, 6, values);
  constexpr double kBias = 0.5;
  const std::size_t last = rows - 1;  // of the second fold
  const WeightMatrix U =
      path_weights(named.level_nodes(), classifiers, named.has_rows[1], found, kBias);
  for (std::size_t l = 0; l < problem.leaves.size(); ++l) {
    double sum = 0;
    for (const NodeId n : problem.above[problem.leaves[l]]) {
      sum += U.at(static_cast<FeatureId>(last), n) + kBias * U.at(rows, n);
    }
    EXPECT_NEAR(sum, score(named, found, last, l), 1e-5);
  }
}

// Stacks ------------------------------------------------------------------------------------------

/// Two further methods: one has scores of the leaves 3, 4 and 7, one of the nodes 1 and 7 only.
const std::vector<std::vector<NodeId>> kStacked{{3, 4, 7}, {1, 7}};

/// Their scores: `signal` of the method if the row is below the node, otherwise -signal, and noise.
std::vector<WeightMatrix> further_scores(const Problem& problem, std::vector<double> signal) {
  Random random(31);
  std::vector<WeightMatrix> all;
  for (std::size_t m = 0; m < kStacked.size(); ++m) {
    std::vector<float> values;
    for (const auto& set : problem.sets) {
      for (const NodeId n : kStacked[m]) {
        const double mean = signal[m] * (problem.is_above(n, set.front()) ? 1 : -1);
        values.push_back(static_cast<float>(mean + random.normal()));
      }
    }
    all.push_back(WeightMatrix::dense(static_cast<std::uint32_t>(problem.sets.size()),
                                      static_cast<std::uint32_t>(kStacked[m].size()), values));
  }
  return all;
}

LevelNodes stacked_nodes(const Problem& problem) {
  LevelNodes nodes = problem.level_nodes();
  nodes.stacked = kStacked;
  return nodes;
}

LevelWeights stacked_fit(const Problem& problem, std::span<const WeightMatrix> stacked,
                         int threads = 1) {
  const ScoredRows rows = rows_of(problem);
  const LabelSets sets = sets_of(problem);
  Executor executor(threads);
  RunControl control;
  HeldOutLevels levels(stacked_nodes(problem), sets, {});
  levels.add(rows.X, rows.all, rows.classifiers, {}, executor, stacked);
  return levels.fit(true, executor, control).levels;
}

/// The mean loss of single leaves and the ridge, by the weights over paths.
double stacked_objective(const Problem& problem, const LevelWeights& levels,
                         std::span<const WeightMatrix> stacked) {
  const ScoredRows rows = rows_of(problem);
  LevelWeights without_offsets = levels;
  without_offsets.offsets.assign(levels.size(), 0.0);
  const WeightMatrix U = path_weights(stacked_nodes(problem), rows.classifiers, {},
                                      {without_offsets, {}, 0}, 0, stacked);
  double sum = 0;
  for (std::size_t i = 0; i < problem.sets.size(); ++i) {
    double all = 0;
    for (const NodeId leaf : problem.leaves) {
      double f = 0;
      for (const NodeId n : problem.above[leaf]) f += U.at(static_cast<FeatureId>(i), n);
      for (std::size_t k = 0; k < problem.nodes.size(); ++k) {
        if (problem.is_above(problem.nodes[k], leaf)) f += levels.offsets[problem.level_of[k]];
      }
      all += std::exp(f);
      if (leaf == problem.sets[i].front()) sum -= f;
    }
    sum += std::log(all);
  }
  double squares = 0;
  for (const auto* part : {&levels.factors, &levels.offsets, &levels.stacked}) {
    for (const double each : *part) squares += each * each;
  }
  return sum / static_cast<double>(problem.sets.size()) + 0.5e-6 * squares;
}

TEST(LevelFit, a_stack_is_at_its_minimum_and_never_worse_than_without) {
  const Problem problem = drawn(150, {0.5, 0.3, 1}, 1);
  for (const std::vector<double>& signal :
       {std::vector<double>{0.8, 0.4}, std::vector<double>{-1, 0.5}, std::vector<double>{-1, -1}}) {
    const std::vector<WeightMatrix> stacked = further_scores(problem, signal);
    const LevelWeights found = stacked_fit(problem, stacked);
    ASSERT_EQ(found.stacked.size(), 2U);
    for (std::size_t m = 0; m < 2; ++m) EXPECT_EQ(found.stacked[m] > 0, signal[m] > 0) << m;
    const double least = stacked_objective(problem, found, stacked);
    for (auto part : {&LevelWeights::factors, &LevelWeights::offsets, &LevelWeights::stacked}) {
      for (std::size_t k = 0; k < (found.*part).size(); ++k) {
        for (const double step : {1e-3, -1e-3, 0.1, -0.1}) {
          LevelWeights other = found;
          (other.*part)[k] += step;
          if (part != &LevelWeights::offsets) (other.*part)[k] = std::max((other.*part)[k], 0.0);
          EXPECT_GE(stacked_objective(problem, other, stacked), least - 1e-6);
        }
      }
    }
    LevelWeights without = fit(problem, true);
    without.stacked = {0, 0};
    EXPECT_LE(least, stacked_objective(problem, without, stacked) + 1e-8);
  }
}

TEST(LevelFit, has_the_same_bits_with_a_stack_on_any_number_of_threads) {
  const Problem problem = drawn(150, {0.5, 0.3, 1}, 1);
  const std::vector<WeightMatrix> stacked = further_scores(problem, {0.8, 0.4});
  EXPECT_EQ(stacked_fit(problem, stacked, 1), stacked_fit(problem, stacked, 4));
}

TEST(LevelFit, a_stack_of_which_nothing_agrees_weighs_nothing) {
  const Problem problem = drawn(150, {-1, -1, -1}, 1);
  const LevelWeights found = stacked_fit(problem, further_scores(problem, {-1, -1}));
  EXPECT_EQ(found.factors, LevelWeights::uniform(3).factors);
  EXPECT_THAT(found.stacked, ElementsAre(0, 0));
}

/// Rows of the first of two leaves: so many, the lead of its classifier, and that of a further
/// method.
struct Leads {
  std::size_t count;
  float of_classifier, of_further;
};

LevelWeights fit_of_leads(const std::vector<Leads>& kinds) {
  const LabelGraph graph = LabelGraph::build(2, {});
  const std::vector<NodeId> leaves{0, 1};
  const NodeLists above = ancestor_sets(graph, leaves);
  const std::vector<std::vector<NodeId>> columns{leaves};
  LevelNodes nodes{graph, leaves, leaves, above};
  nodes.stacked = columns;
  CsrMatrix X(2);
  LabelSets sets;
  std::vector<std::uint32_t> all;
  const std::vector<FeatureId> both{0, 1};
  for (const Leads& kind : kinds) {
    for (std::size_t k = 0; k < kind.count; ++k) {
      X.append_row(both, std::vector<float>{kind.of_classifier, kind.of_further});
      sets.append(std::vector<LabelId>{0});
      all.push_back(static_cast<std::uint32_t>(all.size()));
    }
  }
  const std::vector<WeightMatrix> further{WeightMatrix::dense(2, 2, {0, 0, 0.5, -0.5})};
  HeldOutLevels levels(nodes, sets, {});
  RunControl control;
  levels.add(X.view(), all, WeightMatrix::dense(2, 2, {0.5, -0.5, 0, 0}), {}, Executor::serial(),
             further);
  return levels.fit(false, Executor::serial(), control).levels;
}

TEST(LevelFit, a_stack_that_costs_answers_weighs_less) {
  // Of minima by a general solver: v = .75297 and t = .40068 with half of the answers right, but
  // v = .67568 with three quarters of that t, and four fifths of them.
  const LevelWeights found = fit_of_leads({{60, 1, -2}, {20, -3, 4}, {100, 1, 1}, {20, -1, -1}});
  EXPECT_NEAR(found.stacked.front(), 0.75 * 0.40068, 1e-4);
  EXPECT_NEAR(found.factors.front(), 0.67568, 1e-4);
}

TEST(LevelFit, a_stack_that_costs_no_answers_weighs_what_is_likeliest) {
  const LevelWeights found = fit_of_leads({{60, 1, -1.2F}, {20, -4, 6}, {100, 1, 1}, {20, -1, -1}});
  EXPECT_NEAR(found.stacked.front(), 0.80947, 1e-4);
  EXPECT_NEAR(found.factors.front(), 1.02675, 1e-4);
}

// Path weights ------------------------------------------------------------------------------------

/// Without names.
WeightMatrix path_weights_of(const Problem& problem, const WeightMatrix& classifiers,
                             const LevelWeights& levels, double bias) {
  return path_weights(problem.level_nodes(), classifiers, {}, {levels, {}, 0}, bias);
}

TEST(PathWeights, sum_to_the_scores_of_leaves) {
  const Problem problem = on_dag();
  const auto nodes = static_cast<std::uint32_t>(problem.nodes.size());
  constexpr double kBias = 0.5;
  Random random(3);
  CsrMatrix by_feature(nodes);
  std::vector<float> values;
  for (int j = 0; j < 4; ++j) {
    std::vector<NodeId> columns;
    std::vector<float> row;
    for (NodeId k = 0; k < nodes; ++k) {
      const bool is_zero = random.below(2) == 0;
      values.push_back(is_zero ? 0.0F : static_cast<float>(random.normal()));
      if (is_zero) continue;
      columns.push_back(k);
      row.push_back(values.back());
    }
    by_feature.append_row(columns, row);
  }
  const WeightMatrix dense = WeightMatrix::dense(4, nodes, values);
  const WeightMatrix sparse = WeightMatrix::sparse(std::move(by_feature));
  for (const WeightMatrix& classifiers : {dense, sparse}) {
    const WeightMatrix U = path_weights_of(problem, classifiers, kLevels, kBias);
    ASSERT_EQ(U.num_features(), 4U);
    ASSERT_EQ(U.num_nodes(), 8U);
    for (const NodeId leaf : problem.leaves) {
      const std::vector<double> x{1, -2, 3, kBias};
      double expected = 0, found = 0;
      for (std::size_t k = 0; k < nodes; ++k) {
        if (!problem.is_above(problem.nodes[k], leaf)) continue;
        double s = 0;
        for (FeatureId j = 0; j < 4; ++j) s += x[j] * dense.at(j, static_cast<std::uint32_t>(k));
        const std::uint32_t level = problem.level_of[k];
        expected += kLevels.factors[level] * s + kLevels.offsets[level];
        for (FeatureId j = 0; j < 4; ++j) found += x[j] * U.at(j, problem.nodes[k]);
      }
      EXPECT_NEAR(found, expected, 1e-5);
    }
    for (FeatureId j = 0; j < 4; ++j) {
      for (const NodeId other : {2U, 6U}) EXPECT_EQ(U.at(j, other), 0) << "no classifier";
    }
  }
}

TEST(PathWeights, without_an_intercept_have_no_offsets) {
  const Problem problem = on_dag();
  const WeightMatrix ones = WeightMatrix::dense(2, 6, std::vector<float>(12, 1.0F));
  const WeightMatrix U = path_weights_of(problem, ones, kLevels, 0);
  for (FeatureId j = 0; j < 2; ++j) {
    EXPECT_EQ(U.at(j, 0), 2);
    EXPECT_EQ(U.at(j, 5), 0.5F);
    EXPECT_EQ(U.at(j, 7), 3);
  }
}

TEST(PathWeights, of_levels_without_weight_are_their_offsets) {
  const Problem problem = on_dag();
  const WeightMatrix ones = WeightMatrix::dense(2, 6, std::vector<float>(12, 1.0F));
  const WeightMatrix U = path_weights_of(problem, ones, {{0, 0, 1}, {0, 3, 0}}, 2);
  EXPECT_EQ(U.num_nonzeros(), 6 + 1);  // of the leaves, and one offset
  EXPECT_EQ(U.at(1, 5), 1.5F);
}

}  // namespace
}  // namespace margrove
