#include "model/linear_predictor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "base/random.hpp"
#include "model/finite_scores.hpp"
#include "small_models.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::small_rows;
using testing::small_tree_parts;

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::vector<float> scores_of_row(const RowPredictor& predictor, const CsrView& X, std::size_t i) {
  std::vector<float> scores(predictor.num_labels());
  predictor.scores(X, i, i + 1, scores);
  return scores;
}

template <class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(LinearPredictor, scores_are_path_sums_with_the_intercept_and_without_unknown_features) {
  const LinearPredictor predictor(small_tree_parts());
  const CsrMatrix X = small_rows();
  EXPECT_EQ(predictor.num_features(), 3u);
  EXPECT_THAT(scores_of_row(predictor, X, 0), ElementsAre(kNever, 2 + 4 + 2, 2, -2));
  EXPECT_THAT(scores_of_row(predictor, X, 1), ElementsAre(kNever, 2, 3, 0));
  EXPECT_THAT(scores_of_row(predictor, X, 2), ElementsAre(kNever, 3 - 3 + 2, 3, 6));
  EXPECT_THAT(scores_of_row(predictor, X, 3), ElementsAre(kNever, 2, 0, 0));
}

TEST(LinearPredictor, predicts_the_best_candidate_and_ties_go_to_the_lowest) {
  LinearPredictor::Parts parts = small_tree_parts();
  const CsrMatrix X = small_rows();
  Executor executor(1);
  const LabelSets sets = LinearPredictor(parts).predict(X, executor);
  ASSERT_EQ(sets.num_rows(), 4u);
  EXPECT_THAT(sets[0], ElementsAre(1));
  EXPECT_THAT(sets[1], ElementsAre(2));
  EXPECT_THAT(sets[2], ElementsAre(3));
  EXPECT_THAT(sets[3], ElementsAre(1));
  parts.bias = 0;  // the last row of the weights is then an ordinary feature
  EXPECT_THAT(LinearPredictor(parts).predict(X, executor)[3], ElementsAre(1));
}

TEST(LinearPredictor, on_a_dag_every_ancestor_counts_once) {
  LinearPredictor::Parts parts;
  parts.weights = WeightMatrix::dense(1, 4, {1, 10, 100, 1000});
  const std::vector<LabelEdge> diamond{{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  parts.graph = LabelGraph::build(4, diamond);
  parts.label_of_node = {0, 1, 2, 3};
  parts.candidates = {3};
  parts.num_labels = 4;
  const LinearPredictor predictor(parts);
  CsrMatrix X(1);
  X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
  EXPECT_EQ(scores_of_row(predictor, X, 0)[3], 1111.0F);
  EXPECT_EQ(predictor.explain(X.row(0), 3, 1).score, 1111.0);
}

TEST(LinearPredictor, sums_that_are_not_finite_throw_with_the_row) {
  CsrMatrix X(1);
  for (const float x : {1.0F, 3e38F}) {
    X.append_row(std::vector<FeatureId>{0}, std::vector<float>{x});
  }
  const std::vector<LabelEdge> chain{{0, 1}}, diamond{{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  for (const auto& edges : {chain, diamond}) {
    LinearPredictor::Parts parts;
    const auto nodes = static_cast<std::uint32_t>(edges.back().child + 1);
    parts.weights = WeightMatrix::dense(1, nodes, std::vector<float>(nodes, -1.0F));
    parts.graph = LabelGraph::build(nodes, edges);
    for (NodeId n = 0; n < nodes; ++n) parts.label_of_node.push_back(n);
    parts.candidates = {nodes - 1};
    parts.num_labels = nodes;
    const LinearPredictor predictor(parts);
    Executor executor(1);
    EXPECT_THAT(message_of([&] { predictor.predict(X, executor); }),
                HasSubstr("row 1: the scores are not finite numbers"));
    std::vector<float> scores(nodes);
    EXPECT_NO_THROW(predictor.scores(X, 0, 1, scores));
    EXPECT_THROW(predictor.scores(X, 1, 2, scores), NonFiniteScores);
  }
}

TEST(LinearPredictor, on_a_dag_several_rows_at_a_time_have_the_scores_and_answers_of_each) {
  constexpr std::uint32_t kNodes = 40, kRows = 37;
  std::vector<LabelEdge> edges;
  for (NodeId n = 1; n < kNodes; ++n) {
    edges.push_back({n / 2, n});
    if (n > 4) edges.push_back({n / 3, n});
  }
  LinearPredictor::Parts parts;
  parts.graph = LabelGraph::build(kNodes, edges);
  Random random(1);
  parts.weights = WeightMatrix::dense(6, kNodes);
  for (float& w : parts.weights.dense_values()) w = static_cast<float>(random.uniform() - 0.5);
  parts.num_labels = kNodes;
  for (NodeId n = 0; n < kNodes; ++n) parts.label_of_node.push_back(n);
  for (NodeId n = 3; n < kNodes; n += 2) parts.candidates.push_back(n);
  const LinearPredictor predictor(std::move(parts));
  CsrMatrix X(6);
  for (std::uint32_t i = 0; i < kRows; ++i) {
    X.append_row(std::vector<FeatureId>{i % 3, 3 + i % 3},
                 std::vector<float>{static_cast<float>(random.uniform()), 1.5F});
  }
  std::vector<float> all(std::size_t{kRows} * kNodes);
  predictor.scores(X, 0, kRows, all);
  Executor executor;
  const LabelSets predicted = predictor.predict(X, executor);
  for (std::uint32_t i = 0; i < kRows; ++i) {
    const std::vector<float> own = scores_of_row(predictor, X, i);
    EXPECT_THAT(std::vector<float>(all.begin() + i * kNodes, all.begin() + (i + 1) * kNodes),
                ::testing::ContainerEq(own));
    LinearPredictor::Scratch scratch;
    const std::span<float> nodes = predictor.node_scores(X, i, scratch);
    float sum = 0;
    for (const NodeId n : predictor.parts().graph.ancestors(kNodes - 1)) sum += nodes[n];
    EXPECT_EQ(own[kNodes - 1], sum);
    const auto best = std::max_element(own.begin(), own.end()) - own.begin();
    EXPECT_THAT(predicted[i], ElementsAre(static_cast<LabelId>(best)));
  }
}

/// A flat model over kTerms features and `width` more, whose weights are of all nodes or, if they
/// are stored sparse, of most.
LinearPredictor with_block(std::uint32_t width, bool is_sparse, Random& random) {
  constexpr std::uint32_t kNodes = 301, kTerms = 100;
  LinearPredictor::Parts parts;
  parts.weights = WeightMatrix::dense(kTerms + width + 1, kNodes);
  const std::span<float> weights = parts.weights.dense_values();
  for (std::uint32_t j = 0; j < kTerms + width + 1; ++j) {
    for (NodeId n = 0; n < kNodes; ++n) {
      const bool is_zero = j < kTerms ? (j + n) % 20 != 0 : n % (j < kTerms + 10 ? 5 : 7) == 0;
      if (is_sparse && is_zero) continue;
      weights[std::size_t{j} * kNodes + n] = static_cast<float>(random.normal());
    }
  }
  parts.bias = 1;
  parts.graph = LabelGraph::flat(kNodes);
  parts.num_labels = kNodes;
  for (NodeId n = 0; n < kNodes; ++n) {
    parts.label_of_node.push_back(n);
    parts.candidates.push_back(n);
  }
  return LinearPredictor(std::move(parts));
}

TEST(LinearPredictor, rows_that_end_with_the_same_features_have_the_bits_of_each_alone) {
  Random random(3);
  for (const std::uint32_t width : {0U, 1U, 4U, 23U}) {
    for (const bool is_sparse : {false, true}) {
      const LinearPredictor predictor = with_block(width, is_sparse, random);
      EXPECT_EQ(predictor.parts().weights.is_dense(), !is_sparse);
      const std::uint32_t num_nodes = predictor.num_labels();
      const FeatureId first = predictor.num_features() - width;
      CsrMatrix X(first + width + 5);  // the last ones are unknown
      for (std::uint32_t i = 0; i < 21; ++i) {
        std::vector<FeatureId> columns;
        for (FeatureId j = 0; j < X.num_columns(); ++j) {
          const bool is_of_block = j >= first && j < first + width;
          const bool is_missing = i == 20 && j == first;
          if (is_of_block ? !is_missing : (i + j) % 3 == 0) columns.push_back(j);
        }
        std::vector<float> values(columns.size());
        for (float& x : values) x = static_cast<float>(random.normal());
        X.append_row(columns, values);
      }
      std::vector<float> together(X.num_rows() * num_nodes);
      predictor.scores(X, 0, X.num_rows(), together);
      for (std::size_t i = 0; i < X.num_rows(); ++i) {
        const auto own = std::span(together).subspan(i * num_nodes, num_nodes);
        EXPECT_TRUE(std::ranges::equal(own, scores_of_row(predictor, X, i))) << width << ' ' << i;
      }
    }
  }
}

TEST(LinearPredictor, top_is_sorted_and_leaves_out_labels_never_predicted) {
  const LinearPredictor predictor(small_tree_parts());
  Executor executor(1);
  const RankedLabels top = predictor.top(small_rows(), 2, executor);
  EXPECT_THAT(top.pointers, ElementsAre(0, 2, 4, 6, 8));
  EXPECT_THAT(top.labels, ElementsAre(1, 2, 2, 1, 3, 2, 1, 2));
  EXPECT_EQ(predictor.top(small_rows(), 9, executor).pointers.back(), 12u);
}

TEST(LinearPredictor, explanation_adds_up_to_the_score_node_by_node) {
  const LinearPredictor predictor(small_tree_parts());
  const CsrMatrix X = small_rows();
  const Explanation cat = predictor.explain(X.row(0), 1, 5);
  EXPECT_EQ(cat.score, 8.0);
  ASSERT_EQ(cat.nodes.size(), 2u);
  EXPECT_EQ(cat.nodes[0].label, 0u);
  EXPECT_EQ(cat.nodes[0].score, 2.0);
  EXPECT_EQ(cat.nodes[1].score, 6.0);
  ASSERT_EQ(cat.nodes[1].strongest.size(), 2u);
  EXPECT_EQ(cat.nodes[1].strongest[0].feature, 0u);
  EXPECT_EQ(cat.nodes[1].strongest[0].score, 4.0);
  EXPECT_EQ(cat.nodes[1].strongest[1].feature, predictor.num_features());
  EXPECT_EQ(predictor.explain(X.row(0), 1, 1).nodes[1].strongest.size(), 1u);
  EXPECT_THAT(message_of([&] { predictor.explain(X.row(0), 0, 1); }),
              HasSubstr("label 0 is never predicted"));
}

TEST(LinearPredictor, chooses_the_best_label_set_over_the_candidates_alone) {
  LinearPredictor::Parts parts;
  // Node 0 above 1 and 2, node 3 above 2, 4 and 5; leaf 4 would win but is no candidate.
  parts.weights = WeightMatrix::dense(2, 6, {-1, 3, 2, -1, 9, -4, -1, -5, -4, 1, 9, -2});
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}, {3, 2}, {3, 4}, {3, 5}};
  parts.graph = LabelGraph::build(6, edges);
  parts.label_of_node = {0, 1, 2, 3, 4, 5};
  parts.candidates = {1, 2, 5};
  parts.num_labels = 6;
  parts.decision = LabelSetDecision{};
  const LinearPredictor predictor(parts);
  CsrMatrix X(2);
  X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
  X.append_row(std::vector<FeatureId>{1}, std::vector<float>{1});
  Executor executor(1);
  const LabelSets sets = predictor.predict(X, executor);
  EXPECT_THAT(sets[0], ElementsAre(1, 2)) << "3 - 1 + 2 - 1";
  EXPECT_THAT(sets[1], ElementsAre(5)) << "1 - 2: the best of bad sets, none is empty";
  parts.candidates = {0, 5};
  EXPECT_THAT(message_of([&] { LinearPredictor{parts}; }),
              HasSubstr("candidate is node 0, but must be a leaf to be part of label sets"));
}

TEST(LinearPredictor, a_spawned_leaf_stands_for_its_label) {
  LinearPredictor::Parts parts;
  parts.weights = WeightMatrix::dense(1, 3, {1, 1, 5});
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}};  // node 2: the leaf of label 0 itself
  parts.graph = LabelGraph::build(3, edges);
  parts.label_of_node = {0, 1, 0};
  parts.candidates = {1, 2};
  parts.num_labels = 2;
  const LinearPredictor predictor(parts);
  CsrMatrix X(1);
  X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
  Executor executor(1);
  EXPECT_THAT(predictor.predict(X, executor)[0], ElementsAre(0));
  const Explanation explanation = predictor.explain(X.row(0), 0, 1);
  EXPECT_FALSE(explanation.nodes[0].is_spawned);
  EXPECT_TRUE(explanation.nodes[1].is_spawned);
}

TEST(LinearPredictor, dense_and_sparse_storage_agree) {
  LinearPredictor::Parts parts = small_tree_parts();
  constexpr std::uint32_t kFeatures = 64;
  std::vector<float> values(kFeatures * 4, 0.0F);
  for (std::size_t j = 0; j < kFeatures; ++j) values[j * 4 + j % 4] = static_cast<float>(j);
  parts.bias = 0;
  parts.weights = WeightMatrix::dense(kFeatures, 4, values);
  const LinearPredictor predictor(parts);
  EXPECT_FALSE(predictor.parts().weights.is_dense());
  CsrMatrix X(kFeatures);
  X.append_row(std::vector<FeatureId>{1, 4, 7}, std::vector<float>{1, 2, 3});
  EXPECT_THAT(scores_of_row(predictor, X, 0), ElementsAre(kNever, 8 + 1, 8, 21));
}

TEST(LinearPredictor, any_number_of_threads_gives_the_same_bits) {
  const LinearPredictor predictor(small_tree_parts());
  CsrMatrix X(3);
  for (std::size_t i = 0; i < 1000; ++i) {
    X.append_row(std::vector<FeatureId>{0, 1, 2},
                 std::vector<float>{0.1F * static_cast<float>(i), 30, 0.01F});
  }
  Executor one(1);
  const RankedLabels expected = predictor.top(X, 3, one);
  for (const int threads : {2, 5}) {
    Executor executor(threads);
    const RankedLabels top = predictor.top(X, 3, executor);
    EXPECT_EQ(top.labels, expected.labels);
    EXPECT_EQ(top.scores, expected.scores);
    const LabelSets sets = predictor.predict(X, executor);
    ASSERT_EQ(sets.num_rows(), 1000u);
    for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(sets[i][0], expected.labels[3 * i]);
  }
}

TEST(LinearPredictor, parts_that_disagree_are_refused_with_their_name) {
  const auto broken = [](auto change) {
    LinearPredictor::Parts parts = small_tree_parts();
    change(parts);
    return message_of([&] { LinearPredictor{parts}; });
  };
  EXPECT_THAT(broken([](auto& p) { p.label_of_node.pop_back(); }),
              HasSubstr("label_of_node has 3"));
  EXPECT_THAT(broken([](auto& p) { p.alpha.pop_back(); }), HasSubstr("alpha has 3 entries"));
  EXPECT_THAT(broken([](auto& p) { p.bias = -1; }), HasSubstr("bias is -1"));
  EXPECT_THAT(broken([](auto& p) { p.label_of_node[0] = 4; }), HasSubstr("a node has label 4"));
  EXPECT_THAT(broken([](auto& p) { p.candidates.clear(); }), HasSubstr("no label to predict"));
  EXPECT_THAT(broken([](auto& p) { p.candidates[0] = 4; }), HasSubstr("candidate is node 4"));
  EXPECT_THAT(broken([](auto& p) {
                p.candidates = {1, 1};
              }),
              HasSubstr("label 1 is predicted by two nodes"));
  EXPECT_THAT(broken([](auto& p) {
                p.decision = ThresholdDecision{{0, 0}, false};
              }),
              HasSubstr("there are 2 thresholds"));
  EXPECT_THAT(broken([](auto& p) { p.weights = WeightMatrix::dense(0, 4); }),
              HasSubstr("weights of the intercept are missing"));
}

}  // namespace
}  // namespace margrove
