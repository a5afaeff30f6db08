#include "margrove/model/training_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margrove/base/errors.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

LabelSets sets_of(std::initializer_list<std::vector<LabelId>> rows) {
  LabelSets sets;
  for (const auto& row : rows) sets.append(row);
  return sets;
}

Hierarchy animals() {
  Hierarchy hierarchy;
  hierarchy.source = "animals.txt";
  const auto root = hierarchy.codec.add("thing");
  hierarchy.edges = {{root, hierarchy.codec.add("cat")}, {root, hierarchy.codec.add("bird")}};
  return hierarchy;
}

TEST(LabelRows, without_hierarchy_labels_are_numbered_naturally) {
  const LabelCodec codec({"10", "9", "2"});
  const LabelledRows rows = label_rows(sets_of({{0}, {1, 2}, {}}), codec, nullptr, "data");
  EXPECT_THAT(rows.codec.names(), ElementsAre("2", "9", "10"));
  EXPECT_THAT(rows.labels[0], ElementsAre(2));
  EXPECT_THAT(rows.labels[1], ElementsAre(0, 1));
  EXPECT_TRUE(rows.labels[2].empty());
  EXPECT_FALSE(rows.has_hierarchy);
  EXPECT_EQ(rows.hierarchy.num_nodes(), 3u);
}

TEST(LabelRows, with_hierarchy_all_its_nodes_are_labels) {
  const LabelCodec codec({"cat"});
  const Hierarchy hierarchy = animals();
  const LabelledRows rows = label_rows(sets_of({{0}}), codec, &hierarchy, "data");
  EXPECT_THAT(rows.codec.names(), ElementsAre("bird", "cat", "thing"));
  EXPECT_THAT(rows.labels[0], ElementsAre(1));
  EXPECT_THAT(rows.hierarchy.children(2), ElementsAre(0, 1));
}

TEST(LabelRows, a_label_outside_the_hierarchy_throws_with_label_and_row) {
  const LabelCodec codec({"cat", "fish"});
  const Hierarchy hierarchy = animals();
  try {
    label_rows(sets_of({{0}, {1}}), codec, &hierarchy, "train.svm");
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("train.svm: row 2: label is 'fish', but must be a node of "
                                        "the hierarchy animals.txt"));
  }
}

TEST(TranslateLabels, unknown_labels_get_numbers_after_the_known_and_are_counted) {
  const LabelCodec data({"fish", "cat", "worm"});
  const LabelCodec model({"bird", "cat"});
  const TranslatedLabels t = translate_labels(sets_of({{1}, {0, 1}, {2}, {0}}), data, model);
  EXPECT_THAT(t.labels[0], ElementsAre(1));
  EXPECT_THAT(t.labels[1], ElementsAre(1, 2));
  EXPECT_THAT(t.labels[2], ElementsAre(3));
  EXPECT_THAT(t.labels[3], ElementsAre(2));
  EXPECT_EQ(t.num_unknown_labels, 2u);
  EXPECT_EQ(t.num_rows_with_unknown, 3u);
}

}  // namespace
}  // namespace margrove
