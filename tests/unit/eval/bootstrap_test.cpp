#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "eval/row_ratio.hpp"
#include "eval/set_metrics.hpp"
#include "hierarchy/closed_sets.hpp"

namespace margrove {
namespace {

constexpr double kLevel = 0.95;

std::vector<Interval> intervals_of(const std::vector<RowRatio>& ratios,
                                   const std::vector<MacroF1>& macros, std::size_t num_rows,
                                   int num_resamples, std::uint64_t seed) {
  Executor executor(1);
  return bootstrap_intervals(ratios, macros, num_rows, num_resamples, seed, kLevel, executor);
}

/// A row has label l with probability prior[l] / sum of prior; it is predicted with probability
/// right[l], and otherwise a label drawn from the prior.
struct Source {
  std::vector<double> prior, right;

  LabelId draw(Random& random) const {
    double total = 0;
    for (const double p : prior) total += p;
    double left = random.uniform() * total;
    for (LabelId l = 0; l + 1 < prior.size(); ++l) {
      left -= prior[l];
      if (left < 0) return l;
    }
    return static_cast<LabelId>(prior.size() - 1);
  }
  std::pair<LabelSets, LabelSets> sample(std::size_t num_rows, Random& random) const {
    std::pair<LabelSets, LabelSets> rows;
    for (std::size_t i = 0; i < num_rows; ++i) {
      const LabelId label = draw(random);
      const LabelId guess = random.uniform() < right[label] ? label : draw(random);
      rows.first.append(std::vector<LabelId>{label});
      rows.second.append(std::vector<LabelId>{guess});
    }
    return rows;
  }
};

/// Label l is the l-th most frequent; frequencies fall as 1/l.
Source skewed(std::size_t num_labels) {
  Source source;
  for (std::size_t l = 0; l < num_labels; ++l) {
    source.prior.push_back(1.0 / static_cast<double>(l + 1));
    source.right.push_back(l % 3 == 0 ? 0.9 : 0.5);
  }
  return source;
}

/// The shares of samples whose intervals contain the expected accuracy and macro F1 of samples of
/// this size.
struct Covered {
  double accuracy = 0, macro_f1 = 0;
};
Covered coverage(const Source& source, std::size_t num_rows) {
  constexpr int kSamples = 300, kReference = 3000;
  Random random(5);
  const auto ratio_of = [](const auto& rows) {
    return label_ratios(rows.first, rows.second, {}).front();
  };
  const auto macro_of = [](const auto& rows) {
    return MacroF1("macro_f1", rows.first, rows.second, {});
  };
  double accuracy = 0, macro_f1 = 0;
  for (int k = 0; k < kReference; ++k) {
    const auto rows = source.sample(num_rows, random);
    accuracy += ratio_of(rows).value() / kReference;
    macro_f1 += macro_of(rows).value() / kReference;
  }
  Covered covered;
  for (int k = 0; k < kSamples; ++k) {
    const auto rows = source.sample(num_rows, random);
    const auto intervals = intervals_of({ratio_of(rows)}, {macro_of(rows)}, num_rows, 200,
                                        static_cast<std::uint64_t>(k));
    const auto contains = [](const Interval& interval, double value) {
      return interval.low <= value && value <= interval.high ? 1.0 / kSamples : 0.0;
    };
    covered.accuracy += contains(intervals[0], accuracy);
    covered.macro_f1 += contains(intervals[1], macro_f1);
  }
  return covered;
}

TEST(Bootstrap, intervals_cover_what_they_promise) {
  struct Case {
    std::size_t num_labels, num_rows;
    double least;  // nominal: 0.95; fewer rows than labels tell little
  };
  for (const auto& [num_labels, num_rows, least] :
       {Case{5, 100, 0.91}, Case{10, 300, 0.91}, Case{60, 300, 0.85}, Case{20, 40, 0.8}}) {
    const Covered covered = coverage(skewed(num_labels), num_rows);
    EXPECT_GE(covered.accuracy, 0.9) << num_labels;
    EXPECT_GE(covered.macro_f1, least) << num_labels;
    EXPECT_LE(covered.macro_f1, 0.99) << num_labels;
  }
}

TEST(Bootstrap, is_the_normal_interval_of_a_mean_of_many_rows) {
  Random random(2);
  RowRatio mean{"mean", {}};
  for (int i = 0; i < 2000; ++i) mean.part.push_back(random.normal());
  const Interval interval = intervals_of({mean}, {}, mean.part.size(), 4000, 1).front();
  const double half = 1.96 / std::sqrt(2000.0);
  EXPECT_NEAR(interval.low, mean.value() - half, 0.1 * half);
  EXPECT_NEAR(interval.high, mean.value() + half, 0.1 * half);
}

LabelSets random_sets(std::size_t num_rows, std::size_t num_labels, std::size_t most,
                      Random& random) {
  LabelSets sets;
  for (std::size_t i = 0; i < num_rows; ++i) {
    std::vector<LabelId> labels;
    for (LabelId l = 0; l < num_labels && labels.size() < most; ++l) {
      if (random.below(num_labels) < 2) labels.push_back(l);
    }
    sets.append(labels);
  }
  return sets;
}

/// A tree of random shape; node 0 is its root.
LabelGraph random_tree(std::uint32_t num_nodes, Random& random) {
  std::vector<LabelEdge> edges;
  for (NodeId n = 1; n < num_nodes; ++n) {
    edges.push_back({static_cast<NodeId>(random.below(n)), n});
  }
  return LabelGraph::build(num_nodes, edges);
}

TEST(Bootstrap, intervals_contain_the_estimate_of_every_metric) {
  Random random(8);
  for (int problem = 0; problem < 150; ++problem) {
    const std::size_t num_rows = 1 + random.below(problem % 2 == 0 ? 8 : 80);
    const auto num_labels = static_cast<std::uint32_t>(2 + random.below(40));
    const LabelGraph tree = random_tree(num_labels, random);
    const LabelSets truth = random_sets(num_rows, num_labels, 1 + random.below(3), random);
    const LabelSets other = random_sets(num_rows, num_labels, 1 + random.below(3), random);
    LabelSets predicted;
    for (std::size_t i = 0; i < num_rows; ++i) {
      predicted.append(random.below(4) < static_cast<std::uint64_t>(problem % 5) ? truth[i]
                                                                                 : other[i]);
    }
    std::vector<bool> in_training(num_labels);
    for (std::size_t l = 0; l < num_labels; ++l) in_training[l] = random.below(2) == 0;
    std::vector<RowRatio> ratios = label_ratios(truth, predicted, in_training);
    const LabelSets closed = closed_sets(tree, truth), found = closed_sets(tree, predicted);
    for (RowRatio& ratio : closed_ratios(closed, found)) ratios.push_back(std::move(ratio));
    for (RowRatio& ratio : hierarchy_ratios(truth, predicted, tree)) {
      ratios.push_back(std::move(ratio));
    }
    const std::vector<MacroF1> macros{{"macro_f1", truth, predicted, in_training},
                                      {"macro_f1", truth, predicted, {}},
                                      {"hierarchical_f1_macro", closed, found, in_training}};
    const auto intervals = intervals_of(ratios, macros, num_rows, 40, 1);
    for (std::size_t k = 0; k < intervals.size(); ++k) {
      const bool is_ratio = k < ratios.size();
      const double value = is_ratio ? ratios[k].value() : macros[k - ratios.size()].value();
      const std::string& name = is_ratio ? ratios[k].name : macros[k - ratios.size()].name();
      EXPECT_LE(intervals[k].low, value) << name << ", problem " << problem;
      EXPECT_GE(intervals[k].high, value) << name << ", problem " << problem;
      if (name == "tree_distance") continue;
      EXPECT_GE(intervals[k].low, 0) << name;
      EXPECT_LE(intervals[k].high, 1 + 1e-12) << name;
    }
  }
}

TEST(Bootstrap, a_mean_over_rare_labels_is_inside_of_its_interval) {
  Random random(4);
  const auto rows = skewed(200).sample(500, random);
  const MacroF1 macro("macro_f1", rows.first, rows.second, std::vector<bool>(200, true));
  const Interval interval = intervals_of({}, {macro}, 500, 300, 1).front();
  const double width = interval.high - interval.low;
  EXPECT_GT(macro.value(), interval.low + 0.25 * width);
  EXPECT_LT(macro.value(), interval.high - 0.25 * width);
}

TEST(Bootstrap, labels_that_are_all_right_stay_so_in_every_resample) {
  LabelSets rows;
  for (LabelId l = 0; l < 6; ++l) rows.append(std::vector<LabelId>{l});
  const MacroF1 macro("macro_f1", rows, rows, std::vector<bool>(6, true));
  const Interval interval = intervals_of({}, {macro}, 6, 100, 1).front();
  EXPECT_DOUBLE_EQ(interval.low, 1);
  EXPECT_DOUBLE_EQ(interval.high, 1);
}

TEST(Bootstrap, influences_are_derivatives) {
  Random random(3);
  const auto rows = skewed(7).sample(30, random);
  const MacroF1 macro("macro_f1", rows.first, rows.second, std::vector<bool>(9, true));
  const RowRatio micro = label_ratios(rows.first, rows.second, {})[3];
  constexpr std::uint32_t kOften = 100'000;  // so that one more row is a small change
  const std::vector<std::uint32_t> equal(30, kOften);
  const auto influence = macro.influence(), of_micro = micro.influence();
  double sum = 0;
  for (std::size_t i = 0; i < 30; ++i) {
    std::vector<std::uint32_t> counts = equal;
    counts[i] += 10;
    const double step = 10.0 / (30.0 * kOften);
    EXPECT_NEAR((macro.value(counts) - macro.value(equal)) / step, influence[i], 1e-2);
    EXPECT_NEAR((micro.value(counts) - micro.value(equal)) / step, of_micro[i], 1e-2);
    sum += influence[i] + of_micro[i];
  }
  EXPECT_NEAR(sum, 0, 1e-10);
}

}  // namespace
}  // namespace margrove
