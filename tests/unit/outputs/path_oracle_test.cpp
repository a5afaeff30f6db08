#include "outputs/path/path_oracle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "margrove/errors.hpp"
#include "outputs/path/path_loss.hpp"
#include "structured/structured_fit.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using testing::tiny_problem;
using testing::TinyProblem;

std::vector<float> random_weights(const PathModel& model, std::uint64_t seed) {
  Random random(seed, 7);
  std::vector<float> w(model.num_weights());
  for (float& each : w) each = static_cast<float>(random.normal());
  return w;
}

double dot_explicit(const PathModel& model, std::size_t i, NodeId leaf, std::span<const float> w) {
  SparseVector difference;
  model.difference(i, leaf, difference);
  return dot({w, 1.0}, difference);
}

class PathOracle : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  TinyProblem problem_ = tiny_problem(static_cast<std::uint32_t>(3 + GetParam() % 20),
                                      GetParam() % 2 == 0 ? 0.0 : 0.4, 6, 9, GetParam());
  PathModel model_{problem_.X, problem_.leaf_of_row, problem_.graph, problem_.alpha,
                   TaskLoss::normalized};
  std::vector<float> w_ = random_weights(model_, GetParam());
  PathModel::Workspace workspace_;
};

TEST_P(PathOracle, argmax_equals_enumeration_of_the_leaves) {
  const PathLoss loss(TaskLoss::normalized, problem_.graph, problem_.alpha);
  for (std::size_t i = 0; i < model_.num_examples(); ++i) {
    const auto oracle = model_.oracle(i, {w_, 0.5}, workspace_);
    for (const auto& [w_m, w_g] : {std::pair{1.0, 1.0}, {0.0, 1.0}, {1.0, 0.0}, {0.3, 2.0}}) {
      double best = 0.0;
      for (const NodeId leaf : problem_.graph.leaves()) {
        const double m = 0.5 * dot_explicit(model_, i, leaf, w_);
        best = std::max(best, w_m * m + w_g * loss(leaf, model_.truth(i)));
      }
      const auto found = oracle.argmax(w_m, w_g);
      EXPECT_NEAR(w_m * found.m + w_g * found.g, best, 1e-4);
      EXPECT_NEAR(found.m, 0.5 * dot_explicit(model_, i, found.y, w_), 1e-4);
      EXPECT_DOUBLE_EQ(found.g, loss(found.y, model_.truth(i)));
      EXPECT_EQ(oracle.evaluate(found.y).m, found.m);
      if (w_m == 0) {
        for (const NodeId leaf : problem_.graph.leaves()) {
          EXPECT_TRUE(oracle.evaluate(leaf).g != found.g || oracle.evaluate(leaf).m <= found.m);
        }
      }
    }
    EXPECT_EQ(oracle.truth().m, 0.0);
    EXPECT_EQ(oracle.evaluate(model_.truth(i)).g, 0.0);
  }
}

TEST(PathOracleScores, that_have_overflowed_throw) {
  // No leaf has the best value where that is NaN, and the search read beyond the last one.
  const TinyProblem p = tiny_problem(12, 0.0, 6, 9, 2);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::hamming);
  PathModel::Workspace workspace;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> w(model.num_weights(), bad);
    for (std::size_t i = 0; i < model.num_examples(); ++i) {
      EXPECT_THAT(
          [&] {
            return model.oracle(i, {w, 1.0}, workspace).argmax(1.0, 1.0);
          },
          ThrowsMessage<InvalidInput>(
              HasSubstr("a score of a path is not finite; the weights have overflowed")));
    }
  }
}

TEST_P(PathOracle, implicit_differences_equal_explicit_ones) {
  const auto leaves = problem_.graph.leaves();
  const std::size_t size = leaves.size();
  std::vector<double> margins(size), products(size * size), coefficients;
  Random random(GetParam(), 3);
  for (std::size_t k = 0; k < size; ++k) coefficients.push_back(random.normal());
  for (std::size_t i = 0; i < model_.num_examples(); ++i) {
    model_.margins(i, leaves, {w_, 2.0}, workspace_, margins);
    model_.difference_products(i, leaves, products);
    std::vector<float> moved = w_, expected = w_;
    model_.add_differences(i, leaves, coefficients, workspace_, moved);
    for (std::size_t k = 0; k < size; ++k) {
      SparseVector a;
      model_.difference(i, leaves[k], a);
      sort_indices(a);
      EXPECT_NEAR(margins[k], 2 * dot({w_, 1.0}, a), 1e-4);
      add_scaled(coefficients[k], a, expected);
      for (std::size_t j = 0; j < size; ++j) {
        SparseVector b;
        model_.difference(i, leaves[j], b);
        sort_indices(b);
        EXPECT_NEAR(products[j * size + k], dot(a, b), 1e-4);
      }
    }
    for (std::size_t c = 0; c < w_.size(); ++c) EXPECT_NEAR(moved[c], expected[c], 1e-4);
  }
}

TEST_P(PathOracle, node_weights_score_paths_as_the_model_does) {
  const std::uint32_t features = problem_.X.num_columns() + 3;
  const WeightMatrix U = model_.scorer().node_weights({w_, 1.0}, features);
  ASSERT_EQ(U.num_features(), features);
  ASSERT_EQ(U.num_nodes(), problem_.graph.num_nodes());
  std::vector<float> scores(U.num_nodes());
  for (std::size_t i = 0; i < model_.num_examples(); ++i) {
    U.scores(problem_.X.row(i), scores);
    const auto path_score = [&](NodeId leaf) {
      double sum = 0.0;
      for (const NodeId n : problem_.graph.ancestors(leaf)) sum += static_cast<double>(scores[n]);
      return sum;
    };
    for (const NodeId leaf : problem_.graph.leaves()) {
      EXPECT_NEAR(path_score(leaf) - path_score(model_.truth(i)), dot_explicit(model_, i, leaf, w_),
                  1e-4);
    }
  }
  const std::vector<double> norms = model_.scorer().squared_norms({w_, 1.0});
  for (NodeId n = 0; n < U.num_nodes(); ++n) {
    double norm = 0.0;
    for (FeatureId j = 0; j < features; ++j) norm += std::pow(static_cast<double>(U.at(j, n)), 2);
    EXPECT_NEAR(norm, problem_.alpha[n] * norms[n], 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, PathOracle, ::testing::Range<std::uint64_t>(0, 30));

TEST(PathModel, ties_go_to_the_lowest_leaf) {
  const LabelEdge edges[] = {{0, 1}, {0, 2}, {2, 3}, {2, 4}};
  CsrMatrix X(1);
  X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
  const PathModel model(X, std::vector<NodeId>{1}, LabelGraph::build(5, edges),
                        std::vector<double>(5, 1.0), TaskLoss::hamming);
  PathModel::Workspace workspace;
  const std::vector<float> w(model.num_weights(), 0.0F);
  EXPECT_EQ(model.oracle(0, {w, 1.0}, workspace).argmax(1, 1).y, 3U);  // 3 and 4 lose 3
  EXPECT_EQ(model.oracle(0, {w, 1.0}, workspace).argmax(1, 0).y, 3U);  // equal m: the larger g
}

TEST(PathModel, keeps_weights_only_for_features_that_occur_and_nodes_that_matter) {
  const LabelEdge edges[] = {{0, 1}, {0, 2}, {2, 3}, {2, 4}};
  CsrMatrix X(1000);
  X.append_row(std::vector<FeatureId>{7, 900}, std::vector<float>{1, 2});
  const std::vector<double> alpha{1, 1, 0, 1, 1};  // 0 is above all leaves, 2 has no weight
  const PathModel model(X, std::vector<NodeId>{1}, LabelGraph::build(5, edges), alpha,
                        TaskLoss::hamming);
  EXPECT_EQ(model.num_weights(), 2U * 3U);
}

TEST(PathModel, wrong_labels_throw) {
  const LabelEdge edges[] = {{0, 1}, {0, 2}};
  const LabelGraph graph = LabelGraph::build(3, edges);
  CsrMatrix X(1);
  X.append_row({}, {});
  const std::vector<double> alpha(3, 1.0);
  EXPECT_THAT(([&] { PathModel(X, std::vector<NodeId>{0}, graph, alpha, TaskLoss::hamming); }),
              ThrowsMessage<InvalidInput>(HasSubstr("label of row 0 is 0, but must be a leaf")));
  EXPECT_THAT(([&] {
                PathModel(X, std::vector<NodeId>{1, 1}, graph, alpha, TaskLoss::hamming);
              }),
              ThrowsMessage<InvalidInput>(HasSubstr("2 labels, but must be one per row of X, 1")));
}

}  // namespace
}  // namespace margrove
