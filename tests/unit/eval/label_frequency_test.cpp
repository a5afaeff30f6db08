#include "eval/label_frequency.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/random.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;

LabelSets random_sets(std::size_t rows, std::uint32_t labels, Random& random) {
  LabelSets sets;
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<LabelId> row;
    for (LabelId l = 0; l < labels; ++l) {
      if (random.below(3) == 0) row.push_back(l);
    }
    sets.append(row);
  }
  return sets;
}

bool has(std::span<const LabelId> set, LabelId label) {
  return std::ranges::find(set, label) != set.end();
}

// Two labels at the ends of each band; label 12 is beyond the end and has no rows.
const std::vector<std::uint32_t> kTrainingRows{0, 0, 1, 1, 2, 5, 6, 20, 21, 100, 101, 4000000000};
constexpr std::uint32_t kLabels = 13;
constexpr std::size_t kRows = 60;

TEST(LabelFrequency, bands_hold_the_labels_between_their_ends) {
  Random random(1);
  const LabelSets truth = random_sets(kRows, kLabels, random);
  std::vector<std::string> names;
  std::vector<std::int64_t> counts;
  for (const FrequencyBand& band : scores_by_frequency(truth, truth, kTrainingRows)) {
    names.push_back(band.name());
    counts.push_back(band.num_labels);
    EXPECT_EQ(band.total.recall(), 1.0);
    EXPECT_EQ(band.macro_f1, 1.0);
  }
  EXPECT_THAT(names, ElementsAre("0", "1", "2-5", "6-20", "21-100", "101+"));
  EXPECT_THAT(counts, ElementsAre(3, 2, 2, 2, 2, 2));
}

TEST(LabelFrequency, scores_and_sign_tests_are_those_of_the_decisions_one_by_one) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const LabelSets truth = random_sets(kRows, kLabels, random);
    const LabelSets first = random_sets(kRows, kLabels, random);
    const LabelSets second = random_sets(kRows, kLabels, random);
    const auto bands = scores_by_frequency(truth, first, kTrainingRows);
    const auto tests = sign_tests_by_frequency(truth, first, second, kTrainingRows);
    ASSERT_EQ(tests.size(), bands.size());
    for (std::size_t b = 0; b < bands.size(); ++b) {
      std::int64_t support = 0, hits = 0, first_better = 0, second_better = 0;
      for (LabelId l = 0; l < kLabels; ++l) {
        const std::uint32_t rows = l < kTrainingRows.size() ? kTrainingRows[l] : 0;
        if (rows < bands[b].least || rows > bands[b].most) continue;
        for (std::size_t i = 0; i < kRows; ++i) {
          const bool truly = has(truth[i], l);
          const bool of_first = has(first[i], l), of_second = has(second[i], l);
          support += truly;
          hits += truly && of_first;
          first_better += of_first == truly && of_second != truly;
          second_better += of_second == truly && of_first != truly;
        }
      }
      EXPECT_EQ(bands[b].total.support, support);
      EXPECT_EQ(bands[b].total.true_positives, hits);
      EXPECT_EQ(tests[b].first_better, first_better);
      EXPECT_EQ(tests[b].second_better, second_better);
    }
  }
}

TEST(LabelFrequency, a_band_without_labels_has_zeros_and_ties) {
  LabelSets none;
  none.append(std::vector<LabelId>{});
  for (const FrequencyBand& band : scores_by_frequency(none, none, {})) {
    EXPECT_EQ(band.num_labels, 0);
    EXPECT_EQ(band.macro_f1, 0.0);
  }
  for (const PairedTest& test : sign_tests_by_frequency(none, none, none, {})) {
    EXPECT_EQ(test.p_value, 1.0);
  }
}

TEST(LabelFrequency, different_numbers_of_rows_throw) {
  LabelSets one, two;
  one.append(std::vector<LabelId>{0});
  for (int i = 0; i < 2; ++i) two.append(std::vector<LabelId>{0});
  EXPECT_THROW(scores_by_frequency(one, two, {}), InvalidInput);
  EXPECT_THROW(sign_tests_by_frequency(one, two, one, {}), InvalidInput);
}

}  // namespace
}  // namespace margrove
