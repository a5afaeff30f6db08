// Lower case, shapes and affixes of words, in ASCII and in all of Unicode.
#include "data/word_form.hpp"

#include <gtest/gtest.h>

namespace margrove {
namespace {

std::string shape(std::string_view word, Alphabet alphabet = Alphabet::unicode) {
  return word_form(word, alphabet).shape;
}

TEST(WordForm, shapes_have_a_sign_for_each_kind_of_character) {
  for (const Alphabet alphabet : {Alphabet::ascii, Alphabet::unicode}) {
    EXPECT_EQ(shape("Word", alphabet), "Xxx");
    EXPECT_EQ(shape("ABC-1999", alphabet), "XX-99");
    EXPECT_EQ(shape("iPhone", alphabet), "xXxx");
    EXPECT_EQ(shape("a_b", alphabet), "x_x");
    EXPECT_EQ(shape("", alphabet), "");
  }
  EXPECT_EQ(shape("Москва"), "Xxx");
  EXPECT_EQ(shape("Ärger"), "Xxx");
  EXPECT_EQ(shape("Ὀδυσσεύς"), "Xxx");
  EXPECT_EQ(shape("СССР-١٩٩١"), "XX-99");
  EXPECT_EQ(shape("東京"), "uu");
  EXPECT_EQ(shape("“a”"), "uxu");
  EXPECT_EQ(shape("E\u0301te\u0301"), "Xxx");  // marks are left out
  EXPECT_EQ(shape("Москва", Alphabet::ascii), "uu");
}

TEST(WordForm, bytes_that_are_no_characters_are_signs_of_their_own) {
  EXPECT_EQ(shape("a\xff\xfe\xfdZ"), "xuuX");
  EXPECT_EQ(shape(std::string_view("\0A", 2)), std::string_view("\0X", 2));
  EXPECT_EQ(lower_case("A\xffZ", Alphabet::unicode), "a\xffz");
}

TEST(WordForm, capitals_and_digits_are_told) {
  const auto flags = [](std::string_view word, Alphabet alphabet) {
    const WordForm form = word_form(word, alphabet);
    return std::string(form.starts_upper ? "S" : "") + (form.is_upper ? "U" : "") +
           (form.has_digit ? "D" : "");
  };
  for (const Alphabet alphabet : {Alphabet::ascii, Alphabet::unicode}) {
    EXPECT_EQ(flags("Word", alphabet), "S");
    EXPECT_EQ(flags("USA", alphabet), "SU");
    EXPECT_EQ(flags("A1", alphabet), "SD");
    EXPECT_EQ(flags("x2", alphabet), "D");
    EXPECT_EQ(flags("-A", alphabet), "");
  }
  EXPECT_EQ(flags("США", Alphabet::unicode), "SU");
  EXPECT_EQ(flags("Élan", Alphabet::unicode), "S");
  EXPECT_EQ(flags("٣", Alphabet::unicode), "D");
  EXPECT_EQ(flags("США", Alphabet::ascii), "");
}

TEST(WordForm, lower_case_is_that_of_the_alphabet) {
  EXPECT_EQ(lower_case("ÄRGER Z", Alphabet::unicode), "ärger z");
  EXPECT_EQ(lower_case("ÄRGER Z", Alphabet::ascii), "Ärger z");
  EXPECT_EQ(lower_case("ΟΔΟΣ", Alphabet::unicode), "οδοσ");
}

TEST(WordForm, affixes_are_of_whole_characters) {
  EXPECT_EQ(affix("Übung", 1, false), "Ü");
  EXPECT_EQ(affix("дом", 2, true), "ом");
  EXPECT_EQ(affix("дом", 3, true), "");
  EXPECT_EQ(affix("abc", 3, false), "");
}

}  // namespace
}  // namespace margrove
