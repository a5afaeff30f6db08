#include "data/label_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace margrove {
namespace {
using ::testing::ElementsAre;

TEST(LabelWords, three_letters_in_a_row_without_digits_are_words) {
  for (const char* label : {"credit_limit_change", "rec.sport.hockey", "Sports/Ice hockey",
                            "IceHockey", "été", "Łódź", "体育"}) {
    EXPECT_TRUE(is_words(label)) << label;
  }
  for (const char* label :
       {"796.35", "GO0003674", "n01234", "Y", "no", "class_12", "D012345", "class_\u0661\u0662",
        "\u0e23\u0e16\u0e40\u0e01\u0e4b\u0e07\u0e51", "level\u00b2", "\u0663\u0664\u0665",
        "http://example.org/dog", "a.b.c", "a_b_c", "\xff\xff\xff", ""}) {
    EXPECT_FALSE(is_words(label)) << label;
  }
}

TEST(LabelWords, have_blanks_between_them) {
  EXPECT_EQ(words_of("credit_limit_change"), "credit limit change");
  EXPECT_EQ(words_of("rec.sport.hockey"), "rec sport hockey");
  EXPECT_EQ(words_of("Sports/Ice hockey"), "Sports Ice hockey");
  EXPECT_EQ(words_of("IceHockeyOfUSA"), "Ice Hockey Of USA");
  EXPECT_EQ(words_of("Children's books"), "Children's books");
  EXPECT_EQ(words_of("l’été_Été"), "l’été Été");
  EXPECT_EQ(words_of("caféNoir"), "café Noir");
  EXPECT_EQ(words_of("cafe\u0301Noir"), "cafe\u0301 Noir");  // with a combining accent
}

TEST(LabelWords, are_names_where_half_of_the_labels_are_words) {
  const std::vector<std::string> labels{"ice_hockey", "tennis", "w2", "x1"};
  EXPECT_THAT(names_in_ids(LabelCodec(labels), nullptr),
              ElementsAre("ice hockey", "tennis", "", ""));
  const std::vector<std::string> codes{"ice_hockey", "x1", "w2"};
  EXPECT_THAT(names_in_ids(LabelCodec(codes), nullptr), ElementsAre("", "", ""));
  EXPECT_TRUE(names_in_ids(LabelCodec(), nullptr).empty());
}

TEST(LabelWords, names_are_those_that_are_given_or_else_those_of_ids) {
  const LabelCodec labels(std::vector<std::string>{"ice_hockey", "tennis"});
  const std::vector<std::string> names{"", "Tennis"}, others{"hockey\nshinny"};
  EXPECT_THAT(names_of_labels(labels, names, others, nullptr),
              ElementsAre("hockey\nshinny", "Tennis"));
  EXPECT_THAT(names_of_labels(labels, names, {}, nullptr), ElementsAre("", "Tennis"));
  const std::vector<std::string> both{"Ice hockey"};
  EXPECT_THAT(names_of_labels(labels, both, others, nullptr),
              ElementsAre("Ice hockey\nhockey\nshinny", ""));
  const std::vector<std::string> none{"", ""};
  const RecordSelection columns{.path = "topic", .separator = "_"};
  EXPECT_THAT(names_of_labels(labels, none, none, nullptr), ElementsAre("ice hockey", "tennis"));
  EXPECT_THAT(names_of_labels(labels, {}, {}, &columns), ElementsAre("hockey", "tennis"));
}

TEST(LabelWords, paths_have_the_name_of_their_last_part) {
  const std::string separator = " > ";
  const std::vector<std::string> paths{"Books", "Books > sci_fi_novels", "Books > 7-1"};
  EXPECT_THAT(names_in_ids(LabelCodec(paths), &separator),
              ElementsAre("Books", "sci fi novels", "7-1"));
}

}  // namespace
}  // namespace margrove
