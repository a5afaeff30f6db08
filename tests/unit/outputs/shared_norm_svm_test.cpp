#include "outputs/shared_norm_svm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "hierarchy/shared_norm.hpp"
#include "hierarchy/weight_paths.hpp"
#include "margrove/errors.hpp"
#include "margrove/node_weights.hpp"
#include "num_cases.hpp"
#include "outputs/path/path_svm.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using testing::tiny_problem;
using testing::TinyProblem;

SharedNormSvmResult train(const TinyProblem& p, const SharedNormSvmOptions& options,
                          int threads = 1) {
  Executor executor(threads);
  RunControl control;
  return train_shared_norm_svm(p.X, p.leaf_of_row, p.graph, options, executor, control);
}

/// The path SVM's optimal value at fixed node weights.
double value_at(const TinyProblem& p, std::span<const double> alpha, double C) {
  Executor executor(1);
  RunControl control;
  return train_path_svm(p.X, p.leaf_of_row, p.graph, alpha, TaskLoss::zero_one,
                        {.C = C, .tolerance = 1e-6}, executor, control)
      .fit.primal;
}

TEST(SharedNormSvm, certified_optimum_beats_random_feasible_weights_and_matches_its_own) {
  for (std::uint64_t seed = 0; seed < num_cases(12); ++seed) {
    const TinyProblem p =
        tiny_problem(static_cast<std::uint32_t>(4 + seed), seed % 2 == 0 ? 0.0 : 0.4, 15, 5, seed);
    if (p.graph.leaves().size() < 2) continue;
    const SharedNormSvmResult result = train(p, {.C = 0.5, .tolerance = 1e-3, .max_rounds = 500});
    EXPECT_EQ(result.fit.stop, Stop::converged) << "seed " << seed;
    EXPECT_TRUE(result.fit.certified);
    EXPECT_LE(result.fit.relative_gap, 1e-3);
    EXPECT_GE(result.fit.primal, result.fit.dual);
    for (const double sum : path_sums(p.graph, result.alpha)) EXPECT_LE(sum, 1 + 1e-9);
    for (std::size_t k = 1; k < result.objectives.size(); ++k) {
      EXPECT_LE(result.objectives[k], result.objectives[k - 1]) << "seed " << seed;
    }
    const double own = value_at(p, result.alpha, 0.5);
    EXPECT_NEAR(own, result.fit.primal, 2e-3 * own) << "seed " << seed;
    Random random(seed, 1);
    for (int trial = 0; trial < 20; ++trial) {
      std::vector<double> alpha;
      for (NodeId n = 0; n < p.graph.num_nodes(); ++n) alpha.push_back(random.uniform());
      const std::vector<double> sums = path_sums(p.graph, alpha);
      const double longest = *std::max_element(sums.begin(), sums.end());
      for (double& each : alpha) each /= longest;
      EXPECT_GE(value_at(p, alpha, 0.5), result.fit.dual * (1 - 1e-6)) << "seed " << seed;
    }
  }
}

TEST(SharedNormSvm, a_flat_hierarchy_gives_the_multi_class_svm) {
  TinyProblem p = tiny_problem(8, 0.0, 25, 6, 3);
  p.graph = LabelGraph::flat(4);
  for (std::size_t i = 0; i < p.leaf_of_row.size(); ++i) p.leaf_of_row[i] = i % 4;
  const SharedNormSvmResult result = train(p, {.tolerance = 1e-4});
  const double multi_class = value_at(p, std::vector<double>(4, 1.0), 1.0);
  EXPECT_NEAR(result.fit.primal, multi_class, 2e-4 * multi_class);
  for (const double alpha : result.alpha) EXPECT_NEAR(alpha, 1.0, 1e-6);
}

TEST(SharedNormSvm, label_sets_converge_with_a_joint_gap_on_trees_and_dags) {
  for (std::uint64_t seed = 0; seed < num_cases(6); ++seed) {
    const TinyProblem p = tiny_problem(9, seed % 2 == 0 ? 0.0 : 0.4, 20, 5, seed);
    const LabelSets leaves = testing::random_leaf_sets(p, seed);
    Executor executor(1);
    RunControl control;
    const SharedNormSvmResult result = train_shared_norm_svm(
        p.X, leaves, p.graph, {.C = 0.5, .tolerance = 2e-3, .max_rounds = 500}, executor, control);
    EXPECT_EQ(result.fit.stop, Stop::converged) << "seed " << seed;
    EXPECT_TRUE(std::is_sorted(result.objectives.rbegin(), result.objectives.rend()));
  }
}

TEST(SharedNormSvm, same_bits_on_1_2_and_5_threads) {
  const TinyProblem p = tiny_problem(15, 0.3, 60, 8, 5);
  const SharedNormSvmResult expected = train(p, {.tolerance = 1e-2});
  for (const int threads : {2, 5}) {
    const SharedNormSvmResult result = train(p, {.tolerance = 1e-2}, threads);
    EXPECT_EQ(result.alpha, expected.alpha);
    ASSERT_EQ(result.weights.is_dense(), expected.weights.is_dense());
    EXPECT_TRUE(std::ranges::equal(result.weights.dense_values(), expected.weights.dense_values()));
  }
}

TEST(SharedNormSvm, claims_no_gap_where_time_ended_before_the_objective_was_known) {
  const TinyProblem p = tiny_problem(15, 0.3, 60, 8, 5);
  Executor executor(1);
  RunControl control;
  control.interrupt();
  const SharedNormSvmResult result =
      train_shared_norm_svm(p.X, p.leaf_of_row, p.graph, {}, executor, control);
  EXPECT_EQ(result.fit.stop, Stop::interrupted);
  EXPECT_FALSE(std::isfinite(result.fit.primal));
  EXPECT_TRUE(std::isnan(result.fit.relative_gap));
}

TEST(SharedNormSvm, losses_that_depend_on_alpha_are_refused) {
  const TinyProblem p = tiny_problem(5, 0.0, 4, 3, 1);
  EXPECT_THAT([&] { train(p, {.task_loss = TaskLoss::normalized}); },
              ::testing::ThrowsMessage<InvalidOption>(
                  ::testing::HasSubstr("task_loss is 'normalized', but must be one of")));
}

// By stochastic subgradients ----------------------------------------------------------------------

SharedNormSvmResult train_by_sgd(const TinyProblem& p, const SharedNormSgdOptions& options,
                                 RunControl& control, int threads = 1) {
  Executor executor(threads);
  return train_shared_norm_svm_by_sgd(p.X, p.leaf_of_row, p.graph, options, executor, control);
}

/// The weights of the path SVM by sgd at fixed node weights.
WeightMatrix path_svm_by_sgd(const TinyProblem& p, std::span<const double> alpha,
                             const SharedNormSgdOptions& options) {
  Executor executor(1);
  RunControl control;
  return train_path_svm(p.X, p.leaf_of_row, p.graph, alpha, options.task_loss,
                        {.solver = StructuredSolver::sgd,
                         .C = options.C,
                         .epochs = options.epochs,
                         .seed = options.seed},
                        executor, control)
      .weights;
}

std::vector<double> equal_weights(const LabelGraph& graph) {
  std::size_t longest = 0;
  for (const NodeId leaf : graph.leaves()) {
    longest = std::max(longest, graph.ancestors(leaf).size());
  }
  return std::vector(graph.num_nodes(), 1.0 / static_cast<double>(longest));
}

std::vector<double> squares_of(const WeightMatrix& U) {
  std::vector<double> squares(U.num_nodes());
  for (FeatureId j = 0; j < U.num_features(); ++j) {
    for (NodeId n = 0; n < U.num_nodes(); ++n) {
      squares[n] += static_cast<double>(U.at(j, n)) * static_cast<double>(U.at(j, n));
    }
  }
  return squares;
}

void expect_same(const WeightMatrix& a, const WeightMatrix& b) {
  ASSERT_EQ(a.num_features(), b.num_features());
  ASSERT_EQ(a.num_nodes(), b.num_nodes());
  for (FeatureId j = 0; j < a.num_features(); ++j) {
    for (NodeId n = 0; n < a.num_nodes(); ++n) EXPECT_EQ(a.at(j, n), b.at(j, n)) << j << ' ' << n;
  }
}

TEST(SharedNormSgd, a_round_is_the_path_svm_by_sgd_at_the_node_weights_of_the_round_before) {
  const TinyProblem p = tiny_problem(12, 0.0, 60, 8, 5);
  for (const bool printed : {true, false}) {
    SharedNormSgdOptions options{
        .C = 0.5, .epochs = 4, .max_rounds = 1, .printed = printed, .seed = 3};
    RunControl control;
    const SharedNormSvmResult one = train_by_sgd(p, options, control);
    const auto squares = squares_of(path_svm_by_sgd(p, equal_weights(p.graph), options));
    const auto alpha = printed ? printed_shared_weights(p.graph, squares)
                               : SharedNormStep(p.graph).weights(squares).alpha;
    EXPECT_EQ(one.alpha, alpha);
    expect_same(one.weights, path_svm_by_sgd(p, alpha, options));
    EXPECT_EQ(one.fit.passes, 8);
    EXPECT_EQ(one.objectives.size(), 2u);

    options.max_rounds = 2;
    const SharedNormSvmResult two = train_by_sgd(p, options, control);
    expect_same(two.weights, path_svm_by_sgd(p, two.alpha, options));
    EXPECT_NE(two.alpha, alpha);
    EXPECT_EQ(two.fit.passes, 12);
  }
}

TEST(SharedNormSgd, claims_no_convergence) {
  const TinyProblem p = tiny_problem(12, 0.0, 60, 8, 5);
  RunControl control;
  const SharedNormSvmResult result = train_by_sgd(p, {.epochs = 2}, control);
  EXPECT_EQ(result.fit.stop, Stop::epochs_done);
  EXPECT_FALSE(result.fit.certified);
  EXPECT_TRUE(std::isnan(result.fit.relative_gap));
  EXPECT_TRUE(std::isnan(result.fit.dual));
  EXPECT_EQ(result.fit.primal, result.objectives.back());
}

TEST(SharedNormSgd, same_bits_on_1_2_and_5_threads_and_others_with_another_seed) {
  const TinyProblem p = tiny_problem(15, 0.0, 60, 8, 5);
  RunControl control;
  const SharedNormSvmResult expected = train_by_sgd(p, {.epochs = 3}, control);
  for (const int threads : {2, 5}) {
    const SharedNormSvmResult result = train_by_sgd(p, {.epochs = 3}, control, threads);
    EXPECT_EQ(result.alpha, expected.alpha);
    expect_same(result.weights, expected.weights);
  }
  EXPECT_NE(train_by_sgd(p, {.epochs = 3, .seed = 1}, control).alpha, expected.alpha);
}

TEST(SharedNormSgd, an_interrupted_round_leaves_the_weights_of_the_round_before) {
  const TinyProblem p = tiny_problem(12, 0.0, 60, 8, 5);
  const SharedNormSgdOptions options{.epochs = 4};
  for (const int last : {2, 6, 10}) {  // passes before the interruption
    int passes = 0;
    RunControl control([&](const Progress& progress) {
      if (progress.stage == "sgd") ++passes;
      return passes < last;
    });
    const SharedNormSvmResult result = train_by_sgd(p, options, control);
    EXPECT_EQ(result.fit.stop, Stop::interrupted);
    EXPECT_EQ(result.fit.passes, last);
    if (last == 2) {
      EXPECT_EQ(result.alpha, equal_weights(p.graph));
      continue;
    }
    SharedNormSgdOptions complete = options;
    complete.max_rounds = std::max(1, last / options.epochs - 1);
    RunControl unlimited;
    const SharedNormSvmResult expected = train_by_sgd(p, complete, unlimited);
    const bool has_changed = last > 2 * options.epochs;
    EXPECT_EQ(result.alpha, has_changed ? expected.alpha : equal_weights(p.graph));
    expect_same(result.weights, has_changed ? expected.weights
                                            : path_svm_by_sgd(p, equal_weights(p.graph), options));
  }
}

TEST(SharedNormSgd, graphs_and_losses_that_depend_on_alpha_are_refused) {
  TinyProblem p = tiny_problem(5, 0.0, 4, 3, 1);
  RunControl control;
  EXPECT_THAT([&] { train_by_sgd(p, {.task_loss = TaskLoss::normalized}, control); },
              ::testing::ThrowsMessage<InvalidOption>(
                  ::testing::HasSubstr("task_loss is 'normalized', but must be one of")));
  p.graph = LabelGraph::build(3, std::vector<LabelEdge>{{0, 2}, {1, 2}});
  EXPECT_THAT([&] { train_by_sgd(p, {}, control); },
              ::testing::ThrowsMessage<InvalidInput>(
                  ::testing::HasSubstr("some nodes have several parents, but sgd is for trees")));
}

}  // namespace
}  // namespace margrove
