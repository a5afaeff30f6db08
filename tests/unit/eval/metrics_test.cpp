#include "margrove/metrics.hpp"

#include <gtest/gtest.h>

#include <string>

#include "eval/named_metrics.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

LabelSets sets(const std::vector<std::vector<LabelId>>& rows) {
  LabelSets labels;
  for (const auto& row : rows) labels.append(row);
  return labels;
}

template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "no error";
}

TEST(Metrics, perfect_predictions_score_one) {
  const auto truth = sets({{0}, {1, 2}, {}});
  const Metrics m = compute_metrics(truth, truth, LabelGraph(), {});
  EXPECT_EQ(m.examples, 3);
  for (const auto& [name, value] : named_values(m)) {
    EXPECT_EQ(value, name == "hamming_loss" ? 0.0 : 1.0) << name;
  }
}

TEST(Metrics, sets_are_compared_row_by_row) {
  const auto truth = sets({{0, 1}, {2}, {}, {0}});
  const auto predicted = sets({{0, 3}, {2}, {}, {}});
  const Metrics m = compute_metrics(truth, predicted, LabelGraph(), {true, true, true, true});
  EXPECT_DOUBLE_EQ(m.accuracy, 2.0 / 4);
  EXPECT_DOUBLE_EQ(m.jaccard, (1.0 / 3 + 1 + 1 + 0) / 4);
  EXPECT_DOUBLE_EQ(m.instance_f1, (2.0 / 4 + 1 + 1 + 0) / 4);
  EXPECT_DOUBLE_EQ(m.micro_f1, 2.0 * 2 / (4 + 3));
  EXPECT_DOUBLE_EQ(m.macro_f1, (2.0 / 3 + 0 + 1 + 0) / 4);
  EXPECT_DOUBLE_EQ(m.hamming_loss, 3.0 / (4 * 4));
}

TEST(Metrics, labels_absent_from_training_and_truth_do_not_count) {
  const auto truth = sets({{0}, {0}});
  const auto predicted = sets({{0}, {5}});
  const Metrics m = compute_metrics(truth, predicted, LabelGraph(), {});
  EXPECT_DOUBLE_EQ(m.micro_f1, 2.0 / 3);  // label 5's false alarm is outside the set of labels
  EXPECT_DOUBLE_EQ(m.macro_f1, 2.0 / 3);
  EXPECT_DOUBLE_EQ(m.accuracy, 0.5);
}

TEST(Metrics, labels_of_training_that_are_absent_from_the_test_lower_macro_f1) {
  const auto truth = sets({{0}});
  EXPECT_DOUBLE_EQ(compute_metrics(truth, truth, LabelGraph(), {true, true}).macro_f1, 0.5);
}

TEST(LabelScores, count_support_predictions_and_hits) {
  const auto scores = label_scores(sets({{0}, {0}, {2}}), sets({{0}, {2}, {2}}), {});
  ASSERT_EQ(scores.size(), 2U);
  EXPECT_EQ(scores[1].label, 2U);
  EXPECT_EQ(scores[1].support, 1);
  EXPECT_EQ(scores[1].predicted, 2);
  EXPECT_EQ(scores[1].true_positives, 1);
  EXPECT_DOUBLE_EQ(scores[1].precision(), 0.5);
  EXPECT_DOUBLE_EQ(scores[1].recall(), 1.0);
  EXPECT_DOUBLE_EQ(scores[1].f1(), 2.0 / 3);
}

TEST(LabelScores, take_labels_of_any_number) {
  const auto truth = sets({{0, 4'000'000'000}, {4'294'967'295}});
  const auto predicted = sets({{0, 3'999'999'999}, {4'294'967'295}});
  const auto scores = label_scores(truth, predicted, {true});
  ASSERT_EQ(scores.size(), 3U);
  EXPECT_EQ(scores[1].label, 4'000'000'000U);
  EXPECT_EQ(scores[1].true_positives, 0);
  EXPECT_EQ(scores[2].label, 4'294'967'295U);
  EXPECT_EQ(scores[2].true_positives, 1);
  EXPECT_EQ(compute_metrics(truth, predicted, LabelGraph(), {true}).accuracy, 0.5);
}

TEST(Metrics, different_numbers_of_rows_throw) {
  EXPECT_EQ(message_of([] { compute_metrics(sets({{0}}), sets({}), LabelGraph(), {}); }),
            "metrics: number of predicted rows is 0, but must be 1 as in the truth");
  EXPECT_EQ(message_of([] { compute_metrics(sets({}), sets({}), LabelGraph(), {}); }),
            "metrics: number of rows is 0, but must be > 0");
}

}  // namespace
}  // namespace margrove
