#include "model/training_set.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "margrove/errors.hpp"

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

TEST(LabelRows, labels_with_names_alone_are_no_hierarchy) {
  const LabelCodec codec({"cat"});
  Hierarchy labels;
  labels.codec = LabelCodec({"cat", "bird"});
  labels.names = {"Cats", ""};
  labels.other_names = {"", "fowls"};
  labels.is_flat = true;
  const LabelledRows rows = label_rows(sets_of({{0}}), codec, &labels, "data");
  EXPECT_FALSE(rows.has_hierarchy);
  EXPECT_THAT(rows.codec.names(), ElementsAre("bird", "cat"));
  EXPECT_THAT(rows.names, ElementsAre("", "Cats"));
  EXPECT_THAT(rows.other_names, ElementsAre("fowls", ""));
  labels.is_flat = false;
  EXPECT_TRUE(label_rows(sets_of({{0}}), codec, &labels, "data").has_hierarchy);
}

TEST(LabelRows, a_label_outside_the_hierarchy_throws_with_label_and_row) {
  const LabelCodec codec({"cat", "fish"});
  const Hierarchy hierarchy = animals();
  try {
    label_rows(sets_of({{0}, {1}}), codec, &hierarchy, "train.svm");
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("train.svm: row 2: label is 'fish', but must be a node of "
                                        "animals.txt"));
  }
}

/// Rows 0, 2 and 4 are the same row; row 3 has its features and another label.
struct Repeated {
  std::vector<std::int64_t> pointers{0, 1, 2, 3, 4, 5};
  std::vector<FeatureId> columns{2, 1, 2, 2, 2};
  std::vector<float> values{0.5F, -0.0F, 0.5F, 0.5F, 0.5F};
  CsrView X{3, pointers, columns, values};
  LabelSets labels = sets_of({{7}, {7}, {7}, {8}, {7}});
};

TEST(MergeEqualRows, equal_rows_become_one_with_their_number_for_a_weight) {
  const Repeated data;
  const auto merged = merge_equal_rows(data.X, data.labels, {});
  ASSERT_TRUE(merged.has_value());
  std::map<std::uint32_t, double> weight_of_row;
  for (std::size_t k = 0; k < merged->rows.size(); ++k) {
    weight_of_row[merged->rows[k] % 4 == 0 ? 2 : merged->rows[k]] = merged->row_weights[k];
  }
  EXPECT_EQ(weight_of_row, (std::map<std::uint32_t, double>{{1, 1.0}, {2, 3.0}, {3, 1.0}}));
}

TEST(MergeEqualRows, order_and_weights_depend_on_the_content_only) {
  Repeated a, b;
  std::swap(b.columns[1], b.columns[3]);  // rows 1 and 3 change places
  std::swap(b.values[1], b.values[3]);
  b.labels = sets_of({{7}, {8}, {7}, {7}, {7}});
  const auto merged_a = merge_equal_rows(a.X, a.labels, std::vector{1.0, 2.0, 0.5, 4.0, 0.0});
  const auto merged_b = merge_equal_rows(b.X, b.labels, std::vector{0.0, 4.0, 0.5, 2.0, 1.0});
  EXPECT_EQ(merged_a->row_weights, merged_b->row_weights);
  ASSERT_EQ(merged_a->rows.size(), merged_b->rows.size());
  for (std::size_t k = 0; k < merged_a->rows.size(); ++k) {
    EXPECT_THAT(a.labels[merged_a->rows[k]], ElementsAre(b.labels[merged_b->rows[k]].front()));
  }
}

TEST(MergeEqualRows, without_weights_and_repetitions_there_is_nothing_to_merge) {
  Repeated data;
  data.labels = sets_of({{0}, {1}, {2}, {3}, {4}});
  EXPECT_FALSE(merge_equal_rows(data.X, data.labels, {}).has_value());
}

TEST(MergeEqualRows, wrong_weights_throw) {
  const Repeated data;
  const auto message = [&](std::vector<double> weights) -> std::string {
    try {
      merge_equal_rows(data.X, data.labels, weights);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({0, 0, 0, 0, 0}), HasSubstr("all are 0, but one must be > 0"));
  EXPECT_THAT(message({1, 1, -1, 1, 1}), HasSubstr("row 2 is -1, but must be a number >= 0"));
  EXPECT_THAT(message({1}), HasSubstr("there are 1, but must be 5"));
}

TEST(LabelSets, keep_what_rows_without_a_label_mean_in_other_numbers_and_parts) {
  LabelSets labels = sets_of({{1}, {}, {0}});
  const LabelCodec codec({"b", "a"});
  EXPECT_TRUE(labels.single_label());
  for (const LabelSets::Unlabelled meaning :
       {LabelSets::Unlabelled::automatic, LabelSets::Unlabelled::drop,
        LabelSets::Unlabelled::keep}) {
    labels.set_unlabelled(meaning);
    const LabelSets part = select_rows(labels, std::vector<std::uint32_t>{0, 2});
    const LabelSets ordered = label_rows(labels, codec, nullptr, "f").labels;
    const LabelSets translated = translate_labels(labels, codec, LabelCodec({"a"})).labels;
    for (const LabelSets& each : {labels, part, ordered, translated}) {
      EXPECT_EQ(each.unlabelled(), meaning);
      EXPECT_EQ(each.single_label(), meaning != LabelSets::Unlabelled::keep);
    }
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

TEST(TranslateLabels, alternative_ids_of_a_hierarchy_become_its_nodes) {
  Hierarchy hierarchy;
  hierarchy.codec = LabelCodec({"fish", "cat"});
  hierarchy.codec.add_alternative("tomcat", 1);
  const LabelCodec data({"tomcat", "cat", "fish"});
  const LabelledRows rows = label_rows(sets_of({{0}, {0, 1}, {2}}), data, &hierarchy, "f");
  EXPECT_THAT(rows.codec.names(), ElementsAre("cat", "fish"));
  EXPECT_THAT(rows.codec.alternatives(), ElementsAre(::testing::Pair("tomcat", 0)));
  EXPECT_THAT(rows.labels[0], ElementsAre(0));
  EXPECT_THAT(rows.labels[1], ElementsAre(0));
  const TranslatedLabels t = translate_labels(sets_of({{0}, {0, 1}}), data, rows.codec);
  EXPECT_THAT(t.labels[0], ElementsAre(0));
  EXPECT_THAT(t.labels[1], ElementsAre(0));
  EXPECT_EQ(t.num_unknown_labels, 0u);
}

}  // namespace
}  // namespace margrove
