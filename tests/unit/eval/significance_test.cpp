#include "margrove/significance.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "base/random.hpp"
#include "eval/paired_tests.hpp"
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

/// 2 P(T <= statistic) over all 2^n signs of the ranks of |differences|.
double p_value_by_enumeration(const std::vector<double>& differences) {
  const std::size_t n = differences.size();
  std::vector<double> ranks(n);
  for (std::size_t i = 0; i < n; ++i) {
    double below = 0, equal = 0;
    for (const double other : differences) {
      below += std::abs(other) < std::abs(differences[i]);
      equal += std::abs(other) == std::abs(differences[i]);
    }
    ranks[i] = below + (equal + 1) / 2;
  }
  double positive = 0, total = 0;
  for (std::size_t i = 0; i < n; ++i) {
    total += ranks[i];
    if (differences[i] > 0) positive += ranks[i];
  }
  const double statistic = std::min(positive, total - positive);
  std::size_t as_small = 0;
  for (std::size_t signs = 0; signs < (std::size_t{1} << n); ++signs) {
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += (signs >> i & 1) != 0 ? ranks[i] : 0.0;
    as_small += sum <= statistic;
  }
  return std::min(1.0, 2.0 * static_cast<double>(as_small) / std::exp2(static_cast<double>(n)));
}

TEST(SignTest, equals_the_binomial_distribution) {
  EXPECT_DOUBLE_EQ(sign_test(5, 0).p_value, 2.0 / 32);
  EXPECT_DOUBLE_EQ(sign_test(0, 5).p_value, 2.0 / 32);
  EXPECT_NEAR(sign_test(8, 2).p_value, 2.0 * (1 + 10 + 45) / 1024, 1e-14);
  EXPECT_EQ(sign_test(7, 7).p_value, 1.0);
  EXPECT_EQ(sign_test(0, 0).p_value, 1.0);
  EXPECT_NEAR(sign_test(4, 3).p_value, 1.0, 1e-14);
}

TEST(SignTest, is_near_the_normal_distribution_for_many_pairs) {
  const double n = 2e6, z = 2.0;
  const auto k = static_cast<std::int64_t>(n / 2 - z * std::sqrt(n) / 2);
  EXPECT_NEAR(sign_test(k, static_cast<std::int64_t>(n) - k).p_value, std::erfc(z / std::sqrt(2.0)),
              2e-4);
}

TEST(SignTest, negative_counts_throw) {
  EXPECT_EQ(message_of([] { sign_test(-1, 2); }),
            "sign_test: counts are -1 and 2, but must be >= 0");
}

TEST(MicroSignTest, counts_the_decisions_on_which_the_predictions_differ) {
  const auto truth = sets({{0, 1}, {2}, {}, {3}});
  const auto first = sets({{0, 1}, {1}, {4}, {3}});
  const auto second = sets({{0, 5}, {2}, {}, {3}});
  const PairedTest test = micro_sign_test(truth, first, second);
  EXPECT_EQ(test.first_better, 2);   // row 0: has 1, lacks 5
  EXPECT_EQ(test.second_better, 3);  // row 1: lacks 1, has 2; row 2: lacks 4
  EXPECT_NEAR(test.p_value, 1.0, 1e-14);
}

TEST(MicroSignTest, different_numbers_of_rows_throw) {
  EXPECT_EQ(
      message_of([] {
        micro_sign_test(sets({{0}}), sets({{0}}), sets({{0}, {1}}));
      }),
      "micro_sign_test: numbers of predicted rows are 1 and 2, but must be 1 as in the truth");
}

TEST(Wilcoxon, equals_enumeration_with_and_without_ties) {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const std::size_t n = 1 + random.below(10);
    const std::uint64_t grid = trial % 2 == 0 ? 4 : 1000000;  // few values: many ties
    std::vector<double> first(n), zeros(n, 0.0);
    for (double& x : first) {
      x = (static_cast<double>(random.below(grid)) + 1) * (random.below(2) == 0 ? 1 : -1);
    }
    EXPECT_NEAR(wilcoxon_signed_rank(first, zeros).p_value, p_value_by_enumeration(first), 1e-12);
    EXPECT_NEAR(wilcoxon_signed_rank(zeros, first).p_value, p_value_by_enumeration(first), 1e-12);
  }
}

TEST(Wilcoxon, normal_approximation_is_near_the_exact_distribution_where_they_meet) {
  Random random(2);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<double> exact(50);
    for (double& x : exact) x = random.normal() + 0.3;
    std::vector<double> longer = exact;
    longer.push_back(1e-9);  // the 51st, of rank 1
    const double p_exact = wilcoxon_signed_rank(exact, std::vector<double>(50, 0.0)).p_value;
    const double p_normal = wilcoxon_signed_rank(longer, std::vector<double>(51, 0.0)).p_value;
    EXPECT_NEAR(p_normal, p_exact, 0.02);
  }
}

TEST(Wilcoxon, equal_samples_are_no_evidence) {
  const std::vector<double> same{0.5, 0.25, 1};
  const PairedTest test = wilcoxon_signed_rank(same, same);
  EXPECT_EQ(test.p_value, 1.0);
  EXPECT_EQ(test.first_better + test.second_better, 0);
}

TEST(Wilcoxon, different_lengths_and_values_that_are_not_finite_throw) {
  const std::vector<double> two{1, 2}, one{1}, bad{1, std::nan("")};
  EXPECT_EQ(message_of([&] { wilcoxon_signed_rank(two, one); }),
            "wilcoxon_signed_rank: second has 1 values, but must have 2 as the first");
  EXPECT_EQ(message_of([&] { wilcoxon_signed_rank(two, bad); }),
            "wilcoxon_signed_rank: difference[1] is nan, but must be finite");
}

TEST(MacroWilcoxon, compares_the_f1_of_labels_in_the_truth) {
  const auto truth = sets({{0}, {1}, {2}});
  const auto first = sets({{0}, {1}, {7}});
  const auto second = sets({{0}, {7}, {2, 1}});
  const PairedTest test = macro_wilcoxon_test(truth, first, second);
  EXPECT_EQ(test.first_better, 1);   // label 1
  EXPECT_EQ(test.second_better, 1);  // label 2
  EXPECT_EQ(test.p_value, 1.0);
}

}  // namespace
}  // namespace margrove
