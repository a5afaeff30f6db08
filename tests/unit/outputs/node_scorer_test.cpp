#include "outputs/node_scorer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "outputs/label_set/label_set_oracle.hpp"
#include "outputs/path/path_oracle.hpp"
#include "outputs/path/path_svm.hpp"
#include "structured/train_structured.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using testing::tiny_problem;
using testing::TinyProblem;

TEST(WeightBlocks, are_numbered_as_they_are_first_needed) {
  WeightBlocks blocks(3, 10);
  EXPECT_EQ(blocks.number(2, 7), 0U);
  EXPECT_EQ(blocks.number(0, 7), 1U);
  EXPECT_EQ(blocks.number(2, 3), 2U);
  EXPECT_EQ(blocks.number(2, 7), 0U);
  EXPECT_EQ(blocks.size(), 3U);
  ASSERT_EQ(blocks.of(2).size(), 2U);
  EXPECT_EQ(blocks.of(2)[0].group, 3U);
  EXPECT_EQ(blocks.of(2)[1].group, 7U);
  EXPECT_TRUE(blocks.of(1).empty());
  EXPECT_THAT(blocks.list(), ElementsAre(27, 7, 23));
}

TEST(WeightBlocks, come_back_from_their_list_unless_it_is_of_others) {
  WeightBlocks blocks(3, 10);
  blocks.number(1, 1);
  EXPECT_TRUE(blocks.set(std::vector<std::uint64_t>{27, 7, 23}));
  EXPECT_THAT(blocks.list(), ElementsAre(27, 7, 23));
  EXPECT_EQ(blocks.number(1, 1), 3U);
  EXPECT_FALSE(blocks.set(std::vector<std::uint64_t>{27, 7, 27}));
  EXPECT_EQ(blocks.size(), 0U);
  EXPECT_FALSE(blocks.set(std::vector<std::uint64_t>{30}));
  EXPECT_TRUE(blocks.set({}));
  EXPECT_TRUE(WeightBlocks().set({}));
  EXPECT_FALSE(WeightBlocks().set(std::vector<std::uint64_t>{0}));
}

TEST(WeightBlocks, take_their_weights_along_when_they_are_sorted) {
  WeightBlocks blocks(4, 10);
  Random random(5);
  for (int k = 0; k < 30; ++k) {
    blocks.number(static_cast<FeatureId>(random.below(4)),
                  static_cast<std::uint32_t>(random.below(10)));
  }
  // The first weight of each block says which it is.
  const auto names = blocks.list();
  std::vector<float> w;
  for (const std::uint64_t name : names) {
    w.push_back(static_cast<float>(name));
    w.resize(w.size() + WeightBlocks::kWidth - 1, 0.5F);
  }
  std::vector<float> first(WeightBlocks::kWidth, 7.0F);
  const auto order = blocks.sort();
  ASSERT_EQ(order.size(), blocks.size());
  EXPECT_TRUE(std::ranges::is_sorted(blocks.list()));
  WeightBlocks::follow(order, w);
  WeightBlocks::follow(order, first);
  ASSERT_EQ(w.size(), blocks.size() * WeightBlocks::kWidth);
  ASSERT_EQ(first.size(), w.size());
  for (std::uint32_t k = 0; k < blocks.size(); ++k) {
    EXPECT_EQ(w[k * WeightBlocks::kWidth], static_cast<float>(blocks.list()[k]));
    EXPECT_EQ(w[k * WeightBlocks::kWidth + 1], 0.5F);
    EXPECT_EQ(first[k * WeightBlocks::kWidth + 3], order[k] == 0 ? 7.0F : 0.0F);
  }
  EXPECT_TRUE(blocks.sort().empty());
  EXPECT_TRUE(WeightBlocks().sort().empty());
}

/// Graphs of more nodes than a block has columns, the odd ones with several parents.
class NodeBlocks : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  TinyProblem problem_ = tiny_problem(static_cast<std::uint32_t>(20 + 15 * (GetParam() % 4)),
                                      GetParam() % 2 == 0 ? 0.0 : 0.3, 30, 12, GetParam());
  PathModel path_model(NodeStorage storage) const {
    return PathModel(problem_.X, problem_.leaf_of_row, problem_.graph, problem_.alpha,
                     TaskLoss::normalized, storage);
  }
};

TEST_P(NodeBlocks, score_and_change_as_all_weights_do) {
  const PathModel dense = path_model(NodeStorage::dense), blocks = path_model(NodeStorage::blocks);
  std::vector<float> w(dense.num_weights()), few;
  PathModel::Workspace workspace;
  Random random(GetParam(), 3);
  const auto leaves = problem_.graph.leaves();
  const auto nodes = static_cast<NodeId>(problem_.graph.num_nodes());
  for (int step = 0; step < 40; ++step) {
    const auto i = static_cast<std::size_t>(random.below(dense.num_examples()));
    const std::vector<NodeId> some{leaves[random.below(leaves.size())],
                                   leaves[random.below(leaves.size())]};
    const std::vector<double> coefficients{random.normal(), step % 5 == 0 ? 0.0 : random.normal()};
    dense.add_differences(i, some, coefficients, workspace, w);
    blocks.add_differences(i, some, coefficients, workspace, few);
    ASSERT_EQ(few.size(), blocks.num_weights());

    const auto other = static_cast<std::size_t>(random.below(dense.num_examples()));
    std::vector<double> expected(2), margins(2);
    dense.margins(other, some, {w, 0.5}, workspace, expected);
    blocks.margins(other, some, {few, 0.5}, workspace, margins);
    for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(margins[k], expected[k], 1e-4);

    std::vector<float> of_dense, of_blocks;
    dense.scorer().scores(other, {w, 0.5}, of_dense);
    blocks.scorer().scores(other, {few, 0.5}, of_blocks);
    for (NodeId n = 0; n < nodes; ++n) {
      const std::uint32_t c = dense.scorer().column(n);
      ASSERT_EQ(c == NodeScorer::kNoColumn, blocks.scorer().column(n) == NodeScorer::kNoColumn);
      if (c == NodeScorer::kNoColumn) continue;
      EXPECT_NEAR(of_blocks[blocks.scorer().column(n)], of_dense[c], 1e-4);
    }
  }
  const auto expected = dense.scorer().squared_norms({w, 2.0});
  const auto norms = blocks.scorer().squared_norms({few, 2.0});
  for (NodeId n = 0; n < nodes; ++n) EXPECT_NEAR(norms[n], expected[n], 1e-4 * (1 + expected[n]));
  const WeightMatrix U = dense.scorer().node_weights({w, 2.0}, 12);
  const WeightMatrix V = blocks.scorer().node_weights({few, 2.0}, 12);
  for (FeatureId j = 0; j < 12; ++j) {
    std::vector<float> differences(nodes);
    U.for_each_of(j, [&](NodeId n, float u) { differences[n] += u; });
    V.for_each_of(j, [&](NodeId n, float u) { differences[n] -= u; });
    for (const float each : differences) EXPECT_NEAR(each, 0, 1e-4);
  }
}

TEST_P(NodeBlocks, weights_beyond_the_end_are_0) {
  const PathModel model = path_model(NodeStorage::blocks);
  const auto leaf = problem_.graph.leaves().back();
  std::vector<float> w, first;
  PathModel::Workspace workspace;
  const auto step = [&](std::size_t i, std::vector<float>& weights) {
    model.add_differences(i, {&leaf, 1}, std::vector<double>{1.0}, workspace, weights);
  };
  step(0, w);
  const std::vector<float> before = w;
  for (std::size_t i = 0; i < model.num_examples(); ++i) step(i, first);
  std::vector<float> padded = before;
  padded.resize(model.num_weights());
  for (std::size_t i = 0; i < model.num_examples(); ++i) {
    std::vector<float> short_scores, scores;
    model.scorer().scores(i, {before, 1.0}, short_scores);
    model.scorer().scores(i, {padded, 1.0}, scores);
    EXPECT_EQ(short_scores, scores);
    double margin = 0, expected = 0;
    model.margins(i, {&leaf, 1}, {before, 1.0}, workspace, {&margin, 1});
    model.margins(i, {&leaf, 1}, {padded, 1.0}, workspace, {&expected, 1});
    EXPECT_EQ(margin, expected);
  }
}

TEST_P(NodeBlocks, have_the_optimum_of_all_weights) {
  for (const bool by_sgd : {false, true}) {
    StructuredTraining training{.C = 2, .tolerance = 1e-6, .max_passes = 5000, .epochs = 30};
    if (by_sgd) training.solver = StructuredSolver::sgd;
    const auto train = [&](const auto& model, int num_threads) {
      Executor executor(num_threads);
      RunControl control;
      return train_structured(model, training, executor, control);
    };
    const StructuredFit expected = train(path_model(NodeStorage::dense), 1).fit;
    const StructuredResult found = train(path_model(NodeStorage::blocks), 1);
    EXPECT_EQ(found.fit.stop, expected.stop);
    EXPECT_NEAR(found.fit.primal, expected.primal, (by_sgd ? 1e-3 : 3e-6) * expected.primal);
    training.minibatch = 8;  // oracles run in parallel, between steps
    EXPECT_EQ(train(path_model(NodeStorage::blocks), 3).weights,
              train(path_model(NodeStorage::blocks), 1).weights);
    training.minibatch = 1;

    LabelSets sets;
    for (const NodeId leaf : problem_.leaf_of_row) {
      std::vector<LabelId> set{leaf, problem_.graph.leaves().front()};
      std::ranges::sort(set);
      set.erase(std::ranges::unique(set).begin(), set.end());
      sets.append(set);
    }
    const auto set_model = [&](NodeStorage storage) {
      return LabelSetModel(problem_.X, sets, problem_.graph, problem_.alpha, storage);
    };
    const double of_sets = train(set_model(NodeStorage::dense), 1).fit.primal;
    EXPECT_NEAR(train(set_model(NodeStorage::blocks), 1).fit.primal, of_sets,
                (by_sgd ? 1e-3 : 3e-6) * of_sets);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, NodeBlocks, ::testing::Range(std::uint64_t{0}, std::uint64_t{6}));

/// As many pairs of features and labels as take a gigabyte, but few of them in the rows.
struct LargeProblem {
  LabelGraph graph = LabelGraph::flat(14'000);
  CsrMatrix X{20'000};
  std::vector<NodeId> leaf_of_row;
  std::vector<double> alpha = std::vector<double>(14'000, 1.0);

  LargeProblem() {
    std::vector<FeatureId> columns(200);
    const std::vector<float> values(200, 0.1F);
    for (std::uint32_t i = 0; i < 100; ++i) {
      std::iota(columns.begin(), columns.end(), 200 * i);
      X.append_row(columns, values);
      leaf_of_row.push_back(100 * i);
    }
  }
};

TEST(NodeStorage, blocks_serve_where_all_weights_would_take_a_gigabyte) {
  const LargeProblem p;
  const auto storage = [&](const StructuredTraining& training, const Continuation& continuation) {
    return node_storage(p.X, p.graph, p.alpha, training, continuation);
  };
  EXPECT_EQ(storage({}, {}), NodeStorage::blocks);
  EXPECT_EQ(storage({.solver = StructuredSolver::sgd}, {}), NodeStorage::blocks);
  EXPECT_EQ(storage({.solver = StructuredSolver::sgd}, {.keep = true}), NodeStorage::all_features);
  EXPECT_EQ(storage({}, {.keep = true}), NodeStorage::blocks);
  EXPECT_EQ(storage({.solver = StructuredSolver::one_slack}, {}), NodeStorage::dense);
  const TinyProblem small = tiny_problem(30, 0.0, 20, 9, 1);
  EXPECT_EQ(node_storage(small.X, small.graph, small.alpha, {}, {}), NodeStorage::dense);
}

TEST(NodeStorage, blocks_take_a_small_part_of_the_memory) {
  const LargeProblem p;
  const StructuredTraining training{.max_passes = 3};
  EXPECT_LT(path_svm_memory(p.X, p.graph, p.alpha, false, training, {}, 1).total(), 1e8);
  Executor executor(1);
  RunControl control;
  const PathSvmResult found = train_path_svm(p.X, p.leaf_of_row, p.graph, p.alpha,
                                             TaskLoss::hamming, training, executor, control);
  EXPECT_EQ(found.fit.passes, 3);
  EXPECT_LT(found.weights.num_bytes(), 1e8);
  for (std::size_t i = 0; i < 100; i += 9) {  // the own weights of a row's label
    double own = 0;
    for (FeatureId j = static_cast<FeatureId>(200 * i); j < 200 * (i + 1); ++j) {
      found.weights.for_each_of(j, [&](NodeId n, float u) { own += n == 100 * i ? u : 0; });
    }
    EXPECT_GT(own, 0);
  }
}

}  // namespace
}  // namespace margrove
