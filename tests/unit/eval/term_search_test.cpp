#include "eval/term_search.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counted_seconds.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Examples no_texts_yet(std::vector<std::string> labels) {
  Examples raw;
  raw.kind = RowKind::documents;
  raw.source = "texts";
  raw.codec = LabelCodec(std::move(labels));
  return raw;
}

void add_row(Examples& raw, std::string text, LabelId label) {
  raw.documents.push_back(std::move(text));
  raw.labels.append(std::vector<LabelId>{label});
}

/// The ends of words decide, and no word but one occurs twice.
Examples texts_with_ends() {
  Examples raw = no_texts_yet({"verbs", "nouns"});
  for (const char* stem : {"walk", "talk", "jump", "work", "play", "call", "look", "help"}) {
    add_row(raw, concat("they ", stem, "ing"), 0);
    add_row(raw, concat("they ", stem, "er"), 1);
  }
  return raw;
}

/// The words "red" and "blue" decide, but for the first `others` (up to 10) rows, whose words occur
/// once and begin like those.
Examples texts_with_words(std::size_t num_rows, std::size_t others) {
  Examples raw = no_texts_yet({"red", "blue"});
  const std::vector<const char*> rare{"reddish", "bluish", "redder",  "bluer",   "reddest",
                                      "bluest",  "redly",  "bluelit", "redhead", "bluebell"};
  for (std::size_t i = 0; i < others; ++i) add_row(raw, rare[i], i % 2 == 0 ? 0 : 1);
  // Blue is the answer where no term is known.
  for (std::size_t i = others; i < num_rows; ++i) {
    add_row(raw, i % 3 == 0 ? "red" : "blue", i % 3 == 0 ? 0 : 1);
  }
  return raw;
}

PreprocessingOptions automatic_terms() {
  PreprocessingOptions options;
  options.terms = TextTerms::Choice::automatic;
  return options;
}

TermSearch search_of(const Examples& raw, const PreprocessingOptions& options, int threads = 1,
                     const OptionValues& fixed = {}, const std::string& metric = {}) {
  Executor executor(threads);
  RunControl control;
  return search_terms(find_method("flat-svm"), fixed, raw, nullptr, options, {}, metric, executor,
                      control)
      .value();
}

std::string lengths_of(const TermSearch& search) {
  return concat(search.preprocessing.word_ngrams.to_text(), " ",
                search.preprocessing.char_ngrams.to_text());
}

TEST(TermSearch, characters_are_chosen_where_the_ends_of_words_decide) {
  PreprocessingOptions options = automatic_terms();
  options.min_document_frequency = 2;
  const TermSearch search = search_of(texts_with_ends(), options);
  EXPECT_EQ(search.metric, "accuracy");
  const std::vector<GridPoint>& points = search.measured.points;
  ASSERT_EQ(points.size(), 5U);
  EXPECT_EQ(points.front().values, (OptionValues{{"word_ngrams", "1"}, {"char_ngrams", "none"}}));
  EXPECT_LE(points.front().mean, 0.5);
  for (const GridPoint& point : points) {
    EXPECT_LE(point.mean, points[search.measured.best].mean + 0.002);
  }
  EXPECT_GE(points[search.measured.best].mean, 0.8);
  EXPECT_FALSE(search.preprocessing.char_ngrams.is_none());
  EXPECT_EQ(search.preprocessing.terms, TextTerms::Choice::given);
}

TEST(TermSearch, the_cheapest_within_the_margin_wins) {
  PreprocessingOptions options = automatic_terms();
  options.min_document_frequency = 2;
  const TermSearch equal = search_of(texts_with_words(60, 0), options);
  EXPECT_EQ(lengths_of(equal), "1 none");
  for (const GridPoint& point : equal.measured.points) EXPECT_EQ(point.mean, 1);
  const TermSearch near = search_of(texts_with_words(1000, 1), options);
  EXPECT_NEAR(near.measured.points[0].mean, 0.999, 1e-9);
  EXPECT_EQ(near.measured.points[1].mean, 1);
  EXPECT_EQ(lengths_of(near), "1 none");
  const Examples far = texts_with_words(1000, 10);
  EXPECT_LT(search_of(far, options).measured.points[0].mean, 0.998);
  EXPECT_EQ(lengths_of(search_of(far, options)), "1 4");
  // The smaller one of losses is the better one.
  EXPECT_EQ(lengths_of(search_of(far, options, 1, {}, "hamming_loss")), "1 4");
}

TEST(TermSearch, depends_on_no_threads) {
  // Few rows have several splits, many have one, whose training takes all threads.
  for (const Examples& raw : {texts_with_ends(), texts_with_words(3000, 5)}) {
    const TermSearch one = search_of(raw, automatic_terms(), 1);
    const TermSearch three = search_of(raw, automatic_terms(), 3);
    ASSERT_EQ(one.measured.points.size(), three.measured.points.size());
    for (std::size_t p = 0; p < one.measured.points.size(); ++p) {
      EXPECT_EQ(one.measured.points[p].scores, three.measured.points[p].scores);
    }
    EXPECT_EQ(one.measured.best, three.measured.best);
  }
  EXPECT_EQ(
      search_of(texts_with_words(3000, 0), automatic_terms()).measured.points[0].scores.size(), 1U);
}

TEST(TermSearch, other_options_stay) {
  PreprocessingOptions options = automatic_terms();
  options.stem = TextTerms::Stem::parse("english");
  options.min_document_frequency = 2;
  options.stop_words = {"they"};
  Examples raw = texts_with_words(30, 0);
  const PreprocessingOptions chosen = search_of(raw, options).preprocessing;
  EXPECT_EQ(chosen.stem, options.stem);
  EXPECT_EQ(chosen.min_document_frequency, 2);
  EXPECT_EQ(chosen.stop_words, options.stop_words);
  EXPECT_THAT(
      [&] {
        search_of(raw, automatic_terms(), 1, {{"C", "-1"}});
      },
      ThrowsMessage<InvalidOption>(HasSubstr("C is -1")));
}

TEST(TermSearch, label_sets_are_measured_by_micro_f1) {
  Examples raw = texts_with_words(30, 0);
  raw.documents.push_back("red blue");
  raw.labels.append(std::vector<LabelId>{0, 1});
  EXPECT_EQ(search_of(raw, automatic_terms()).metric, "micro_f1");
}

TEST(TermSearch, before_a_method_is_chosen_it_measures_flat_svm) {
  const Examples raw = texts_with_ends();
  Executor executor(1);
  RunControl control;
  const auto search = search_terms(raw, nullptr, automatic_terms(), "", executor, control);
  EXPECT_EQ(lengths_of(search.value()), lengths_of(search_of(raw, automatic_terms())));
  EXPECT_FALSE(search_terms(raw, nullptr, {}, "", executor, control));  // the terms are given
}

TEST(TermSearch, contradictions_throw_before_training) {
  RunControl control([](const Progress&) -> bool { throw std::logic_error("work was started"); });
  Executor executor(1);
  const auto refused = [&](const Examples& raw, const PreprocessingOptions& options) {
    return [&] { search_terms(raw, nullptr, options, "", executor, control); };
  };
  Examples numbers;
  numbers.X = CsrMatrix(1);
  EXPECT_THAT(refused(numbers, automatic_terms()),
              ThrowsMessage<InvalidOption>("option terms is auto, but the rows have no texts"));
  PreprocessingOptions words = automatic_terms(), characters = automatic_terms();
  words.word_ngrams = {2, 2};
  characters.char_ngrams = TextTerms::Lengths::none();
  const Examples texts = texts_with_ends();
  EXPECT_THAT(refused(texts, words),
              ThrowsMessage<InvalidOption>("option terms is auto, which chooses word_ngrams, but "
                                           "option word_ngrams is given, too"));
  EXPECT_THAT(refused(texts, characters),
              ThrowsMessage<InvalidOption>(HasSubstr("option char_ngrams is given, too")));
  const std::vector<OptionValues> grid{{{"C", "1"}, {"char_ngrams", "3"}}};
  EXPECT_THAT([&] { check_terms(automatic_terms(), grid); },
              ThrowsMessage<InvalidOption>(HasSubstr("char_ngrams is given, too, in the grid")));
  EXPECT_NO_THROW(check_terms({}, grid));
  EXPECT_THAT(
      [] {
        options_of_point({{"terms", "auto"}}, {});
      },
      ThrowsMessage<InvalidOption>(HasSubstr("option grid gives terms")));
}

TEST(TermSearch, terms_that_nothing_chose_are_refused) {
  TfidfOptions options;
  options.terms = TextTerms::Choice::automatic;
  const std::vector<std::string> texts{"a text"};
  EXPECT_THAT(
      [&] { Preprocessing::fit_text(texts, options); },
      ThrowsMessage<InvalidOption>(HasSubstr("option terms is auto, but nothing is trained")));
}

TEST(TermSearch, the_time_limit_and_an_interruption_end_it) {
  const Examples raw = texts_with_words(300, 0);
  Executor executor(1);
  const auto search = [&](RunControl& control) {
    search_terms(find_method("flat-svm"), {}, raw, nullptr, automatic_terms(), {}, "", executor,
                 control);
  };
  RunControl late(nullptr, 0.05, &testing_clock::counted_seconds);
  EXPECT_THROW(search(late), OutOfTimeLimit);
  int reports = 0;
  RunControl interrupted([&](const Progress&) { return ++reports < 8; });
  EXPECT_THROW(search(interrupted), OutOfTimeLimit);
  EXPECT_EQ(interrupted.stop_reason(), Stop::interrupted);
}

TEST(TermSearch, before_a_method_is_chosen_it_takes_a_share_of_the_time) {
  const Examples raw = texts_with_words(300, 0);
  Executor executor(1);
  const auto search = [&](RunControl& control) {
    return search_terms(raw, nullptr, automatic_terms(), "", executor, control);
  };
  constexpr double kLimit = 0.5;  // 500 questions for the time, of which 100 are for the search
  RunControl short_of_time(nullptr, kLimit, &testing_clock::counted_seconds);
  const TermSearch unfinished = search(short_of_time).value();
  EXPECT_TRUE(unfinished.measured.points.empty());
  EXPECT_EQ(lengths_of(unfinished), "1-2 4");
  EXPECT_EQ(unfinished.preprocessing.terms, TextTerms::Choice::given);
  EXPECT_GT(short_of_time.seconds_left(), kLimit / 2);
  RunControl over(nullptr, 0, &testing_clock::counted_seconds);
  EXPECT_THROW(search(over), OutOfTimeLimit);
  int reports = 0;
  RunControl interrupted([&](const Progress&) { return ++reports < 8; });
  EXPECT_THROW(search(interrupted), OutOfTimeLimit);
}

TEST(TermSearch, is_the_default_of_searches_where_nothing_says_otherwise) {
  const auto asks = [](const PreprocessingOptions& options, const Examples& raw,
                       const std::vector<OptionValues>& grid = {}) {
    return with_searched_terms(options, raw, grid).terms == TextTerms::Choice::automatic;
  };
  const Examples texts = texts_with_words(1000, 0);
  EXPECT_TRUE(asks({}, texts));
  EXPECT_TRUE(asks({}, texts, {{{"C", "1"}}}));
  EXPECT_FALSE(asks({}, texts, {{{"C", "1"}, {"char_ngrams", "3"}}}));
  PreprocessingOptions words, given;
  words.word_ngrams = {1, 1};
  given.terms = TextTerms::Choice::given;
  EXPECT_FALSE(asks(words, texts));
  EXPECT_FALSE(asks(given, texts));
  Examples numbers;
  numbers.X = CsrMatrix(1);
  EXPECT_FALSE(asks({}, numbers));
  EXPECT_FALSE(asks({}, texts_with_words(999, 0)));
}

}  // namespace
}  // namespace margrove
