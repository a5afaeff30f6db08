// Method top-down-svm and its predictor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/random.hpp"
#include "files.hpp"
#include "io/model_file.hpp"
#include "methods/training.hpp"
#include "model/linear_predictor.hpp"
#include "model/top_down_predictor.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using testing::message_of;

constexpr float kNever = -std::numeric_limits<float>::infinity();

constexpr double kScale = TopDownPredictor::kDefaultScale;

/// log of the probability of the first of two margins.
double log_first(double f, double g, double scale = kScale) {
  return -std::log(1 + std::exp(scale * (g - f)));
}

/// 0 above 1 and 2, 1 above 3 and 4, 2 above 5 and 6; node n's margin is x times margins[n].
LinearPredictor::Parts binary_tree(std::vector<float> margins) {
  LinearPredictor::Parts parts;
  parts.weights = WeightMatrix::dense(1, 7, std::move(margins));
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}, {2, 6}};
  parts.graph = LabelGraph::build(7, edges);
  parts.label_of_node = {0, 1, 2, 3, 4, 5, 6};
  parts.candidates = {3, 4, 5, 6};
  parts.num_labels = 7;
  return parts;
}

CsrMatrix one_row(float x = 1) {
  CsrMatrix X(1);
  X.append_row(std::vector<FeatureId>{0}, std::vector<float>{x});
  return X;
}

std::vector<float> scores_of(const TopDownPredictor& predictor, const CsrView& X) {
  std::vector<float> scores(predictor.num_labels());
  predictor.scores(X, 0, 1, scores);
  return scores;
}

LabelSets predict(const TopDownPredictor& predictor, const CsrView& X) {
  Executor executor(1);
  return predictor.predict(X, executor);
}

TEST(TopDownPredictor, greedy_follows_the_largest_margin_and_a_beam_the_best_sums) {
  const auto parts = binary_tree({9, 0.2F, 0.1F, -2, -2, 3, -1});
  const CsrMatrix X = one_row();
  const TopDownPredictor greedy(parts, 1), two(parts, 2), all(parts, 0);
  EXPECT_THAT(predict(greedy, X)[0], ElementsAre(3));  // a tie with 4
  EXPECT_THAT(predict(two, X)[0], ElementsAre(5));
  const auto reached = scores_of(greedy, X);
  for (const LabelId l : {4U, 5U, 6U}) EXPECT_EQ(reached[l], kNever);
  const auto scores = scores_of(all, X);
  EXPECT_FLOAT_EQ(scores[5], static_cast<float>(log_first(0.1F, 0.2F) + log_first(3, -1)));
  EXPECT_FLOAT_EQ(scores[4], static_cast<float>(log_first(0.2F, 0.1F) + std::log(0.5)));
  EXPECT_EQ(scores[3], reached[3]);
  EXPECT_EQ(scores[0], kNever);
}

TEST(TopDownPredictor, a_beam_of_all_leaves_finds_the_best_path_and_1_the_greedy_one) {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<float> m;
    for (int n = 0; n < 7; ++n) m.push_back(static_cast<float>(random.normal()));
    const CsrMatrix X = one_row();
    const TopDownPredictor greedy(binary_tree(m), 1), all(binary_tree(m), 4);
    const NodeId group = m[1] >= m[2] ? 1 : 2, first = 2 * group + 1;
    EXPECT_THAT(predict(greedy, X)[0], ElementsAre(m[first] >= m[first + 1] ? first : first + 1));
    LabelId best = 3;
    const auto sum = [&](LabelId leaf) {
      const LabelId above = (leaf - 1) / 2;
      return log_first(m[above], m[3 - above]) +
             log_first(m[leaf], m[leaf % 2 ? leaf + 1 : leaf - 1]);
    };
    for (LabelId leaf = 4; leaf <= 6; ++leaf) best = sum(leaf) > sum(best) ? leaf : best;
    EXPECT_THAT(predict(all, X)[0], ElementsAre(best));
  }
}

TEST(TopDownPredictor, nodes_whose_siblings_have_no_data_are_certain) {
  auto parts = binary_tree({0, -5, 1, -5, 0, 0, 0});
  parts.candidates = {3};  // its path has no competitor anywhere
  EXPECT_EQ(scores_of(TopDownPredictor(parts, 1), one_row())[3], 0.0F);
  EXPECT_THAT(predict(TopDownPredictor(parts, 1), one_row())[0], ElementsAre(3));
}

/// 0 above 1 (a leaf) and 2, 2 above 3 and 4, 3 above 5 and 6, 4 above 7.
LinearPredictor::Parts uneven_tree(std::vector<float> margins) {
  LinearPredictor::Parts parts;
  parts.weights = WeightMatrix::dense(1, 8, std::move(margins));
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}, {2, 3}, {2, 4}, {3, 5}, {3, 6}, {4, 7}};
  parts.graph = LabelGraph::build(8, edges);
  parts.label_of_node = {0, 1, 2, 3, 4, 5, 6, 7};
  parts.candidates = {1, 5, 6, 7};
  parts.num_labels = 8;
  return parts;
}

/// log-probabilities of the leaves of uneven_tree(), each written out.
std::vector<double> uneven_scores(const std::vector<float>& m, double scale) {
  const auto pair = [&](NodeId n, NodeId sibling) { return log_first(m[n], m[sibling], scale); };
  return {kNever,
          pair(1, 2),
          kNever,
          kNever,
          kNever,
          pair(2, 1) + pair(3, 4) + pair(5, 6),
          pair(2, 1) + pair(3, 4) + pair(6, 5),
          pair(2, 1) + pair(4, 3)};
}

TEST(TopDownPredictor, a_deep_leaf_wins_over_a_shallow_one_if_every_choice_favours_it) {
  // Sums of log sigmoid are -1.31 for leaf 1 and -1.92 for leaf 5.
  const auto parts = uneven_tree({0, -1, 0.1F, 0.1F, -1, 0.1F, -1, -1});
  for (const int beam : {0, 1, 2, 4}) {
    EXPECT_THAT(predict(TopDownPredictor(parts, beam), one_row())[0], ElementsAre(5)) << beam;
  }
}

TEST(TopDownPredictor, all_paths_are_a_distribution_over_the_leaves_and_the_best_one_is_predicted) {
  Random random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<float> m;
    for (int n = 0; n < 8; ++n) m.push_back(static_cast<float>(random.normal()));
    const double scale = std::exp(random.normal());
    const TopDownPredictor all(uneven_tree(m), 0, scale);
    const std::vector<double> expected = uneven_scores(m, scale);
    const std::vector<float> scores = scores_of(all, one_row());
    double sum = 0;
    for (LabelId l = 0; l < 8; ++l) {
      if (expected[l] == kNever) {
        EXPECT_EQ(scores[l], kNever);
      } else {
        EXPECT_NEAR(scores[l], expected[l], 1e-5);
      }
      sum += std::exp(static_cast<double>(scores[l]));
    }
    EXPECT_NEAR(sum, 1, 1e-6);
    const auto best = std::max_element(expected.begin(), expected.end()) - expected.begin();
    EXPECT_THAT(predict(all, one_row())[0], ElementsAre(static_cast<LabelId>(best)));
    EXPECT_EQ(scores_of(TopDownPredictor(uneven_tree(m), 4, scale), one_row()), scores);
  }
}

TEST(TopDownPredictor, probabilities_are_of_all_paths_whatever_the_beam) {
  const auto parts = binary_tree({0, 0.3F, 0.1F, 0.2F, -0.4F, 0.5F, 0.1F});
  const ProbabilityRule rule{ProbabilityRule::Form::one_of_all, 0.5};
  const auto probabilities_of = [&](int beam) {
    std::vector<double> found;
    for_probabilities(TopDownPredictor(parts, beam), rule, nullptr, one_row(), Executor::serial(),
                      [&](std::size_t, const RowProbabilities& p) {
                        found.assign(p.labels.begin(), p.labels.end());
                      });
    return found;
  };
  const std::vector<double> all = probabilities_of(0);
  EXPECT_THAT(all, Contains(Gt(0.0)).Times(4));
  EXPECT_NEAR(std::accumulate(all.begin(), all.end(), 0.0), 1, 1e-12);
  for (const int beam : {1, 2, 3}) EXPECT_EQ(probabilities_of(beam), all) << beam;
}

TEST(TopDown, a_greedy_model_can_be_calibrated) {
  const Hierarchy hierarchy = testing::groups();
  const ModelParts model =
      testing::train("top-down-svm", {{"C", "0.01"}}, testing::grouped_rows(300, 3), &hierarchy);
  const PreparedRows fresh = prepare_rows(testing::grouped_rows(200, 4), &hierarchy, {});
  const TrainingSet rows = fresh.training_set();
  Executor executor(1);
  RunControl control;
  const Calibration fitted =
      fit_calibration(model.rows(), model.hierarchy, {rows.X, *rows.labels}, executor, control);
  EXPECT_EQ(fitted.num_rows, 200);
  EXPECT_LT(fitted.error, 0.2);
  EXPECT_THAT(fitted.temperature, AllOf(Gt(1e-3), Lt(1e3)));  // neither end of its range
}

TEST(TopDownPredictor, greedy_takes_the_largest_margins_whatever_the_scale) {
  Random random(8);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<float> m;
    for (int n = 0; n < 8; ++n) m.push_back(static_cast<float>(30 * random.normal()));
    LabelId greedy = 1;
    if (m[2] > m[1]) greedy = m[4] > m[3] ? 7 : (m[6] > m[5] ? 6 : 5);
    for (const double scale : {1e-4, 0.5, kScale, 1e4}) {
      const TopDownPredictor one(uneven_tree(m), 1, scale);
      EXPECT_THAT(predict(one, one_row())[0], ElementsAre(greedy)) << scale;
    }
  }
}

TEST(TopDownPredictor, the_fitted_scale_has_the_largest_likelihood_of_the_paths) {
  const std::vector<float> m{0, -0.3F, 0.5F, 0.2F, -0.4F, 0.6F, -0.1F, 0};
  const TopDownPredictor predictor(uneven_tree(m), 0);
  CsrMatrix X(1);
  LabelSets leaves;
  std::vector<double> weights;
  for (const LabelId leaf : {5, 5, 1, 7, 6, 5, 0}) {  // 0 is no candidate: left out
    X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
    leaves.append(std::vector<LabelId>{leaf});
    weights.push_back(leaf == 5 ? 2 : 1);
  }
  const auto likelihood = [&](double scale) {
    const std::vector<double> scores = uneven_scores(m, scale);
    return 6 * scores[5] + scores[1] + scores[7] + scores[6];
  };
  Executor one(1), three(3);
  const double scale = predictor.fitted_scale(X, leaves, weights, one);
  EXPECT_EQ(predictor.fitted_scale(X, leaves, weights, three), scale);
  EXPECT_GT(likelihood(scale), likelihood(0.99 * scale));
  EXPECT_GT(likelihood(scale), likelihood(1.01 * scale));
  LabelSets nothing;
  for (std::size_t i = 0; i < X.num_rows(); ++i) nothing.append(std::vector<LabelId>{});
  EXPECT_EQ(predictor.fitted_scale(X, nothing, {}, one), kScale);
}

TEST(TopDownPredictor, explanation_has_margins_of_nodes_and_the_score_of_the_path) {
  const TopDownPredictor greedy(binary_tree({9, 0.2F, 0.1F, -2, -2, 3, -1}), 1);
  const CsrMatrix X = one_row(2);
  const Explanation explanation = greedy.explain(X.row(0), 5, 3);  // not reached
  EXPECT_NEAR(explanation.score, log_first(0.2F, 0.4F) + log_first(6, -2), 1e-6);
  ASSERT_EQ(explanation.nodes.size(), 3U);
  EXPECT_FLOAT_EQ(static_cast<float>(explanation.nodes[1].score), 0.2F);
  EXPECT_EQ(explanation.nodes[2].score, 6.0);
}

TEST(TopDownPredictor, parts_that_do_not_fit_throw) {
  auto inner = binary_tree({0, 0, 0, 0, 0, 0, 0});
  inner.candidates = {1};
  EXPECT_EQ(message_of([&] { TopDownPredictor(inner, 1); }),
            "top-down model: candidate is node 1, but must be a leaf");
  auto of_sets = binary_tree({0, 0, 0, 0, 0, 0, 0});
  of_sets.decision = LabelSetDecision{};
  EXPECT_EQ(message_of([&] { TopDownPredictor(of_sets, 1); }),
            "top-down model: decision is label-set, but must be made from the labels' scores");
  EXPECT_EQ(message_of([] {
              TopDownPredictor(binary_tree({0, 0, 0, 0, 0, 0, 0}), -1);
            }),
            "top-down model: beam is -1, but must be >= 0");
  EXPECT_EQ(message_of([] {
              TopDownPredictor(binary_tree({0, 0, 0, 0, 0, 0, 0}), 1, 0);
            }),
            "top-down model: scale is 0, but must be positive and finite");
}

// The method --------------------------------------------------------------------------------------

const TopDownPredictor& top_down(const ModelParts& model) {
  return dynamic_cast<const TopDownPredictor&>(*model.predictor);
}

TEST(TopDown, files_keep_beam_scores_and_threads_do_not_matter) {
  const Hierarchy hierarchy = testing::groups();
  const Examples raw = testing::grouped_rows(150, 3);
  const ModelParts model = testing::train("top-down-svm", {{"beam", "3"}}, raw, &hierarchy);
  const std::string bytes = serialize_model(model);
  for (const int threads : {2, 5}) {
    EXPECT_EQ(
        serialize_model(testing::train("top-down-svm", {{"beam", "3"}}, raw, &hierarchy, threads)),
        bytes);
  }
  const ModelParts read = parse_model(std::as_bytes(std::span(bytes)), "memory");
  EXPECT_EQ(top_down(read).beam(), 3);
  EXPECT_EQ(read.method, "top-down-svm");
  std::vector<float> before(9), after(9);
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    model.rows().scores(raw.X, i, i + 1, before);
    read.rows().scores(raw.X, i, i + 1, after);
    EXPECT_EQ(before, after);
  }
  EXPECT_EQ(serialize_model(read), bytes);
}

TEST(TopDown, a_file_with_an_impossible_beam_is_refused) {
  TensorMap out("m");
  TopDownPredictor(binary_tree({0, 0, 0, 0, 0, 0, 0}), 1).save(out);
  out.put_text("top-down.beam", "9999999999");
  EXPECT_EQ(message_of<ModelFileError>([&] { TopDownPredictor::load(out, 7); }),
            "m: metadata top-down.beam is 9999999999, which is too large");
}

TEST(TopDown, a_file_without_a_scale_has_the_default) {
  TensorMap out("m");
  const TopDownPredictor predictor(binary_tree({0, 0, 0, 0, 0, 0, 0}), 0, 1.5);
  predictor.save(out);  // `out` refers to its weights
  const auto scale_of = [](const TensorMap& tensors) {
    return dynamic_cast<const TopDownPredictor&>(*TopDownPredictor::load(tensors, 7)).scale();
  };
  EXPECT_EQ(scale_of(out), 1.5);
  TensorMap old("m");
  for (const auto& [name, tensor] : out.tensors()) old.put_raw(name, tensor);
  for (const auto& [key, text] : out.metadata()) {
    if (key != "top-down.scale") old.put_text(key, text);
  }
  EXPECT_EQ(scale_of(old), kScale);
}

TEST(TopDown, a_scale_is_learned_for_beams_and_the_weights_are_those_of_greedy) {
  const Hierarchy hierarchy = testing::groups();
  const Examples raw = testing::grouped_rows(150, 3);
  const ModelParts greedy = testing::train("top-down-svm", {}, raw, &hierarchy);
  const ModelParts beam = testing::train("top-down-svm", {{"beam", "0"}}, raw, &hierarchy);
  EXPECT_EQ(top_down(greedy).scale(), kScale);
  EXPECT_NE(top_down(beam).scale(), kScale);
  const auto& U = top_down(greedy).parts().weights;
  const auto& V = top_down(beam).parts().weights;
  ASSERT_EQ(U.num_features(), V.num_features());
  for (FeatureId j = 0; j < U.num_features(); ++j) {
    for (NodeId n = 0; n < U.num_nodes(); ++n) EXPECT_EQ(U.at(j, n), V.at(j, n));
  }
}

TEST(TopDown, every_machine_is_one_vs_rest_among_siblings_on_the_rows_below_their_parent) {
  const Hierarchy hierarchy = testing::groups();
  const Examples raw = testing::grouped_rows(120, 5);
  const ModelParts model = testing::train("top-down-svm", {{"tolerance", "1e-7"}}, raw, &hierarchy);
  Examples below_a;
  below_a.source = "below a";
  below_a.codec = raw.codec;
  below_a.X = CsrMatrix(4);
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    if (raw.labels[i][0] >= 2) continue;
    below_a.X.append_row(raw.X.row(i).columns, raw.X.row(i).values);
    below_a.labels.append(raw.labels[i]);
  }
  const ModelParts flat =
      testing::train("flat-svm", {{"loss", "hinge"}, {"tolerance", "1e-7"}}, below_a, nullptr);
  const auto& W = top_down(model).parts().weights;
  const auto& V = dynamic_cast<const LinearPredictor&>(*flat.predictor).parts().weights;
  for (const char* name : {"a1", "a2"}) {
    const LabelId node = *model.labels.find(name), label = *flat.labels.find(name);
    for (FeatureId j = 0; j < 5; ++j) EXPECT_NEAR(W.at(j, node), V.at(j, label), 1e-3) << name;
  }
  const LabelId root = *model.labels.find("root");
  for (FeatureId j = 0; j < 5; ++j) EXPECT_EQ(W.at(j, root), 0.0F) << "nobody to compete with";
}

TEST(TopDown, inner_labels_forests_and_several_labels_are_learned) {
  const Hierarchy hierarchy = testing::groups();
  Examples raw = testing::grouped_rows(120, 8);
  const LabelId inner = raw.codec.add("a");
  LabelSets with_inner;
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {  // a2 becomes "a itself"
    const LabelId label = raw.labels[i][0];
    with_inner.append(std::vector<LabelId>{label == 1 ? inner : label});
  }
  raw.labels = with_inner;
  EXPECT_GT(testing::accuracy(testing::train("top-down-svm", {}, raw, &hierarchy), raw), 0.95);

  Hierarchy forest;
  for (const auto& [parent, child] :
       {std::pair{"a", "a1"}, {"a", "a2"}, {"b", "b1"}, {"b", "b2"}}) {
    const LabelId p = forest.codec.add(parent);
    forest.edges.push_back({p, forest.codec.add(child)});
  }
  const Examples rows = testing::grouped_rows(120, 9);
  EXPECT_GT(testing::accuracy(testing::train("top-down-svm", {}, rows, &forest), rows), 0.95);

  Examples several = testing::multi_label_rows(200, false);
  Hierarchy star;
  for (const char* child : {"x", "y", "z"}) {
    const LabelId p = star.codec.add("star");
    star.edges.push_back({p, star.codec.add(child)});
  }
  const ModelParts model =
      testing::train("top-down-svm", {{"C", "10"}, {"beam", "0"}}, several, &star);
  EXPECT_GT(testing::accuracy(model, several), 0.95);
}

}  // namespace
}  // namespace margrove
