// The best trees, and sums over all trees, against lists of all of them.

#include "outputs/tree/spanning_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "margrove/errors.hpp"
#include "outputs/tree/dependency_tree.hpp"
#include "outputs/tree/tree_marginals.hpp"

namespace margrove {
namespace {

using Heads = std::vector<std::uint32_t>;

std::vector<Heads> all_trees(std::size_t n, TreeShape shape) {
  std::vector<Heads> trees;
  Heads heads(n, 0);
  while (true) {
    try {
      check_tree(heads, 0, shape);
      trees.push_back(heads);
    } catch (const InvalidInput&) {  // not a tree of this shape
    }
    std::size_t k = 0;
    while (k < n && heads[k] == n) heads[k++] = 0;
    if (k == n) return trees;
    ++heads[k];
  }
}

double score(const std::vector<double>& arcs, const Heads& heads) {
  double sum = 0;
  for (std::size_t k = 0; k < heads.size(); ++k) {
    sum += arcs[heads[k] * (heads.size() + 1) + k + 1];
  }
  return sum;
}

std::vector<double> random_arcs(std::size_t n, int seed, double digits) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::normal_distribution<double> normal;
  std::vector<double> arcs((n + 1) * (n + 1));
  for (double& arc : arcs) arc = std::round(normal(random) * digits) / digits;
  return arcs;
}

// digits = 1: whole numbers, of which many are equal.
TEST(SpanningTree, best_is_that_of_all_trees) {
  for (std::size_t n = 1; n <= 6; ++n) {
    const auto trees = all_trees(n, TreeShape::any);
    for (int seed = 0; seed < 40; ++seed) {
      for (const double digits : {1.0, 1e6}) {
        const auto arcs = random_arcs(n, seed, digits);
        double best = -std::numeric_limits<double>::infinity();
        for (const Heads& heads : trees) best = std::max(best, score(arcs, heads));
        const Heads found = best_spanning_tree(arcs, n);
        EXPECT_NO_THROW(check_tree(found, 0, TreeShape::any));
        EXPECT_NEAR(score(arcs, found), best, 1e-9) << "n " << n << " seed " << seed;
      }
    }
  }
}

TEST(SpanningTree, there_are_n_to_the_n_minus_1_trees) {
  for (std::size_t n = 1; n <= 5; ++n) {
    EXPECT_EQ(static_cast<double>(all_trees(n, TreeShape::any).size()),
              std::pow(static_cast<double>(n), static_cast<double>(n) - 1));
    const std::vector<double> zeros((n + 1) * (n + 1), 0.0);
    std::vector<double> probabilities;
    EXPECT_NEAR(spanning_tree_marginals(zeros, n, probabilities),
                static_cast<double>(n - 1) * std::log(static_cast<double>(n)), 1e-12);
  }
}

TEST(SpanningTree, k_best_are_all_trees_in_order) {
  for (std::size_t n = 1; n <= 4; ++n) {
    const auto trees = all_trees(n, TreeShape::any);
    for (int seed = 0; seed < 10; ++seed) {
      for (const double digits : {1.0, 1e6}) {
        const auto arcs = random_arcs(n, seed, digits);
        std::vector<double> scores;
        for (const Heads& heads : trees) scores.push_back(score(arcs, heads));
        std::sort(scores.rbegin(), scores.rend());
        auto found = best_spanning_trees(arcs, n, trees.size() + 5, nullptr);
        ASSERT_EQ(found.size(), trees.size());
        for (std::size_t k = 0; k < found.size(); ++k) {
          EXPECT_NEAR(score(arcs, found[k]), scores[k], 1e-9);
        }
        std::sort(found.begin(), found.end());
        EXPECT_EQ(std::unique(found.begin(), found.end()), found.end());
      }
    }
  }
}

TEST(SpanningTree, without_a_tree_none_is_found) {
  constexpr double kNo = -std::numeric_limits<double>::infinity();
  std::vector<double> arcs(16, 0.0);
  for (std::size_t head = 0; head < 4; ++head) arcs[head * 4 + 2] = kNo;
  EXPECT_TRUE(best_spanning_tree(arcs, 3).empty());
  arcs.assign(16, kNo);
  for (std::size_t word = 1; word < 4; ++word) arcs[word] = 0.0;  // only trees with three roots
  EXPECT_TRUE(best_spanning_tree(arcs, 3).empty());
}

TEST(SpanningTree, a_cycle_within_a_cycle_is_opened) {
  // 1 <-> 2 is the best cycle; with it 3 makes another, which only the root enters, at 2.
  std::vector<double> arcs(16, -10.0);
  arcs[1 * 4 + 2] = arcs[2 * 4 + 1] = 9.0;
  arcs[3 * 4 + 1] = 5.0;
  arcs[2 * 4 + 3] = 6.0;
  arcs[2] = 4.0;
  EXPECT_EQ(best_spanning_tree(arcs, 3), (Heads{2, 0, 2}));
}

TEST(TreeMarginals, are_sums_over_all_trees) {
  for (const TreeShape shape : {TreeShape::projective, TreeShape::any}) {
    for (std::size_t n = 1; n <= 5; ++n) {
      const auto trees = all_trees(n, shape);
      for (const double scale : {1.0, 60.0, 1e5}) {  // the last needs logarithms
        auto arcs = random_arcs(n, 7, 1e6);
        for (double& arc : arcs) arc *= scale;
        double high = -std::numeric_limits<double>::infinity(), sum = 0;
        for (const Heads& heads : trees) high = std::max(high, score(arcs, heads));
        std::vector<double> expected((n + 1) * (n + 1), 0.0), found;
        for (const Heads& heads : trees) {
          const double weight = std::exp(score(arcs, heads) - high);
          sum += weight;
          for (std::size_t k = 0; k < n; ++k) expected[heads[k] * (n + 1) + k + 1] += weight;
        }
        const double log_partition = shape == TreeShape::projective
                                         ? projective_marginals(arcs, n, found)
                                         : spanning_tree_marginals(arcs, n, found);
        EXPECT_NEAR(log_partition, high + std::log(sum), 1e-12 * (1 + std::abs(high)));
        ASSERT_EQ(found.size(), expected.size());
        for (std::size_t k = 0; k < found.size(); ++k) {
          EXPECT_NEAR(found[k], expected[k] / sum, 1e-9) << "n " << n << " scale " << scale;
        }
      }
    }
  }
}

}  // namespace
}  // namespace margrove
