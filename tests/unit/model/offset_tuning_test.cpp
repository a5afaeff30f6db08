#include "model/offset_tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/out_of_time.hpp"
#include "base/random.hpp"
#include "num_cases.hpp"

namespace margrove {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

constexpr std::uint32_t kLabels = 4;

/// The score of every subset of kLabels labels, for each example: bit l of a subset is label l.
struct Table {
  std::vector<std::vector<double>> scores;
  LabelSets truth;
};

Table random_table(std::uint64_t seed, std::size_t examples) {
  Random random(seed);
  Table table;
  for (std::size_t i = 0; i < examples; ++i) {
    std::vector<double> scores;
    for (std::size_t s = 0; s < (1U << kLabels); ++s) scores.push_back(2 * random.normal());
    std::vector<LabelId> set;
    for (LabelId l = 0; l < kLabels; ++l) {
      if (random.below(2) == 0) set.push_back(l);
    }
    table.scores.push_back(std::move(scores));
    table.truth.append(set);
  }
  return table;
}

class TableSearch final : public OffsetSearch {
 public:
  TableSearch(const Table& table, std::vector<std::uint32_t> rows)
      : table_(table), rows_(std::move(rows)) {}
  void start(std::size_t held_out) override { scores_ = &table_.scores[rows_[held_out]]; }
  OffsetAnswer best(double offset) override {
    ++num_calls;
    OffsetAnswer best{-1e9, 0, {}};
    for (std::uint32_t s = 0; s < scores_->size(); ++s) {
      OffsetAnswer answer{(*scores_)[s], 0, {}};
      for (LabelId l = 0; l < kLabels; ++l) {
        if ((s >> l) & 1U) answer.labels.push_back(l);
      }
      answer.count = static_cast<std::uint32_t>(answer.labels.size());
      if (answer.score + offset * answer.count > best.score + offset * best.count) best = answer;
    }
    return best;
  }
  int num_calls = 0;

 private:
  const Table& table_;
  std::vector<std::uint32_t> rows_;
  const std::vector<double>* scores_ = nullptr;
};

FitSearch fit_of(const Table& table) {
  return [&table](const Split& split, RunControl&) -> MakeSearch {
    return [&table, rows = split.validation] { return std::make_unique<TableSearch>(table, rows); };
  };
}

std::vector<std::uint32_t> sizes_of(const LabelSets& sets) {
  std::vector<std::uint32_t> sizes;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    sizes.push_back(static_cast<std::uint32_t>(sets[i].size()));
  }
  return sizes;
}

/// The metric at one offset, counted from nothing.
double value_at(double offset, const Table& table, DecisionMetric metric,
                const std::vector<double>& weights, const LabelGraph* hierarchy) {
  std::vector<std::uint32_t> all(table.scores.size());
  std::iota(all.begin(), all.end(), 0U);
  TableSearch search(table, all);
  const auto measure = label_set_metric(metric, table.truth, weights, hierarchy);
  for (const std::uint32_t i : all) {
    search.start(i);
    measure->add(i, search.best(offset).labels);
  }
  return measure->value();
}

double tuned(const Table& table, DecisionMetric metric, const std::vector<double>& weights,
             const LabelGraph* hierarchy, Executor& executor) {
  RunControl control;
  const auto measure = label_set_metric(metric, table.truth, weights, hierarchy);
  const auto sizes = sizes_of(table.truth);
  return tuned_offset({.metric = metric}, {table.truth, sizes}, *measure, fit_of(table), executor,
                      control);
}

TEST(OffsetPieces, are_the_best_answers_of_all_offsets) {
  for (std::uint64_t seed = 0; seed < num_cases(50); ++seed) {
    const Table table = random_table(seed, 1);
    TableSearch search(table, {0});
    search.start(0);
    const auto pieces = offset_pieces(search, -6, 6);
    EXPECT_LE(search.num_calls, 2 * static_cast<int>(pieces.size()) + 2);
    EXPECT_EQ(pieces.front().begin, -6);
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      const double end = p + 1 < pieces.size() ? pieces[p + 1].begin : 6;
      ASSERT_LE(pieces[p].begin, end);
      for (const double share : {0.01, 0.5, 0.99}) {
        const double offset = pieces[p].begin + share * (end - pieces[p].begin);
        EXPECT_EQ(search.best(offset).labels, pieces[p].labels) << "seed " << seed;
      }
    }
  }
}

/// Answers with scores that are out of range, as those of models of very large rows.
class OutOfRangeSearch final : public OffsetSearch {
 public:
  void start(std::size_t) override {}
  OffsetAnswer best(double offset) override {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (offset < 0) return {kInfinity, 0, {}};
    return {kInfinity, 3, {0, 1, 2}};
  }
};

TEST(OffsetPieces, of_scores_out_of_range_is_the_first_alone) {
  OutOfRangeSearch search;
  const auto pieces = offset_pieces(search, -3, 3);
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces[0].begin, -3);
}

TEST(TunedOffset, ends_with_scores_out_of_range) {  // it had no end
  const Table table = random_table(1, 30);
  const auto sizes = sizes_of(table.truth);
  const auto measure = label_set_metric(DecisionMetric::micro_f1, table.truth, {}, nullptr);
  const FitSearch fit = [](const Split&, RunControl&) -> MakeSearch {
    return [] { return std::make_unique<OutOfRangeSearch>(); };
  };
  RunControl control;
  EXPECT_TRUE(std::isfinite(
      tuned_offset({}, {table.truth, sizes}, *measure, fit, Executor::serial(), control)));
}

TEST(TunedOffset, is_as_good_as_the_best_of_a_fine_grid_for_every_metric) {
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}, {1, 3}};
  const LabelGraph hierarchy = LabelGraph::build(kLabels, edges);
  for (std::uint64_t seed = 0; seed < num_cases(6); ++seed) {
    const Table table = random_table(seed, 24);
    std::vector<double> weights;
    for (std::size_t i = 0; seed % 2 && i < 24; ++i) weights.push_back(0.25 + double(i % 5));
    for (const auto& metric : kEnumNames<DecisionMetric>) {
      const double offset = tuned(table, metric.value, weights, &hierarchy, Executor::serial());
      const double reached = value_at(offset, table, metric.value, weights, &hierarchy);
      double best = 0;
      for (double grid = -3; grid <= 3; grid += 0.01) {
        best = std::max(best, value_at(grid, table, metric.value, weights, &hierarchy));
      }
      EXPECT_GE(reached, best - 1e-9) << metric.name << ", seed " << seed;
    }
  }
}

TEST(TunedOffset, does_not_depend_on_the_number_of_threads) {
  const Table table = random_table(9, 60);
  Executor three(3);
  EXPECT_EQ(tuned(table, DecisionMetric::macro_f1, {}, nullptr, Executor::serial()),
            tuned(table, DecisionMetric::macro_f1, {}, nullptr, three));
}

TEST(TunedOffset, an_example_of_weight_two_counts_as_two) {
  const Table table = random_table(3, 20);
  Table twice = table;
  for (std::size_t i = 0; i < 20; ++i) {
    if (i % 3) continue;
    twice.scores.push_back(table.scores[i]);
    twice.truth.append(table.truth[i]);
  }
  std::vector<double> weights(20, 1.0);
  for (std::size_t i = 0; i < 20; i += 3) weights[i] = 2;
  for (const auto& metric : kEnumNames<DecisionMetric>) {
    for (const double offset : {-1.0, 0.0, 0.7}) {
      EXPECT_NEAR(value_at(offset, table, metric.value, weights, nullptr),
                  value_at(offset, twice, metric.value, {}, nullptr), 1e-12)
          << metric.name;
    }
  }
}

TEST(TunedOffset, is_zero_where_zero_is_best) {
  Table table;
  for (int i = 0; i < 9; ++i) {  // label 0 alone, by a margin of 1 on either side
    std::vector<double> scores;
    for (std::uint32_t s = 0; s < (1U << kLabels); ++s) {
      scores.push_back((s & 1U ? 1.0 : -1.0) - std::popcount(s >> 1));
    }
    table.scores.push_back(std::move(scores));
    table.truth.append(std::vector<LabelId>{0});
  }
  EXPECT_EQ(tuned(table, DecisionMetric::micro_f1, {}, nullptr, Executor::serial()), 0.0);
}

TEST(TunedOffset, folds_and_the_training_after_them_share_the_time_left) {
  const Table table = random_table(1, 30);
  const auto sizes = sizes_of(table.truth);
  const auto measure = label_set_metric(DecisionMetric::micro_f1, table.truth, {}, nullptr);
  RunControl control(nullptr, 1200.0);
  std::vector<double> seconds;
  tuned_offset(
      {}, {table.truth, sizes}, *measure,
      [&](const Split& split, RunControl& share) {
        seconds.push_back(share.seconds_left());
        return fit_of(table)(split, share);
      },
      Executor::serial(), control);
  EXPECT_THAT(seconds, ElementsAre(DoubleNear(300, 40), DoubleNear(400, 40), DoubleNear(600, 40)));
}

TEST(TunedOffset, reports_rows_and_finds_the_range_on_a_part_of_many) {
  const Table table = random_table(1, 6000);
  const auto sizes = sizes_of(table.truth);
  const auto measure = label_set_metric(DecisionMetric::micro_f1, table.truth, {}, nullptr);
  std::vector<Progress> reports;
  RunControl control([&](const Progress& progress) {
    reports.push_back(progress);
    return true;
  });
  tuned_offset({.folds = 3}, {table.truth, sizes}, *measure, fit_of(table), Executor::serial(),
               control);
  EXPECT_EQ(reports.front().total, 1000);
  EXPECT_EQ(reports.back().total, 2000);
  EXPECT_EQ(reports.back().done, 2000);
  EXPECT_EQ(reports.back().unit, Progress::Unit::rows);
}

TEST(TunedOffset, without_time_for_any_answer_it_is_zero) {
  const Table table = random_table(1, 30);
  const auto sizes = sizes_of(table.truth);
  const auto measure = label_set_metric(DecisionMetric::micro_f1, table.truth, {}, nullptr);
  const auto tune = [&](RunControl& control) {
    return tuned_offset({}, {table.truth, sizes}, *measure, fit_of(table), Executor::serial(),
                        control);
  };
  RunControl late(nullptr, 0.0);
  EXPECT_EQ(tune(late), 0.0);
  RunControl interrupted;
  interrupted.interrupt();
  EXPECT_THROW(tune(interrupted), OutOfTime);
}

}  // namespace
}  // namespace margrove
