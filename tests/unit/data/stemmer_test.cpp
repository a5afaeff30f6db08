#include "data/stemmer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "files.hpp"

namespace margrove {
namespace {
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::message_of;

TEST(Stem, is_none_or_a_language_of_snowball) {
  EXPECT_THAT(TextTerms::Stem::languages(), Contains("english"));
  EXPECT_TRUE(std::ranges::is_sorted(TextTerms::Stem::languages()));
  EXPECT_TRUE(TextTerms::Stem::parse("none").is_none());
  EXPECT_EQ(TextTerms::Stem::none().to_text(), "none");
  for (const std::string& language : TextTerms::Stem::languages()) {
    EXPECT_EQ(TextTerms::Stem::parse(language).to_text(), language);
    EXPECT_TRUE(Stemmer::knows({language}));
  }
  for (const char* text : {"", "English", "en", "klingon"}) {
    EXPECT_THAT(message_of<InvalidOption>([&] { TextTerms::Stem::parse(text); }),
                HasSubstr(concat("option stem is '", text, "', but must be none or one of ")));
  }
  EXPECT_THAT(message_of<InvalidOption>([&] { TextTerms::Stem::parse("germn"); }),
              EndsWith("; did you mean 'german'?"));
  EXPECT_THROW(Stemmer({"klingon"}), InvalidOption);
}

TEST(Stemmer, stems_words_of_its_language) {
  Stemmer english({"english"}), german({"german"}), russian({"russian"}), hindi({"hindi"});
  EXPECT_EQ(english.stem("running"), "run");
  EXPECT_EQ(english.stem("houses"), "hous");
  EXPECT_EQ(german.stem("häuser"), "haus");
  EXPECT_EQ(russian.stem("книгами"), "книг");
  EXPECT_EQ(hindi.stem("लड़कियाँ"), hindi.stem("लड़का"));
  EXPECT_EQ(english.stem("日本語"), "日本語");
}

TEST(Stemmer, words_beyond_its_limit_stay) {
  Stemmer dutch({"dutch"});
  std::string word;
  while (word.size() + 2 <= TextTerms::Stem::kLongest) word += "ë";
  EXPECT_LT(dutch.stem(word).size(), word.size());
  word += "ëe";
  EXPECT_EQ(dutch.stem(word), word);
  word.clear();
  for (int k = 0; k < 10'000'000; ++k) word += "ë";
  EXPECT_EQ(dutch.stem(word), word);
}

TEST(Stemmer, is_no_state_of_all_threads) {
  std::vector<std::jthread> threads;
  std::vector<int> wrong(8, 0);
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      Stemmer stemmer({t % 2 == 0 ? "english" : "german"});
      for (int k = 0; k < 2000; ++k) {
        wrong[t] += stemmer.stem("nations") != (t % 2 == 0 ? "nation" : "nation");
        wrong[t] += stemmer.stem("running") != (t % 2 == 0 ? "run" : "running");
      }
    });
  }
  threads.clear();
  for (const int count : wrong) EXPECT_EQ(count, 0);
}

}  // namespace
}  // namespace margrove
