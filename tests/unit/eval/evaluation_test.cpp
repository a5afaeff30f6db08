#include "eval/evaluation.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "base/out_of_time.hpp"
#include "eval/evaluation_tables.hpp"
#include "margrove/errors.hpp"
#include "small_models.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// The small model's rows; one has a label that nobody knows, one has none.
Examples labelled_rows() {
  Examples raw;
  raw.X = testing::small_rows();
  const LabelId cat = raw.codec.add("cat"), dog = raw.codec.add("dog"), cow = raw.codec.add("cow");
  raw.labels.append(std::vector<LabelId>{cat});
  raw.labels.append(std::vector<LabelId>{cat, dog});
  raw.labels.append(std::vector<LabelId>{cow});
  raw.labels.append({});
  return raw;
}

std::vector<double> all_of(const ScoreRows& scores) {
  std::vector<double> all(scores.num_rows * scores.num_columns);
  scores.compute(0, scores.num_rows, all);
  return all;
}

class EvaluationTest : public ::testing::Test {
 protected:
  EvaluatedRows rows() { return evaluated_rows(model_, labelled_rows(), nullptr, nullptr, one_); }
  std::vector<std::string> names(const EvaluationOptions& options) {
    std::vector<std::string> names;
    const EvaluatedRows evaluated = rows();
    for (const auto& metric : evaluate_rows(model_, evaluated, options, one_).metrics) {
      names.push_back(metric.name);
    }
    return names;
  }
  ModelParts model_ = testing::small_model();
  Executor one_{1};
};

TEST_F(EvaluationTest, unknown_labels_come_behind_those_of_the_model) {
  const EvaluatedRows evaluated = rows();
  EXPECT_THAT(evaluated.labels.names(), ElementsAre("animal", "cat", "dog", "plant", "cow"));
  EXPECT_THAT(evaluated.truth[2], ElementsAre(4));
  EXPECT_EQ(evaluated.num_unknown_labels, 1U);
  EXPECT_EQ(evaluated.num_rows_with_unknown, 1U);
  EXPECT_EQ(evaluated.num_training_rows, 18U);
  EXPECT_THAT(evaluated.training_rows, ElementsAre(0, 5, 6, 7, 0));
}

TEST_F(EvaluationTest, scores_are_those_of_labels_and_the_largest_below_nodes) {
  const EvaluatedRows evaluated = rows();
  EXPECT_THAT(all_of(label_score_rows(model_, evaluated)), ElementsAre(kNever, 8, 2, -2, kNever,  //
                                                                       kNever, 2, 3, 0, kNever,   //
                                                                       kNever, 2, 3, 6, kNever,   //
                                                                       kNever, 2, 0, 0, kNever));
  EXPECT_THAT(all_of(node_score_rows(model_, evaluated)), ElementsAre(8, 8, 2, -2, kNever,  //
                                                                      3, 2, 3, 0, kNever,   //
                                                                      3, 2, 3, 6, kNever,   //
                                                                      2, 2, 0, 0, kNever));
}

TEST_F(EvaluationTest, nodes_of_a_calibrated_model_have_probabilities) {
  model_.calibration = Calibration{.temperature = 2};
  const EvaluatedRows evaluated = rows();
  const auto scores = all_of(node_score_rows(model_, evaluated));
  const double cat = std::exp(2 / 2.0), dog = std::exp(3 / 2.0), plant = std::exp(0.0);
  EXPECT_NEAR(scores[5], (cat + dog) / (cat + dog + plant), 1e-12);
  EXPECT_NEAR(scores[6], cat / (cat + dog + plant), 1e-12);
  EXPECT_NEAR(scores[8], plant / (cat + dog + plant), 1e-12);
  EXPECT_EQ(scores[9], kNever);
}

TEST_F(EvaluationTest, scores_of_many_pairs_are_left_out_unless_asked_for) {
  const EvaluatedRows evaluated = rows();
  EvaluationOptions options{.most_pairs = 19};  // of 4 * 5
  const ModelEvaluation without = evaluate_rows(model_, evaluated, options, one_);
  EXPECT_FALSE(without.node_scores.has_value());
  ASSERT_EQ(without.left_out.size(), 1U);
  EXPECT_THAT(without.left_out.front(), HasSubstr("there are 20 pairs (row, node), more than 19"));
  options.metrics.names = {"all"};
  EXPECT_TRUE(evaluate_rows(model_, evaluated, options, one_).node_scores.has_value());
  options = {.most_pairs = 19, .node_scores = true};
  EXPECT_TRUE(evaluate_rows(model_, evaluated, options, one_).left_out.empty());
  options = {.most_pairs = 20};
  EXPECT_TRUE(evaluate_rows(model_, evaluated, options, one_).left_out.empty());
}

TEST_F(EvaluationTest, only_named_metrics_come) {
  EXPECT_THAT(names({.metrics = {{"f_max", "macro_f1", "recall_at_2"}}}),
              ElementsAre("macro_f1", "recall_at_2", "f_max"));
}

TEST_F(EvaluationTest, errors_name_metric_and_obstacle) {
  const auto fails = [&](const EvaluationOptions& options, const char* message) {
    EXPECT_THAT([&] { names(options); }, ThrowsMessage<InvalidInput>(HasSubstr(message)));
  };
  fails({.metrics = {{"brier"}}}, "metric brier was requested, but the model has no calibrated");
  fails({.metrics = {{"ndcg_at_5"}}}, "metric ndcg_at_5 was requested, but the model has fewer");
  fails({.metrics = {{"nonsense"}}}, "metric is 'nonsense', but must be one of all, accuracy, ");
  fails({.ignored_nodes = {{"cow"}}}, "option ignore_nodes has 'cow', but must have nodes");
}

TEST_F(EvaluationTest, metrics_of_scores_end_where_the_control_asks_to) {
  const EvaluatedRows evaluated = rows();
  RunControl control;
  control.interrupt();
  for (const std::string name : {"au_prc", "ndcg_at_1"}) {
    EXPECT_THROW(evaluate_rows(model_, evaluated, {.metrics = {{name}}}, one_, &control),
                 OutOfTimeLimit)
        << name;
  }
}

TEST_F(EvaluationTest, influences_come_on_request) {
  const EvaluatedRows evaluated = rows();
  const auto metrics = evaluate_rows(model_, evaluated, {.influences = true}, one_).metrics;
  for (const EvaluatedMetric& metric : metrics) {
    EXPECT_EQ(metric.influence.size(), 4U) << metric.name;
    EXPECT_NEAR(std::accumulate(metric.influence.begin(), metric.influence.end(), 0.0), 0, 1e-9)
        << metric.name;
  }
  EXPECT_TRUE(evaluate_rows(model_, evaluated, {}, one_).metrics.front().influence.empty());
}

TEST_F(EvaluationTest, a_hierarchy_beside_that_of_the_model_is_refused) {
  const Hierarchy hierarchy;
  EXPECT_THAT([&] { evaluated_rows(model_, labelled_rows(), &hierarchy, nullptr, one_); },
              ThrowsMessage<InvalidOption>(HasSubstr("the model has a hierarchy of its own")));
}

TEST_F(EvaluationTest, cells_of_tables_are_quoted_where_they_must) {
  Examples raw = labelled_rows();
  raw.codec = LabelCodec({"cat", "dog", "a \"cow\", black"});
  const EvaluatedRows evaluated = evaluated_rows(model_, raw, nullptr, nullptr, one_);
  EXPECT_THAT(per_label_csv(evaluated, nullptr),
              HasSubstr("\n\"a \"\"cow\"\", black\",1,0,0,0,0,0,\n"));
  EXPECT_EQ(confusion_csv(evaluated), "true,predicted,count\n");
}

}  // namespace
}  // namespace margrove
