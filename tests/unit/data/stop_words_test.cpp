#include "data/stop_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "data/terms.hpp"
#include "files.hpp"

namespace margrove {
namespace {
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

TEST(StopWordLists, have_words_as_texts_have_them) {
  const TextTerms single_words;
  EXPECT_TRUE(std::ranges::is_sorted(stop_word_languages()));
  for (const std::string& language : stop_word_languages()) {
    SCOPED_TRACE(language);
    EXPECT_TRUE(has_stop_words(language));
    EXPECT_TRUE(Stemmer::knows({language}));  // the names are the same
    const std::vector<std::string> words = stop_words_of(language);
    EXPECT_GT(words.size(), 50U);
    EXPECT_TRUE(std::ranges::is_sorted(words));
    EXPECT_EQ(std::ranges::adjacent_find(words), words.end());
    std::string text;
    for (const std::string& word : words) text += word + ", ";
    std::vector<std::string> found;
    TermCutter(single_words).for_each(text, [&](const Term& term) {
      found.emplace_back(term.characters);
    });
    EXPECT_EQ(found, words);
  }
  EXPECT_THAT(stop_words_of("english"), Contains("the"));
  EXPECT_THAT(stop_words_of("english"), ::testing::Not(Contains("house")));
  EXPECT_THAT(stop_words_of("german"), Contains("für"));
  EXPECT_THAT(stop_words_of("russian"), Contains("что"));
}

TEST(StopWordLists, of_unknown_languages_are_refused) {
  EXPECT_THAT(message_of<InvalidOption>([] { stop_words_of("englsh"); }),
              HasSubstr("stop words: the language is 'englsh', but must be one of danish, "));
  EXPECT_THAT(message_of<InvalidOption>([] { stop_words_of("englsh"); }),
              HasSubstr("; did you mean 'english'?"));
  EXPECT_FALSE(has_stop_words("English"));
  EXPECT_FALSE(has_stop_words(""));
}

TEST(StopWordLists, are_chosen_by_language_or_file) {
  testing::ScratchFolder folder;
  EXPECT_EQ(stop_words_of_choice("french"), stop_words_of("french"));
  testing::write_bytes(folder / "french", "du\n");
  EXPECT_THAT(stop_words_of_choice(folder / "french"), ElementsAre("du"));
  EXPECT_EQ(message_of([] { stop_words_of_choice("frensh"); }),
            "frensh: cannot open: no such file, and no language of that name has stop words; did "
            "you mean 'french'?");
  EXPECT_THAT(message_of([&] { stop_words_of_choice(folder / "none"); }),
              HasSubstr("none: cannot open"));
}

}  // namespace
}  // namespace margrove
