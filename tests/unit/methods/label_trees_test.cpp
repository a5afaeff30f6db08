// Method label-trees and its predictor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "files.hpp"
#include "io/model_file.hpp"
#include "methods/training.hpp"
#include "model/label_trees_predictor.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using testing::message_of;

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr double kScale = LabelTreesPredictor::kScale;

/// Labels 0 to 3 of 5 in two trees: leaves 0 to 3 below 9 and 10 below 8, leaves 4 to 7 below 12,
/// of which 6 and 7 are below 13.
LinearPredictor::Parts two_trees(std::vector<float> margins) {
  LinearPredictor::Parts parts;
  parts.weights = WeightMatrix::dense(1, 14, std::move(margins));
  const std::vector<LabelEdge> edges{{8, 9},  {8, 10}, {9, 0},   {9, 1},  {10, 2}, {10, 3},
                                     {12, 4}, {12, 5}, {12, 13}, {13, 6}, {13, 7}, {11, 12}};
  parts.graph = LabelGraph::build(14, edges);
  parts.label_of_node = {0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 2, 0, 0, 2};
  parts.candidates = {0, 1, 2, 3};
  parts.num_labels = 5;
  return parts;
}

CsrMatrix one_row() {
  CsrMatrix X(1);
  X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
  return X;
}

std::vector<float> scores_of(const LabelTreesPredictor& predictor) {
  std::vector<float> scores(predictor.num_labels());
  predictor.scores(one_row(), 0, 1, scores);
  return scores;
}

double of_node(double margin) { return 1 / (1 + std::exp(-kScale * margin)); }
double log_odds(double p) { return std::log(p / (1 - p)); }

std::vector<float> random_margins(Random& random) {
  std::vector<float> margins(14);
  for (float& margin : margins) margin = static_cast<float>(2 * random.uniform() - 1);
  return margins;
}

TEST(LabelTreesPredictor, a_score_has_the_mean_of_the_products_over_the_paths) {
  Random random(3);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const std::vector<float> f = random_margins(random);
    const std::vector<float> scores = scores_of(LabelTreesPredictor(two_trees(f), 0));
    const auto p = [&](std::size_t n) { return of_node(f[n]); };
    EXPECT_NEAR(scores[0], log_odds((p(9) * p(0) + p(4)) / 2), 1e-5);
    EXPECT_NEAR(scores[1], log_odds((p(9) * p(1) + p(5)) / 2), 1e-5);
    EXPECT_NEAR(scores[2], log_odds((p(10) * p(2) + p(13) * p(6)) / 2), 1e-5);
    EXPECT_NEAR(scores[3], log_odds((p(10) * p(3) + p(13) * p(7)) / 2), 1e-5);
    EXPECT_EQ(scores[4], kNever);  // has no rows
  }
}

TEST(LabelTreesPredictor, a_beam_of_all_nodes_is_exact_and_of_one_greedy_in_each_tree) {
  Random random(4);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const std::vector<float> f = random_margins(random);
    EXPECT_EQ(scores_of(LabelTreesPredictor(two_trees(f), 4)),
              scores_of(LabelTreesPredictor(two_trees(f), 0)));
  }
  //                       leaves 0-3  leaves 4-7              9  10              13
  const std::vector<float> f{0, 1, 2, 3, 0, 0, 0.5F, 0.2F, 0, 1, 0.9F, 0, 0, 1};
  const std::vector<float> greedy = scores_of(LabelTreesPredictor(two_trees(f), 1));
  EXPECT_NEAR(greedy[0], log_odds((of_node(1) * of_node(0) + of_node(0)) / 2), 1e-5);
  EXPECT_NEAR(greedy[1], log_odds((of_node(1) * of_node(1) + of_node(0)) / 2), 1e-5);
  EXPECT_NEAR(greedy[2], log_odds(of_node(1) * of_node(0.5) / 2), 1e-5);
  EXPECT_NEAR(greedy[3], log_odds(of_node(1) * of_node(0.2) / 2), 1e-5);
}

/// As labels without rows in a fold, which have no classifiers there.
TEST(LabelTreesPredictor, labels_without_a_candidate_have_no_part) {
  Random random(7);
  const std::vector<float> f = random_margins(random);
  LinearPredictor::Parts parts = two_trees(f);
  parts.candidates = {0, 1, 3};
  const std::vector<float> scores = scores_of(LabelTreesPredictor(parts, 0));
  const auto p = [&](std::size_t n) { return of_node(f[n]); };
  EXPECT_NEAR(scores[0], log_odds((p(9) * p(0) + p(4)) / 2), 1e-5);
  EXPECT_EQ(scores[2], kNever);
  EXPECT_NEAR(scores[3], log_odds((p(10) + p(13)) / 2), 1e-5);  // the only child of 10 and 13
}

TEST(LabelTreesPredictor, probabilities_are_of_all_paths_whatever_the_beam) {
  Random random(5);
  const std::vector<float> f = random_margins(random);
  std::vector<float> scores(5);
  LabelTreesPredictor(two_trees(f), 1).probability_scores(one_row(), 0, 1, scores);
  EXPECT_EQ(scores, scores_of(LabelTreesPredictor(two_trees(f), 0)));
}

TEST(LabelTreesPredictor, scores_of_certain_and_of_impossible_labels_are_finite) {
  for (const float margin : {50.0F, -5000.0F}) {
    const std::vector<float> f(14, margin);
    const std::vector<float> scores = scores_of(LabelTreesPredictor(two_trees(f), 0));
    for (LabelId label = 0; label < 4; ++label) {
      EXPECT_TRUE(std::isfinite(scores[label]));
      EXPECT_EQ(scores[label] > 0, margin > 0);
    }
  }
}

TEST(LabelTreesPredictor, an_explanation_has_the_leaf_of_each_tree) {
  Random random(6);
  const std::vector<float> f = random_margins(random);
  const LabelTreesPredictor predictor(two_trees(f), 1);
  const CsrMatrix X = one_row();
  const Explanation explanation = predictor.explain(X.row(0), 2, 5);
  ASSERT_EQ(explanation.nodes.size(), 2U);
  EXPECT_EQ(explanation.nodes[0].score, f[2]);
  EXPECT_EQ(explanation.nodes[1].score, f[6]);
  EXPECT_EQ(explanation.score, scores_of(LabelTreesPredictor(two_trees(f), 0))[2]);
  EXPECT_THROW(predictor.explain(X.row(0), 4, 5), InvalidInput);
}

TEST(LabelTreesPredictor, parts_that_do_not_fit_throw) {
  const std::vector<float> f(14, 0.0F);
  EXPECT_EQ(message_of([&] { LabelTreesPredictor(two_trees(f), -1); }),
            "label trees: beam is -1, but must be >= 0");
  LinearPredictor::Parts inner = two_trees(f);
  inner.candidates = {0, 1, 2, 9};
  inner.label_of_node[9] = 3;
  EXPECT_EQ(message_of([&] { LabelTreesPredictor(inner, 1); }),
            "label trees: candidate is node 9, but must be a leaf");
  LinearPredictor::Parts dag = two_trees(f);
  const std::vector<LabelEdge> edges{{8, 9}, {10, 9}};
  dag.graph = LabelGraph::build(14, edges);
  EXPECT_EQ(message_of([&] { LabelTreesPredictor(dag, 1); }),
            "label trees: a node has several parents");
}

// The method --------------------------------------------------------------------------------------

const LabelTreesPredictor& trees_of(const ModelParts& model) {
  return dynamic_cast<const LabelTreesPredictor&>(*model.predictor);
}

TEST(LabelTrees, files_keep_beam_and_scores_and_threads_do_not_matter) {
  const Examples raw = testing::grouped_rows(150, 3);
  const OptionValues options{
      {"beam", "2"}, {"max_leaves", "2"}, {"trees", "2"}, {"one_vs_rest", "false"}};
  const ModelParts model = testing::train("label-trees", options, raw, nullptr);
  const std::string bytes = serialize_model(model);
  for (const int threads : {2, 5}) {
    EXPECT_EQ(serialize_model(testing::train("label-trees", options, raw, nullptr, threads)),
              bytes);
  }
  const ModelParts read = parse_model(std::as_bytes(std::span(bytes)), "memory");
  EXPECT_EQ(trees_of(read).beam(), 2);
  EXPECT_EQ(trees_of(read).parts().graph.roots().size(), 2U);
  EXPECT_EQ(serialize_model(read), bytes);
}

TEST(LabelTrees, one_vs_rest_is_one_more_tree) {
  const Examples raw = testing::grouped_rows(150, 3);
  const ModelParts model = testing::train("label-trees", {{"max_leaves", "2"}}, raw, nullptr);
  const LabelGraph& graph = trees_of(model).parts().graph;
  ASSERT_EQ(graph.roots().size(), 4U);
  EXPECT_EQ(graph.children(graph.roots()[3]).size(), graph.leaves().size() / 4);
}

TEST(LabelTrees, of_few_labels_is_one_vs_rest) {
  const Examples raw = testing::grouped_rows(150, 3);
  const ModelParts trees = testing::train("label-trees", {{"tolerance", "1e-7"}}, raw, nullptr);
  const ModelParts flat =
      testing::train("flat-svm", {{"loss", "squared-hinge"}, {"tolerance", "1e-7"}}, raw, nullptr);
  const std::size_t num_labels = trees.labels.size();
  std::vector<float> of_trees(num_labels), of_flat(num_labels);
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    trees.rows().scores(raw.X, i, i + 1, of_trees);
    flat.rows().scores(raw.X, i, i + 1, of_flat);
    for (std::size_t l = 0; l < num_labels; ++l) {
      if (!std::isfinite(of_flat[l])) continue;
      EXPECT_NEAR(of_trees[l], kScale * of_flat[l], 1e-3);
    }
  }
}

/// Otherwise the second of two halves would take as long as the first, and find the same.
TEST(LabelTrees, of_two_halves_the_second_has_the_weights_of_the_first_times_minus_1) {
  const Examples raw = testing::grouped_rows(150, 3);
  const ModelParts model = testing::train("label-trees", {{"max_leaves", "2"}}, raw, nullptr);
  const LinearPredictor::Parts& parts = trees_of(model).parts();
  std::size_t num_pairs = 0;
  for (NodeId node = 0; node < parts.graph.num_nodes(); ++node) {
    const auto children = parts.graph.children(node);
    if (children.size() != 2) continue;
    ++num_pairs;
    for (FeatureId j = 0; j < parts.weights.num_features(); ++j) {
      EXPECT_EQ(parts.weights.at(j, children[0]), -parts.weights.at(j, children[1]));
    }
  }
  EXPECT_GE(num_pairs, 6U);
}

TEST(LabelTrees, are_not_learned_beyond_the_memory) {
  const Examples raw = testing::grouped_rows(150, 3);
  EXPECT_THAT(
      message_of([&] {
        testing::train("label-trees", {{"max_leaves", "2"}, {"trees", "2147483647"}}, raw, nullptr);
      }),
      ::testing::HasSubstr(": option trees is 2147483647, but "));
}

/// Leaves of one tree and inner nodes share labels, but a label without a hierarchy has no leaf
/// that stands for itself.
TEST(LabelTrees, explanations_have_no_spawned_leaves) {
  const Examples raw = testing::grouped_rows(150, 3);
  const ModelParts model = testing::train("label-trees", {{"max_leaves", "2"}}, raw, nullptr);
  for (const NodeId n : trees_of(model).parts().candidates) {
    const LabelId label = trees_of(model).parts().label_of_node[n];
    const Explanation explanation = model.rows().explain(raw.X.view().row(0), label, 2);
    ASSERT_EQ(explanation.nodes.size(), 4U);
    for (const Explanation::Node& node : explanation.nodes) EXPECT_FALSE(node.is_spawned);
  }
}

TEST(LabelTrees, a_hierarchy_plays_no_part) {
  const Hierarchy hierarchy = testing::groups();
  const Examples raw = testing::grouped_rows(150, 3);
  const ModelParts with = testing::train("label-trees", {{"max_leaves", "2"}}, raw, &hierarchy);
  const ModelParts without = testing::train("label-trees", {{"max_leaves", "2"}}, raw, nullptr);
  EXPECT_EQ(trees_of(with).parts().graph, trees_of(without).parts().graph);
  EXPECT_EQ(trees_of(with).parts().weights.num_nonzeros(),
            trees_of(without).parts().weights.num_nonzeros());
}

}  // namespace
}  // namespace margrove
