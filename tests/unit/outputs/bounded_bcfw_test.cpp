// BCFW with an oracle that skips subtrees by bounds beside the weights.

#include <gtest/gtest.h>

#include <cmath>

#include "margin_fit.hpp"
#include "num_cases.hpp"
#include "outputs/path/bounded_path_oracle.hpp"
#include "outputs/path/path_loss.hpp"
#include "outputs/path/path_svm.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using testing::margin_fit;
using testing::tiny_problem;
using testing::TinyProblem;

TEST(BoundedBcfw, ends_where_the_search_that_skips_nothing_does) {
  Executor one(1), three(3);
  for (std::uint64_t seed = 0; seed < num_cases(12); ++seed) {
    const TinyProblem p = tiny_problem(static_cast<std::uint32_t>(10 + 4 * seed), 0.0, 25, 6, seed);
    const auto part_nodes = static_cast<std::uint32_t>(1 + seed % 5);
    const PathModel plain(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized);
    const BoundedPathModel bounded(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized,
                                   part_nodes);
    for (const int minibatch : {1, 8}) {
      const BcfwOptions options{.C = 0.5,
                                .tolerance = 1e-5,
                                .max_passes = 3000,
                                .minibatch = minibatch,
                                .averaging = seed % 4 == 3};
      std::vector<float> w, single, threaded;
      const StructuredFit expected = margin_fit(plain, options, one, &w);
      const StructuredFit found = margin_fit(bounded, options, one, &single);
      margin_fit(bounded, options, three, &threaded);
      EXPECT_TRUE(found.certified);
      EXPECT_EQ(found.stop, expected.stop);
      EXPECT_NEAR(found.primal, expected.primal, 2e-5 * expected.primal) << "seed " << seed;
      EXPECT_LE(found.dual, expected.primal * (1 + 1e-6));
      EXPECT_EQ(single, threaded);
    }
  }
}

// A tree large enough that training skips subtrees by itself.
TEST(BoundedBcfw, path_svm_on_a_large_tree_reaches_the_optimum) {
  const TinyProblem p = tiny_problem(4500, 0.0, 40, 8, 3);
  Executor executor(2);
  RunControl control;
  const PathSvmResult result =
      train_path_svm(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized,
                     {.C = 0.3, .tolerance = 1e-4}, executor, control);
  EXPECT_EQ(result.fit.stop, Stop::converged);
  const PathModel plain(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized);
  const StructuredFit expected =
      margin_fit(plain, {.C = 0.3, .tolerance = 1e-4, .minibatch = 1}, executor);
  EXPECT_NEAR(result.fit.primal, expected.primal, 2e-4 * expected.primal);
  std::vector<float> scores(p.graph.num_nodes());
  double loss = 0.0;  // the primal, from the weights that were returned
  const PathLoss task_loss(TaskLoss::normalized, p.graph, p.alpha);
  for (std::size_t i = 0; i < p.leaf_of_row.size(); ++i) {
    result.weights.scores(p.X.row(i), scores);
    std::vector<double> path(scores.begin(), scores.end());
    for (const NodeId n : p.graph.topological_order()) {
      if (!p.graph.is_root(n)) path[n] += path[p.graph.parents(n).front()];
    }
    double worst = 0.0;
    for (const NodeId leaf : p.graph.leaves()) {
      worst =
          std::max(worst, path[leaf] - path[p.leaf_of_row[i]] + task_loss(leaf, p.leaf_of_row[i]));
    }
    loss += worst;
  }
  double norm = 0.0;
  for (NodeId n = 0; n < p.graph.num_nodes(); ++n) {
    for (FeatureId j = 0; j < p.X.num_columns(); ++j) {
      norm += std::pow(static_cast<double>(result.weights.at(j, n)), 2) / p.alpha[n];
    }
  }
  EXPECT_NEAR(0.5 * norm + 0.3 * loss, result.fit.primal, 1e-5 * result.fit.primal);
}

}  // namespace
}  // namespace margrove
