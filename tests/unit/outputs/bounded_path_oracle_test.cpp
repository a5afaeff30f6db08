#include "outputs/path/bounded_path_oracle.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "margrove/errors.hpp"
#include "structured/structured_fit.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using testing::tiny_problem;
using testing::TinyProblem;

static_assert(BoundedModel<BoundedPathModel>);
static_assert(!BoundedModel<PathModel>);

// PathModel with its columns in the order of the parts, so that both take the same weights.
PathModel plain_model(const TinyProblem& p, TaskLoss loss, std::uint32_t part_nodes) {
  return {p.X,
          p.leaf_of_row,
          p.graph,
          p.alpha,
          loss,
          NodeStorage::dense,
          subtree_parts(p.graph, part_nodes).order};
}

class BoundedPathOracle : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  BoundedPathOracle() {
    Random random(GetParam(), 5);
    for (float& each : w_)
      each = random.uniform() < 0.5 ? 0.0F : static_cast<float>(random.normal());
    bounds_.resize(model_.num_bounds());
    model_.bound_weights(w_, bounds_);
  }

  static TinyProblem problem() {
    TinyProblem p =
        tiny_problem(static_cast<std::uint32_t>(5 + 3 * (GetParam() % 20)), 0.0, 12, 9, GetParam());
    if (GetParam() % 3 == 0) p.alpha[1] = p.alpha[4] = 0.0;
    return p;
  }

  std::uint32_t part_nodes_ = static_cast<std::uint32_t>(1 + GetParam() % 6);
  TaskLoss loss_ =
      std::array{TaskLoss::normalized, TaskLoss::hamming, TaskLoss::zero_one}[GetParam() / 2 % 3];
  TinyProblem problem_ = problem();
  BoundedPathModel model_{problem_.X, problem_.leaf_of_row, problem_.graph, problem_.alpha,
                          loss_,      part_nodes_};
  PathModel plain_ = plain_model(problem_, loss_, part_nodes_);
  std::vector<float> w_ = std::vector<float>(model_.num_weights());
  std::vector<float> bounds_;
  BoundedPathModel::Workspace workspace_;
  PathModel::Workspace plain_workspace_;
};

TEST_P(BoundedPathOracle, argmax_equals_the_search_that_skips_nothing) {
  ASSERT_EQ(model_.num_weights(), plain_.num_weights());
  for (const double scale : {1.0, 0.5, -2.0}) {
    for (std::size_t i = 0; i < model_.num_examples(); ++i) {
      for (const auto& [w_m, w_g] : {std::pair{1.0, 1.0}, {0.0, 1.0}, {1.0, 0.0}, {0.3, 2.0}}) {
        const auto expected = plain_.oracle(i, {w_, scale}, plain_workspace_).argmax(w_m, w_g);
        const auto oracle = model_.oracle(i, {w_, scale}, bounds_, workspace_);
        const auto found = oracle.argmax(w_m, w_g);
        const auto unbounded = model_.oracle(i, {w_, scale}, workspace_).argmax(w_m, w_g);
        EXPECT_EQ(found.y, expected.y);
        EXPECT_EQ(unbounded.y, expected.y);
        EXPECT_EQ(found.m, unbounded.m);
        EXPECT_NEAR(found.m, expected.m, 1e-5);
        EXPECT_NEAR(found.g, expected.g, 1e-9);
      }
    }
  }
}

TEST_P(BoundedPathOracle, evaluates_leaves_of_parts_that_the_search_skipped) {
  for (std::size_t i = 0; i < model_.num_examples(); ++i) {
    const auto oracle = model_.oracle(i, {w_, 1.0}, bounds_, workspace_);
    const auto plain = plain_.oracle(i, {w_, 1.0}, plain_workspace_);
    const auto first = oracle.argmax(1.0, 1.0);
    for (const NodeId leaf : problem_.graph.leaves()) {
      EXPECT_EQ(oracle.evaluate(leaf).y, leaf);
      EXPECT_NEAR(oracle.evaluate(leaf).m, plain.evaluate(leaf).m, 1e-5);
      EXPECT_NEAR(oracle.evaluate(leaf).g, plain.evaluate(leaf).g, 1e-9);
    }
    EXPECT_EQ(oracle.num_scored(), model_.num_parts());
    EXPECT_EQ(oracle.argmax(1.0, 1.0).y, first.y);
    EXPECT_EQ(oracle.evaluate(model_.truth(i)).m, 0.0);
  }
}

TEST_P(BoundedPathOracle, bounds_follow_the_steps) {
  Random random(GetParam(), 9);
  const auto leaves = problem_.graph.leaves();
  for (std::size_t i = 0; i < model_.num_examples(); ++i) {
    std::vector<double> coefficients(leaves.size(), 0.0);
    for (double& each : coefficients) {
      if (random.uniform() < 0.3) each = random.normal();
    }
    std::vector<float> expected = w_;
    plain_.add_differences(i, leaves, coefficients, plain_workspace_, expected);
    model_.add_differences(i, leaves, coefficients, workspace_, w_, bounds_);
    EXPECT_EQ(w_, expected);
    std::vector<float> anew(model_.num_bounds());
    model_.bound_weights(w_, anew);
    ASSERT_EQ(bounds_, anew);
  }
}

INSTANTIATE_TEST_SUITE_P(seeds, BoundedPathOracle, ::testing::Range<std::uint64_t>(0, 60));

// 64 leaves below 8 nodes; the weights of one leaf are large.
TEST(BoundedPathModel, skips_subtrees_that_cannot_win) {
  std::vector<LabelEdge> edges;
  for (NodeId n = 1; n <= 8; ++n) edges.push_back({0, n});
  for (NodeId leaf = 9; leaf < 73; ++leaf) edges.push_back({(leaf - 9) / 8 + 1, leaf});
  const LabelGraph tree = LabelGraph::build(73, edges);
  CsrMatrix X(2);
  X.append_row(std::vector<FeatureId>{0, 1}, std::vector<float>{1, -1});
  const std::vector<double> alpha(73, 1.0);
  const BoundedPathModel model(X, std::vector<NodeId>{9}, tree, alpha, TaskLoss::normalized, 9);
  std::vector<float> w(model.num_weights(), 0.0F), bounds(model.num_bounds());
  w[model.scorer().index(1, model.scorer().column(50))] = -5.0F;
  model.bound_weights(w, bounds);
  BoundedPathModel::Workspace workspace;
  const auto oracle = model.oracle(0, {w, 1.0}, bounds, workspace);
  const auto found = oracle.argmax(1.0, 1.0);
  EXPECT_EQ(found.y, 50U);
  EXPECT_DOUBLE_EQ(found.m, 5.0);
  EXPECT_EQ(model.num_parts(), 8U);
  EXPECT_EQ(oracle.num_scored(), 2U);  // the true leaf's part and that of 50
}

TEST(BoundedPathModel, a_graph_throws) {
  const LabelEdge edges[] = {{0, 2}, {1, 2}};
  CsrMatrix X(1);
  X.append_row({}, {});
  EXPECT_THAT(([&] {
                BoundedPathModel(X, std::vector<NodeId>{2}, LabelGraph::build(3, edges),
                                 std::vector<double>(3, 1.0), TaskLoss::hamming);
              }),
              ThrowsMessage<InvalidInput>(HasSubstr("several parents, but must be a tree")));
}

}  // namespace
}  // namespace margrove
