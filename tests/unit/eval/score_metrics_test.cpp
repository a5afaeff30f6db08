// Metrics of scores: golden against scikit-learn (tests/golden/make_score_metrics.py), by hand, and
// the same on any number of threads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "eval/precision_recall.hpp"
#include "eval/ranking.hpp"
#include "eval/selective.hpp"
#include "margrove/errors.hpp"
#include "source_folder.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double kNever = -std::numeric_limits<double>::infinity();

LabelSets sets(const std::vector<std::vector<LabelId>>& rows) {
  LabelSets labels;
  for (const auto& row : rows) labels.append(row);
  return labels;
}

ScoreRows rows_of(const std::vector<std::vector<double>>& scores) {
  return {scores.size(), scores.empty() ? 0 : scores.front().size(),
          [scores](std::size_t begin, std::size_t end, std::span<double> block) {
            auto out = block.begin();
            for (std::size_t i = begin; i < end; ++i) {
              out = std::copy(scores[i].begin(), scores[i].end(), out);
            }
          }};
}

double value_of(const std::vector<RowRatio>& ratios, std::string_view name) {
  for (const RowRatio& ratio : ratios) {
    if (ratio.name == name) return ratio.value();
  }
  ADD_FAILURE() << "no metric " << name;
  return 0;
}

PrecisionRecall measured(const ScoreRows& scores, const LabelSets& truth, int threads = 1) {
  Executor executor(threads);
  return precision_recall(scores, truth, std::vector<bool>(scores.num_columns, true), executor);
}

std::vector<RowRatio> ranked(const ScoreRows& scores, const LabelSets& truth,
                             const std::vector<std::size_t>& ks,
                             const std::vector<double>& inverse = {}, int threads = 1) {
  Executor executor(threads);
  return ranking_ratios(scores, truth, ks, inverse, executor);
}

TEST(GoldenScores, equal_those_of_scikit_learn) {
  std::ifstream file(testing::source_folder() / "tests/golden/score_metrics.json");
  const auto cases = nlohmann::json::parse(file);
  ASSERT_GE(cases.size(), 4U);
  for (const auto& golden : cases) {
    SCOPED_TRACE(golden["name"]);
    const auto scores = rows_of(golden["scores"].get<std::vector<std::vector<double>>>());
    const auto truth = sets(golden["truth"].get<std::vector<std::vector<LabelId>>>());
    const PrecisionRecall found = measured(scores, truth);
    const auto ratios = ranked(scores, truth, {1, 2, 5});
    for (const auto& [name, value] : golden["values"].items()) {
      const double expected = value.get<double>();
      const double here = name == "au_prc_micro"      ? found.pooled
                          : name == "au_prc_macro"    ? found.macro
                          : name == "au_prc_weighted" ? found.weighted
                          : name == "f_max"           ? found.f_max
                                                      : value_of(ratios, name);
      EXPECT_NEAR(here, expected, 1e-12) << name;
    }
  }
}

TEST(PrecisionRecall, columns_that_do_not_count_are_left_out) {
  const auto scores = rows_of({{3, 9, 1}, {2, 9, 4}});
  Executor executor(1);
  const PrecisionRecall found =
      precision_recall(scores, sets({{0, 1}, {2}}), {true, false, true}, executor);
  // 4 right, 3 right, 2 wrong, 1 wrong.
  EXPECT_DOUBLE_EQ(found.pooled, 1);
  EXPECT_EQ(found.support, (std::vector<std::int64_t>{1, 0, 1}));
}

TEST(PrecisionRecall, lowest_scores_tie_with_those_that_are_never_given) {
  const PrecisionRecall found = measured(rows_of({{1, kNever}, {2, kNever}}), sets({{1}, {0}}));
  EXPECT_DOUBLE_EQ(found.pooled, 0.5 * 1 + 0.5 * 2 / 4);
  EXPECT_DOUBLE_EQ(found.of_node[0], 1);
  EXPECT_DOUBLE_EQ(found.of_node[1], 0.5);
}

TEST(PrecisionRecall, without_a_true_node_all_is_zero) {
  const PrecisionRecall found = measured(rows_of({{1, 2}}), sets({{}}));
  EXPECT_EQ(found.pooled, 0);
  EXPECT_EQ(found.macro, 0);
  EXPECT_EQ(found.weighted, 0);
  EXPECT_EQ(found.f_max, 0);
}

/// Rows of 5 nodes, true and false ones with scores that overlap; some tie.
struct ScoredTruth {
  std::vector<std::vector<double>> scores;
  std::vector<std::vector<LabelId>> truth;
};
ScoredTruth overlapping(std::size_t num_rows) {
  ScoredTruth rows;
  Random random(7);
  for (std::size_t i = 0; i < num_rows; ++i) {
    std::vector<double> scores;
    std::vector<LabelId> truth;
    for (LabelId n = 0; n < 5; ++n) {
      const bool is_true = i % 6 != 0 && random.below(3) == 0;
      if (is_true) truth.push_back(n);
      scores.push_back(std::round(8 * (random.normal() + (is_true ? 1 : 0))) / 8);
    }
    rows.scores.push_back(scores);
    rows.truth.push_back(truth);
  }
  return rows;
}

TEST(PrecisionRecall, influences_are_derivatives_by_the_weights_of_rows) {
  constexpr std::size_t kRows = 14;
  constexpr int kCopies = 400;  // a row more is a step of 1/400 in its weight
  const ScoredTruth rows = overlapping(kRows);
  ScoredTruth copies;
  for (int copy = 0; copy < kCopies; ++copy) {
    copies.scores.insert(copies.scores.end(), rows.scores.begin(), rows.scores.end());
    copies.truth.insert(copies.truth.end(), rows.truth.begin(), rows.truth.end());
  }
  const auto all = [&](const ScoredTruth& of, bool with_influence, int threads = 1) {
    Executor executor(threads);
    return precision_recall(rows_of(of.scores), sets(of.truth), {true, true, true, true, false},
                            executor, with_influence);
  };
  const PrecisionRecall found = all(rows, true);
  ASSERT_EQ(found.influence.size(), kRows);
  EXPECT_TRUE(all(rows, false).influence.empty());
  PrecisionRecall::Influence sum;
  for (std::size_t i = 0; i < kRows; ++i) {
    ScoredTruth heavier = copies;
    heavier.scores.push_back(rows.scores[i]);
    heavier.truth.push_back(rows.truth[i]);
    const PrecisionRecall after = all(heavier, false);
    const double step = 1.0 * kRows * kCopies;
    EXPECT_NEAR(found.influence[i].pooled, step * (after.pooled - found.pooled), 0.01) << i;
    EXPECT_NEAR(found.influence[i].macro, step * (after.macro - found.macro), 0.02) << i;
    EXPECT_NEAR(found.influence[i].weighted, step * (after.weighted - found.weighted), 0.02) << i;
    EXPECT_NEAR(found.influence[i].f_max, step * (after.f_max - found.f_max), 0.01) << i;
    EXPECT_EQ(found.influence[i].pooled, all(rows, true, 3).influence[i].pooled) << i;
    EXPECT_EQ(found.influence[i].macro, all(rows, true, 3).influence[i].macro) << i;
    sum.pooled += found.influence[i].pooled;
    sum.macro += found.influence[i].macro;
    sum.weighted += found.influence[i].weighted;
    sum.f_max += found.influence[i].f_max;
  }
  EXPECT_NEAR(sum.pooled, 0, 1e-12);
  EXPECT_NEAR(sum.macro, 0, 1e-12);
  EXPECT_NEAR(sum.weighted, 0, 1e-12);
  EXPECT_NEAR(sum.f_max, 0, 1e-12);
}

TEST(PrecisionRecall, influences_give_the_standard_errors_of_a_bootstrap) {
  constexpr std::size_t kRows = 400;
  constexpr int kSamples = 400;
  const ScoredTruth rows = overlapping(kRows);
  Executor executor(1);
  const std::vector<bool> counted(5, true);
  const auto error_of = [](double squares) { return std::sqrt(squares) / kRows; };
  double pooled = 0, f_max = 0;
  for (const auto& row :
       precision_recall(rows_of(rows.scores), sets(rows.truth), counted, executor, true)
           .influence) {
    pooled += row.pooled * row.pooled;
    f_max += row.f_max * row.f_max;
  }
  Random random(5);
  std::vector<PrecisionRecall> samples;
  for (int sample = 0; sample < kSamples; ++sample) {
    ScoredTruth drawn;
    for (std::size_t i = 0; i < kRows; ++i) {
      const std::size_t row = random.below(kRows);
      drawn.scores.push_back(rows.scores[row]);
      drawn.truth.push_back(rows.truth[row]);
    }
    samples.push_back(
        precision_recall(rows_of(drawn.scores), sets(drawn.truth), counted, executor));
  }
  const auto deviation = [&](double PrecisionRecall::*value) {
    double sum = 0, squares = 0;
    for (const PrecisionRecall& sample : samples) {
      sum += sample.*value / kSamples;
      squares += sample.*value * sample.*value / kSamples;
    }
    return std::sqrt(squares - sum * sum);
  };
  EXPECT_NEAR(error_of(pooled) / deviation(&PrecisionRecall::pooled), 1, 0.12);
  EXPECT_NEAR(error_of(f_max) / deviation(&PrecisionRecall::f_max), 1, 0.12);
}

TEST(PrecisionRecall, influences_without_a_true_node_are_zero) {
  Executor executor(1);
  const PrecisionRecall found =
      precision_recall(rows_of({{1, 2}}), sets({{}}), {true, true}, executor, true);
  ASSERT_EQ(found.influence.size(), 1U);
  EXPECT_EQ(found.influence[0].pooled, 0);
  EXPECT_EQ(found.influence[0].f_max, 0);
}

TEST(RiskCoverage, influences_are_those_of_leaving_a_row_out) {
  Random random(3);
  std::vector<double> confidences;
  std::vector<bool> right;
  constexpr std::size_t kRows = 400;
  for (std::size_t i = 0; i < kRows; ++i) {
    confidences.push_back(static_cast<double>(random.below(100)) / 100);
    right.push_back(random.uniform() < 0.3 + 0.6 * confidences.back());
  }
  const std::vector<double> influence = influence_on_area(confidences, right);
  const double area = area_under(risk_coverage(confidences, right));
  double sum = 0, squares = 0, left_out = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    std::vector<double> others = confidences;
    std::vector<bool> right_others = right;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    right_others.erase(right_others.begin() + static_cast<std::ptrdiff_t>(i));
    const double change = area - area_under(risk_coverage(others, right_others));
    sum += influence[i];
    squares += influence[i] * influence[i];
    left_out += std::pow((kRows - 1) * change, 2);
  }
  EXPECT_NEAR(sum, 0, 1e-9);
  EXPECT_NEAR(std::sqrt(squares), std::sqrt(left_out), 0.05 * std::sqrt(left_out));
}

TEST(Ranking, ties_go_to_the_lowest_label_and_unscored_labels_are_never_found) {
  const auto ratios =
      ranked(rows_of({{1, 1, kNever}, {5, 6, kNever}}), sets({{0}, {1, 2}}), {1, 3});
  EXPECT_DOUBLE_EQ(value_of(ratios, "precision_at_1"), 1);
  EXPECT_DOUBLE_EQ(value_of(ratios, "precision_at_3"), 2.0 / 6);
  EXPECT_DOUBLE_EQ(value_of(ratios, "recall_at_3"), (1 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(value_of(ratios, "f1_at_3"), (2.0 / 4 + 2.0 / 5) / 2);
  EXPECT_DOUBLE_EQ(value_of(ratios, "r_precision"), (1 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(value_of(ratios, "coverage_error"), (2 + 3) / 2.0);
}

TEST(Ranking, unknown_labels_and_rows_without_labels) {
  const auto ratios = ranked(rows_of({{1, 2}, {3, 4}}), sets({{1, 7}, {}}), {1});
  EXPECT_DOUBLE_EQ(value_of(ratios, "precision_at_1"), 1);
  EXPECT_DOUBLE_EQ(value_of(ratios, "recall_at_1"), 0.5);
  EXPECT_DOUBLE_EQ(value_of(ratios, "coverage_error"), 2);
}

TEST(Ranking, propensities_weigh_rare_labels) {
  const std::vector<std::uint32_t> counts{1, 50};
  const auto inverse = inverse_propensities(counts, 100);
  const double c = (std::log(100.0) - 1) * std::pow(2.5, 0.55);
  EXPECT_DOUBLE_EQ(inverse[0], 1 + c * std::pow(2.5, -0.55));
  EXPECT_GT(inverse[0], inverse[1]);
  const auto ratios = ranked(rows_of({{1, 2}, {1, 2}}), sets({{0}, {1}}), {1}, inverse);
  EXPECT_DOUBLE_EQ(value_of(ratios, "psp_at_1"), inverse[1] / (inverse[0] + inverse[1]));
}

TEST(Scores, same_bits_on_any_number_of_threads) {
  std::vector<std::vector<double>> scores(700, std::vector<double>(40));
  std::vector<std::vector<LabelId>> truth(700);
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    for (double& score : scores[i]) {
      state = state * 1664525U + 1013904223U;
      score = static_cast<double>(state >> 20U) / 7;
    }
    truth[i] = {static_cast<LabelId>(i % 40), static_cast<LabelId>(i * 7 % 40)};
  }
  const PrecisionRecall one = measured(rows_of(scores), sets(truth), 1);
  const auto ratios = ranked(rows_of(scores), sets(truth), {5}, {}, 1);
  for (const int threads : {2, 5}) {
    const PrecisionRecall many = measured(rows_of(scores), sets(truth), threads);
    EXPECT_EQ(one.pooled, many.pooled);
    EXPECT_EQ(one.macro, many.macro);
    EXPECT_EQ(one.f_max, many.f_max);
    EXPECT_EQ(one.of_node, many.of_node);
    const auto again = ranked(rows_of(scores), sets(truth), {5}, {}, threads);
    for (std::size_t k = 0; k < ratios.size(); ++k) EXPECT_EQ(ratios[k].part, again[k].part);
  }
}

TEST(Bootstrap, same_bits_on_any_number_of_threads) {
  std::vector<double> part;
  for (int i = 0; i < 50; ++i) part.push_back(i % 3 == 0 ? 1 : 0);
  const std::vector<RowRatio> ratios{{"mean", part}};
  const auto intervals = [&](int threads) {
    Executor executor(threads);
    return bootstrap_intervals(ratios, {}, part.size(), 200, 3, 0.95, executor).front();
  };
  EXPECT_LT(intervals(1).low, ratios[0].value());
  EXPECT_GT(intervals(1).high, ratios[0].value());
  EXPECT_EQ(intervals(1).low, intervals(4).low);
  EXPECT_EQ(intervals(1).high, intervals(4).high);
}

TEST(Scores, errors_name_the_numbers) {
  Executor executor(1);
  const auto scores = rows_of({{1, 2}});
  const auto fails = [](const auto& call, const char* message) {
    EXPECT_THAT(call, ThrowsMessage<InvalidInput>(HasSubstr(message)));
  };
  fails([&] { ranked(scores, sets({}), {1}); }, "rows with scores is 1, but must be 0");
  fails([&] { ranked(scores, sets({{0}}), {0}); }, "k is 0");
  fails([&] { ranked(scores, sets({{1}}), {1}, {1.0}); }, "has label 1, but there are only 1");
  fails([] { inverse_propensities(std::vector<std::uint32_t>{1}, 2); }, "training rows is 2");
  fails([&] { measured(scores, sets({{0}, {1}})); }, "rows with scores is 1, but must be 2");
  fails([&] { measured(scores, sets({{2}})); }, "has label 2, but there are only 2 columns");
  fails([&] { precision_recall(scores, sets({{0}}), {true}, executor); }, "there are 1 marks");
  fails([] { risk_coverage(std::vector<double>{1}, {}); }, "1 confidences and 0 marks");
  fails([] { risk_coverage(std::vector<double>{std::nan("")}, {true}); }, "confidence[0] is nan");
}

TEST(RiskCoverage, equal_confidences_share_their_errors) {
  const auto risks =
      risk_coverage(std::vector<double>{0.1, 0.9, 0.5, 0.5}, {true, true, false, true});
  ASSERT_EQ(risks.size(), 4U);
  EXPECT_DOUBLE_EQ(risks[0], 0);
  EXPECT_DOUBLE_EQ(risks[1], 0.5 / 2);
  EXPECT_DOUBLE_EQ(risks[2], 1.0 / 3);
  EXPECT_DOUBLE_EQ(risks[3], 1.0 / 4);
  EXPECT_DOUBLE_EQ(area_under(risks), (0.25 + 1.0 / 3 + 0.25) / 4);
  EXPECT_EQ(area_under({}), 0);
}

}  // namespace
}  // namespace margrove
