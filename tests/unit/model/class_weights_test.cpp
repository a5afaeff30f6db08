#include "model/class_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "files.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using testing::message_of;

LabelSets sets_of(const std::vector<std::vector<LabelId>>& rows) {
  LabelSets sets;
  for (const auto& row : rows) sets.append(row);
  return sets;
}

TEST(ClassWeights, balanced_labels_weigh_the_same_together) {
  const LabelSets labels = sets_of({{0}, {0}, {0}, {2}, {}});
  EXPECT_THAT(balanced_class_weights(labels, 3, {}, "d"), ElementsAre(4 / 6.0, 1, 4 / 2.0));
}

TEST(ClassWeights, balance_counts_rows_with_their_weights) {
  const LabelSets labels = sets_of({{0}, {0}, {1}, {2}});
  const std::vector<double> rows{1, 3, 2, 0};
  EXPECT_THAT(balanced_class_weights(labels, 3, rows, "d"), ElementsAre(6 / 8.0, 6 / 4.0, 1));
}

TEST(ClassWeights, are_factors_of_the_weights_of_rows) {
  const LabelSets labels = sets_of({{1}, {0}, {}});
  EXPECT_THAT(weigh_by_class(labels, std::vector{0.5, 3.0}, {}, "d"), ElementsAre(3, 0.5, 1));
  EXPECT_THAT(weigh_by_class(labels, std::vector{0.5, 3.0}, std::vector{2.0, 4.0, 5.0}, "d"),
              ElementsAre(6, 2, 5));
}

TEST(ClassWeights, wrong_rows_and_weights_throw) {
  const LabelSets several = sets_of({{0}, {0, 1}});
  constexpr auto kSeveral = "d: row 2 has 2 labels, but class weights are for rows with one label";
  EXPECT_EQ(message_of([&] { weigh_by_class(several, std::vector{1.0, 1.0}, {}, "d"); }), kSeveral);
  EXPECT_EQ(message_of([&] { balanced_class_weights(several, 2, {}, "d"); }), kSeveral);
  const LabelSets one = sets_of({{0}});
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(message_of([&] { weigh_by_class(one, std::vector{kInfinite}, {}, "d"); }),
            "class weights: one is inf, but must be a number >= 0");
  EXPECT_EQ(message_of([&] { weigh_by_class(one, std::vector{-1.0}, {}, "d"); }),
            "class weights: one is -1, but must be a number >= 0");
  EXPECT_EQ(message_of([&] {
              weigh_by_class(one, std::vector{1.0}, std::vector{1.0, 1.0}, "d");
            }),
            "row weights: there are 2, but must be 1");
}

}  // namespace
}  // namespace margrove
