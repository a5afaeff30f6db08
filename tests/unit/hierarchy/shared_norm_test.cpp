#include "hierarchy/shared_norm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "hierarchy/weight_paths.hpp"
#include "margrove/errors.hpp"
#include "margrove/node_weights.hpp"
#include "num_cases.hpp"
#include "random_graphs.hpp"

namespace margrove {
namespace {

using Edges = std::vector<LabelEdge>;

double cost(std::span<const double> squared_norms, std::span<const double> alpha) {
  double sum = 0;
  for (std::size_t n = 0; n < alpha.size(); ++n) {
    if (squared_norms[n] > 0) sum += squared_norms[n] / alpha[n];
  }
  return sum;
}

double longest_path(const LabelGraph& graph, std::span<const double> alpha) {
  const auto sums = path_sums(graph, alpha);
  return *std::max_element(sums.begin(), sums.end());
}

std::vector<double> random_squares(std::uint32_t num_nodes, double zero_share, Random& random) {
  std::vector<double> squares(num_nodes);
  for (double& s : squares) {
    const double x = random.normal();
    s = random.uniform() < zero_share ? 0.0 : x * x;
  }
  return squares;
}

// Exponentiated subgradient ascent on the dual with path lists, sharing no code with the library's.
double dual_by_subgradients(const LabelGraph& graph, std::span<const double> squares) {
  const auto leaves = graph.leaves();
  std::vector<double> mu(leaves.size(), 1.0 / double(leaves.size()));
  double best = 0;
  for (int iteration = 1; iteration <= 20000; ++iteration) {
    std::vector<double> mass(graph.num_nodes(), 0.0), slope(leaves.size(), 0.0);
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      for (const NodeId n : graph.ancestors(leaves[k])) mass[n] += mu[k];
    }
    double s = 0, total = 0;
    for (NodeId n = 0; n < graph.num_nodes(); ++n) s += std::sqrt(squares[n] * mass[n]);
    best = std::max(best, s * s);
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      for (const NodeId n : graph.ancestors(leaves[k])) {
        if (squares[n] > 0) slope[k] += 0.5 * std::sqrt(squares[n] / std::max(mass[n], 1e-12));
      }
    }
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      mu[k] *= std::exp(std::min(2.0, slope[k] / (s * std::sqrt(double(iteration)))));
      total += mu[k];
    }
    for (double& m : mu) m = std::max(m / total, 1e-14);
  }
  return best;
}

TEST(SharedNormStep, a_hand_made_tree) {
  // Root with N = 1, two leaves with N = 4 each: F = (1 + sqrt 8)^2.
  const auto graph = LabelGraph::build(3, Edges{{0, 1}, {0, 2}});
  const auto step = SharedNormStep(graph).weights(std::vector{1.0, 4.0, 4.0});
  const double root = 1 + std::sqrt(8.0);
  EXPECT_NEAR(step.value, root * root, 1e-12);
  EXPECT_NEAR(step.alpha[0], 1 / root, 1e-12);
  EXPECT_NEAR(step.alpha[1], 1 - 1 / root, 1e-12);
}

TEST(PrintedSharedWeights, a_tree_by_hand) {
  // Root 0 has the leaf 1 and the inner node 2, which has the leaves 3 and 4.
  const auto tree = LabelGraph::build(5, Edges{{0, 1}, {0, 2}, {2, 3}, {2, 4}});
  // Node 2: S = 1 + 3, N = (1 + 2)^2, and so the share 3 / (2 + 3). Root: S = 16 + 9,
  // N = (2 + 5)^2 and the share 7 / (5 + 7).
  const auto alpha = printed_shared_weights(tree, std::vector{4.0, 16.0, 1.0, 1.0, 3.0});
  const std::vector expected{7.0 / 12, 5.0 / 12, 5.0 / 12 * 3 / 5, 5.0 / 12 * 2 / 5,
                             5.0 / 12 * 2 / 5};
  ASSERT_EQ(alpha.size(), expected.size());
  for (std::size_t n = 0; n < alpha.size(); ++n) EXPECT_NEAR(alpha[n], expected[n], 1e-15) << n;
}

TEST(PrintedSharedWeights, without_vectors_leaves_have_all) {
  const auto tree = LabelGraph::build(3, Edges{{0, 1}, {0, 2}});
  EXPECT_EQ(printed_shared_weights(tree, std::vector{0.0, 0.0, 0.0}), (std::vector{0.0, 1.0, 1.0}));
}

TEST(PrintedSharedWeights, paths_sum_to_one_and_inner_nodes_keep_half_of_their_budget) {
  for (std::uint64_t seed = 0; seed < num_cases(50); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto tree = testing::random_tree(1 + std::uint32_t(random.below(40)), 0.1, random);
    const auto squares = random_squares(tree.num_nodes(), 0.0, random);
    const auto alpha = printed_shared_weights(tree, squares);
    for (const double sum : path_sums(tree, alpha)) EXPECT_NEAR(sum, 1, 1e-12);
    for (NodeId n = 0; n < tree.num_nodes(); ++n) {
      for (const NodeId c : tree.children(n)) EXPECT_LE(alpha[c], alpha[n] * (1 + 1e-12));
    }
  }
}

TEST(PrintedSharedWeights, graphs_and_squares_below_zero_are_refused) {
  const auto dag = LabelGraph::build(3, Edges{{0, 2}, {1, 2}});
  EXPECT_THAT(
      [&] {
        printed_shared_weights(dag, std::vector{1.0, 1.0, 1.0});
      },
      ::testing::ThrowsMessage<InvalidInput>(
          ::testing::HasSubstr("some nodes have several parents, but algorithm 1 is for "
                               "trees")));
  const auto tree = LabelGraph::build(2, Edges{{0, 1}});
  EXPECT_THAT(
      [&] {
        printed_shared_weights(tree, std::vector{1.0, -1.0});
      },
      ::testing::ThrowsMessage<InvalidInput>(
          ::testing::HasSubstr("squared_norms[1] is -1, but must be finite and >= 0")));
}

TEST(SharedNormStep, weights_attain_the_value_within_the_constraints) {
  for (std::uint64_t seed = 0; seed < num_cases(200); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto num_nodes = 1 + std::uint32_t(random.below(40));
    const auto graph = seed % 2 ? testing::random_tree(num_nodes, 0.1, random)
                                : testing::random_dag(num_nodes, 3, random);
    const auto squares = random_squares(num_nodes, 0.2, random);
    const auto step = SharedNormStep(graph).weights(squares);
    EXPECT_EQ(step.stop, Stop::converged);
    EXPECT_LE(longest_path(graph, step.alpha), 1 + 1e-12);
    EXPECT_NEAR(cost(squares, step.alpha), step.value, 1e-9 * (1 + step.value));
    EXPECT_LE(step.relative_gap, 1e-6);
  }
}

TEST(SharedNormStep, the_optimum_agrees_with_an_independent_dual_bound) {
  for (std::uint64_t seed = 0; seed < num_cases(12); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph =
        seed % 2 ? testing::random_tree(15, 0.1, random) : testing::random_dag(15, 3, random);
    const auto squares = random_squares(15, 0.1, random);
    const auto step = SharedNormStep(graph).weights(squares);
    const double dual = dual_by_subgradients(graph, squares);
    EXPECT_GE(step.value, dual * (1 - 1e-9));
    EXPECT_LE(step.value, dual * (1 + 1e-3));
  }
}

// Merging a spare parent into a tree makes it a DAG without changing what its paths add up to.
TEST(SharedNormStep, a_tree_given_as_a_dag_yields_the_trees_answer) {
  for (std::uint64_t seed = 0; seed < num_cases(50); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto tree = testing::random_tree(20, 0.0, random);
    Edges edges;
    for (NodeId n = 0; n < 20; ++n) {
      for (const NodeId c : tree.children(n)) {
        edges.push_back({n, c});
        if (n != 0 && tree.parents(n)[0] != c) edges.push_back({tree.parents(n)[0], c});
      }
    }
    const auto dag = LabelGraph::build(20, edges);
    const auto squares = random_squares(20, 0.0, random);
    const auto from_tree = SharedNormStep(tree).weights(squares);
    const auto from_dag = SharedNormStep(dag).weights(squares, {.gap_tolerance = 1e-9});
    EXPECT_NEAR(from_dag.value, from_tree.value, 1e-6 * from_tree.value);
    for (NodeId n = 0; n < 20; ++n) EXPECT_NEAR(from_dag.alpha[n], from_tree.alpha[n], 1e-3);
    const auto tree_bound = SharedNormStep(tree).largest_weighted_sum(squares);
    const auto dag_bound = SharedNormStep(dag).largest_weighted_sum(squares);
    EXPECT_NEAR(tree_bound.value, dag_bound.value, 1e-9 * tree_bound.value);
  }
}

TEST(SharedNormStep, the_largest_weighted_sum_is_attained_and_never_exceeded) {
  for (std::uint64_t seed = 0; seed < num_cases(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph =
        seed % 2 ? testing::random_tree(20, 0.1, random) : testing::random_dag(20, 3, random);
    const auto squares = random_squares(20, 0.2, random);
    const auto bound = SharedNormStep(graph).largest_weighted_sum(squares);
    double attained = 0;
    for (NodeId n = 0; n < 20; ++n) attained += bound.alpha[n] * squares[n];
    EXPECT_NEAR(attained, bound.value, 1e-9);
    EXPECT_LE(longest_path(graph, bound.alpha), 1 + 1e-9);
    for (int trial = 0; trial < 50; ++trial) {
      std::vector<double> alpha(20);
      for (double& a : alpha) a = std::pow(random.uniform(), 8);
      const double scale = 1 / longest_path(graph, alpha);
      double sum = 0;
      for (NodeId n = 0; n < 20; ++n) sum += scale * alpha[n] * squares[n];
      EXPECT_LE(sum, bound.value + 1e-9);
    }
  }
}

TEST(SharedNormStep, coefficients_beyond_those_of_clp_change_nothing_but_the_size) {
  Random random(3);
  const auto graph = testing::random_dag(20, 3, random);
  auto squares = random_squares(20, 0.2, random);
  const auto bound = SharedNormStep(graph).largest_weighted_sum(squares);
  for (double& square : squares) square *= 1e30;
  const auto large = SharedNormStep(graph).largest_weighted_sum(squares);
  EXPECT_NEAR(large.value / 1e30, bound.value, 1e-9 * bound.value);
  for (const double alpha : large.alpha) EXPECT_GE(alpha, 0.0);
}

TEST(SharedNormStep, no_norm_at_all_costs_nothing) {
  const auto tree = LabelGraph::build(3, Edges{{0, 1}, {0, 2}});
  const auto dag = LabelGraph::build(4, Edges{{0, 2}, {1, 2}, {0, 3}});
  EXPECT_EQ(SharedNormStep(tree).weights(std::vector{0.0, 0.0, 0.0}).value, 0.0);
  EXPECT_EQ(SharedNormStep(dag).weights(std::vector{0.0, 0.0, 0.0, 0.0}).value, 0.0);
}

TEST(SharedNormStep, bad_norms_throw) {
  const auto graph = LabelGraph::flat(2);
  const auto message = [&](std::vector<double> squares) -> std::string {
    try {
      SharedNormStep(graph).weights(squares);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message({1.0}),
            "shared norm: squared_norms has 1 entries, but must have one per node, 2");
  EXPECT_EQ(message({1.0, -2.0}),
            "shared norm: squared_norms[1] is -2, but must be finite and >= 0");
}

}  // namespace
}  // namespace margrove
