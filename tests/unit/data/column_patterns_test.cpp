#include "data/column_patterns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kColumns{"id", "m1", "m2", "", "colour", "title", "label"};

RecordSelection expand(const RecordSelection& selection,
                       const std::vector<std::string>& ignored = {},
                       const std::vector<std::string>& columns = kColumns) {
  return expand_patterns(selection, {ignored}, columns, "F");
}

std::string error_of(const RecordSelection& selection,
                     const std::vector<std::string>& ignored = {}) {
  try {
    expand(selection, ignored);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

TEST(FitsPattern, each_star_is_any_text) {
  for (const auto& [pattern, name, fits] :
       std::vector<std::tuple<std::string, std::string, bool>>{{"*", "", true},
                                                               {"*", "x", true},
                                                               {"m*", "m", true},
                                                               {"m*", "am", false},
                                                               {"*m", "am", true},
                                                               {"a*a", "a", false},
                                                               {"a*a", "aa", true},
                                                               {"a*b*c", "a-b-bc", true},
                                                               {"a*b*c", "ac", false},
                                                               {"*ab*ab", "xab", false},
                                                               {"**", "x", true},
                                                               {"x", "x", true},
                                                               {"x", "xy", false}}) {
    EXPECT_EQ(fits_pattern(pattern, name), fits) << pattern << " " << name;
  }
}

TEST(ExpandPatterns, a_star_is_every_named_column_that_no_option_names) {
  const RecordSelection given{
      .text = {"title"}, .numeric = {"*"}, .categorical = {"colour"}, .label = "label"};
  EXPECT_THAT(expand(given, {"id"}).numeric, ElementsAre("m1", "m2"));
  EXPECT_THAT(expand(given, {"i*"}).numeric, ElementsAre("m1", "m2"));
  EXPECT_THAT(expand(given).numeric, ElementsAre("id", "m1", "m2"));
  EXPECT_THAT(expand(given).text, ElementsAre("title"));
}

TEST(ExpandPatterns, columns_of_vectors_may_be_a_pattern) {
  const RecordSelection given{.numeric = {"*"}, .vectors = {"m*"}, .label = "label"};
  EXPECT_THAT(expand(given, {"title"}).vectors, ElementsAre("m1", "m2"));
  EXPECT_THAT(expand(given, {"title"}).numeric, ElementsAre("id", "colour"));
  EXPECT_EQ(error_of({.vectors = {"z*"}}).find("F: no column is left for 'z*' of option vector_co"),
            0U);
}

TEST(ExpandPatterns, a_longer_pattern_takes_columns_before_a_star) {
  const RecordSelection given{.numeric = {"m*"}, .categorical = {"*"}, .label = "label"};
  EXPECT_THAT(expand(given, {"id"}).numeric, ElementsAre("m1", "m2"));
  EXPECT_THAT(expand(given, {"id"}).categorical, ElementsAre("colour", "title"));
}

TEST(ExpandPatterns, columns_stand_where_the_pattern_stands_and_once) {
  const RecordSelection given{.numeric = {"m2", "*", "*1"}, .path_levels = {"colour", "label"}};
  EXPECT_THAT(expand(given).numeric, ElementsAre("m2", "id", "title", "m1"));
  const RecordSelection weighted{.text = {"t*", "t*"}, .label = "label"};
  EXPECT_THAT(expand(weighted).text, ElementsAre("title", "title"));
}

TEST(ExpandPatterns, a_column_of_that_name_is_no_pattern) {
  const RecordSelection given{.numeric = {"*"}, .label = "label"};
  EXPECT_THAT(expand(given, {}, {"*", "x", "label"}).numeric, ElementsAre("*"));
  EXPECT_THAT(expand({.numeric = {"m1"}}, {}, {"x"}).numeric, ElementsAre("m1"));
}

TEST(ExpandPatterns, patterns_without_a_column_or_with_the_columns_of_others_throw) {
  EXPECT_EQ(error_of({.numeric = {"z*"}}),
            "F: no column is left for 'z*' of option numeric_columns; the columns are 'id', 'm1', "
            "'m2', '', 'colour', 'title', 'label'");
  EXPECT_THAT(error_of({.numeric = {"*"}}, {"*"}), HasSubstr("no column is left for '*'"));
  EXPECT_EQ(error_of({.numeric = {"m*"}, .categorical = {"*1"}}),
            "F: column 'm1' fits 'm*' of option numeric_columns and '*1' of option "
            "categorical_columns, but must fit one; name it in one of them");
  EXPECT_THAT(error_of({.text = {"*"}, .numeric = {"*"}}), HasSubstr("column 'id' fits '*'"));
  EXPECT_THAT(error_of({.numeric = {"*"}}, {"key"}),
              HasSubstr("F: no column is called 'key', which option ignore_columns names"));
}

TEST(ListOfColumns, names_twenty_at_most) {
  const std::vector<std::string> many(21, "x");
  EXPECT_TRUE(list_of_columns(many).ends_with("'x', ..."));
  EXPECT_THAT(list_of_columns({}), IsEmpty());
}

}  // namespace
}  // namespace margrove
