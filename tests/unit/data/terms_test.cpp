#include "data/terms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <set>

#include "files.hpp"
#include "word_terms.hpp"

namespace margrove {
namespace {
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::of_words;
using ::testing::UnorderedElementsAreArray;

std::vector<std::string> terms(std::string_view text, const TextTerms& choice) {
  TermCutter cutter(choice);
  std::vector<std::string> found;
  cutter.for_each(text, [&](const Term& term) { found.push_back(term.name()); });
  return found;
}

TEST(TermLengths, reads_back_its_text) {
  for (const char* text : {"1", "2", "1-3", "16", "none"}) {
    EXPECT_EQ(TextTerms::Lengths::parse(text).to_text(), text);
  }
  EXPECT_EQ(TextTerms::Lengths::parse("2-2").to_text(), "2");
  for (const char* text : {"", "0", "0-1", "3-2", "1-17", "-1", "1-", "1 - 2", "1-2-3", "all"}) {
    EXPECT_EQ(message_of<InvalidOption>([&] { TextTerms::Lengths::parse(text); }),
              concat("n-grams: lengths are '", text, "', but must be none, N or FIRST-LAST, with ",
                     "1 <= FIRST <= LAST <= 16"));
  }
}

TEST(Terms, of_words_have_one_blank_between_them) {
  EXPECT_THAT(terms("The cat, the HAT", {.words = {1, 2}}),
              ElementsAre("the", "cat", "the", "hat", "the cat", "cat the", "the hat"));
  EXPECT_THAT(terms("one two", {.words = {2, 3}}), ElementsAre("one two"));
  EXPECT_THAT(terms("one", {.words = {2, 3}}), ElementsAre());
  EXPECT_THAT(terms("", {.words = {1, 2}}), ElementsAre());
}

TEST(Terms, stop_words_are_left_out_before_words_are_joined) {
  EXPECT_THAT(terms("state of the Art", {.words = {1, 2}, .stop_words = {"of", "the"}}),
              ElementsAre("state", "art", "state art"));
  EXPECT_THAT(terms("of", {.characters = {3, 3}, .stop_words = {"of"}}), ElementsAre());
}

TEST(Terms, of_characters_know_the_borders_of_words) {
  const TextTerms of_three{.words = TextTerms::Lengths::none(), .characters = {3, 4}};
  EXPECT_THAT(terms("Été, ab", of_three), ElementsAre("' ét'", "'été'", "'té '", "' été'", "'été '",
                                                      "' ab'", "'ab '", "' ab '"));
  EXPECT_THAT(terms("a", {.words = TextTerms::Lengths::none(), .characters = {4, 6}}),
              ElementsAre("' a '"));
}

TEST(Terms, of_characters_go_on_over_words_without_anything_between) {
  EXPECT_THAT(terms("日本 語", {.characters = {2, 2}}),
              ElementsAre("日", "本", "語", "' 日'", "'日本'", "'本 '", "' 語'", "'語 '"));
  EXPECT_THAT(terms("a Tシャ日b", {.characters = {4, 4}}),
              ElementsAre("a", "t", "シャ", "日", "b", "' a '", "' tシャ'", "'tシャ日'",
                          "'シャ日b'", "'ャ日b '"));
  EXPECT_THAT(terms("日の本", {.characters = {2, 2}, .stop_words = {"の"}}),
              ElementsAre("日", "本", "' 日'", "'日 '", "' 本'", "'本 '"));
}

TEST(Terms, of_words_are_stems_and_of_characters_are_not) {
  EXPECT_THAT(terms("Running the Houses", {.words = {1, 2}, .stem = {"english"}}),
              ElementsAre("run", "the", "hous", "run the", "the hous"));
  // Stop words are those of the text.
  EXPECT_THAT(terms("being houses", {.stop_words = {"being"}, .stem = {"english"}}),
              ElementsAre("hous"));
  EXPECT_THAT(terms("houses", {.stop_words = {"hous"}, .stem = {"english"}}), ElementsAre("hous"));
  EXPECT_THAT(terms("cats", {.characters = {4, 5}, .stem = {"english"}}),
              ElementsAre("cat", "' cat'", "'cats'", "'ats '", "' cats'", "'cats '"));
  EXPECT_THAT(terms("cats", {.words = {0, 0}, .characters = {6, 6}, .stem = {"english"}}),
              ElementsAre("' cats '"));
  EXPECT_THAT(terms("", {.characters = {2, 2}, .stem = {"english"}}), ElementsAre());
}

TEST(Terms, a_cutter_gives_stems_of_one_text_after_the_other) {
  const TextTerms choice{.words = {1, 2}, .characters = {5, 5}, .stem = {"english"}};
  TermCutter cutter(choice);
  for (const char* text : {"cats", "running dogs", "", "a houses b", "cats"}) {
    std::vector<std::string> found;
    cutter.for_each(text, [&](const Term& term) { found.push_back(term.name()); });
    EXPECT_EQ(found, terms(text, choice)) << text;
  }
}

// Brute force -------------------------------------------------------------------------------------

using Row = std::vector<std::string>;  // words of ASCII letters

std::string text_of(const Row& words) {
  std::string text;
  for (const std::string& word : words) text += word + (word.size() % 2 == 0 ? ", " : " ");
  return text;
}

Row expected_terms(const Row& row, const TextTerms& choice) {
  Row words;
  for (const std::string& word : row) {
    if (std::ranges::count(choice.stop_words, word) == 0) words.push_back(word);
  }
  Row all;
  for (std::size_t begin = 0; begin < words.size(); ++begin) {
    std::string joined;
    for (std::size_t end = begin; end < words.size(); ++end) {
      joined += (end > begin ? " " : "") + words[end];
      const auto n = static_cast<int>(end - begin + 1);
      if (n >= choice.words.first && n <= choice.words.last) all.push_back(joined);
    }
  }
  for (const std::string& word : words) {
    if (choice.characters.is_none()) break;
    const std::string padded = " " + word + " ";
    for (int n = choice.characters.first; n <= choice.characters.last; ++n) {
      const auto length = static_cast<std::size_t>(n);
      if (length >= padded.size()) {
        all.push_back("'" + padded + "'");
        break;
      }
      for (std::size_t k = 0; k + length <= padded.size(); ++k) {
        all.push_back("'" + padded.substr(k, length) + "'");
      }
    }
  }
  return all;
}

std::vector<Row> random_rows(std::mt19937& random, std::size_t num_rows) {
  const Row words{"a", "of", "cat", "cats", "hat", "hats", "bb", "banana", "nab", "tac"};
  std::vector<Row> rows(num_rows);
  for (Row& row : rows) {
    for (std::size_t k = random() % 9; k > 0; --k) row.push_back(words[random() % words.size()]);
  }
  rows.front() = {"cat", "hat"};
  return rows;
}

TextTerms random_choice(std::mt19937& random) {
  TextTerms choice;
  const auto lengths = [&] {
    const int first = 1 + static_cast<int>(random() % 3);
    return TextTerms::Lengths{first, first + static_cast<int>(random() % 4)};
  };
  if (random() % 2 == 0) choice.words = lengths();
  if (random() % 2 == 0) choice.characters = lengths();
  if (random() % 4 == 0 && !choice.characters.is_none()) choice.words = TextTerms::Lengths::none();
  if (random() % 3 == 0) choice.stop_words = {"a", "bb", "of"};
  return choice;
}

TEST(Terms, equal_brute_force_on_random_texts) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const TextTerms choice = random_choice(random);
    for (const Row& row : random_rows(random, 5)) {
      EXPECT_THAT(terms(text_of(row), choice),
                  UnorderedElementsAreArray(expected_terms(row, choice)))
          << trial << ": " << text_of(row);
    }
  }
}

struct Expected {
  std::vector<std::string> vocabulary;
  std::vector<std::map<std::string, double>> rows;
};

Expected expected_weights(const std::vector<Row>& rows, const TfidfOptions& options) {
  const TextTerms choice{options.word_ngrams, options.char_ngrams, options.stop_words};
  std::map<std::string, double> document_frequency;
  std::vector<std::map<std::string, double>> counts;
  for (const Row& row : rows) {
    std::map<std::string, double> count;
    for (const std::string& term : expected_terms(row, choice)) ++count[term];
    for (const auto& [term, t] : count) ++document_frequency[term];
    counts.push_back(count);
  }
  const auto n = static_cast<double>(rows.size());
  std::set<std::pair<double, std::string>> ranked;
  for (const auto& [term, df] : document_frequency) {
    const bool is_ngram = term.front() == '\'' || term.find(' ') != std::string::npos;
    const int smallest = is_ngram
                             ? std::max(options.min_document_frequency, options.min_ngram_frequency)
                             : options.min_document_frequency;
    if (df >= smallest && df <= options.max_document_share * n) {
      ranked.emplace(-df, term);
    }
  }
  Expected expected;
  std::set<std::string> kept;
  for (const auto& [minus_df, term] : ranked) {
    if (options.max_terms > 0 && kept.size() == static_cast<std::size_t>(options.max_terms)) break;
    kept.insert(term);
  }
  expected.vocabulary.assign(kept.begin(), kept.end());
  const auto length_of = [&](const std::map<std::string, double>& count) {
    double length = 0;
    for (const auto& [term, t] : count) length += kept.contains(term) ? t : 0;
    return length;
  };
  double average = 0;
  for (const auto& count : counts) average += length_of(count) / n;
  for (const auto& count : counts) {
    std::map<std::string, double> row;
    double sum = 0;
    for (const auto& [term, t] : count) {
      if (!kept.contains(term)) continue;
      const double df = document_frequency[term], k1 = options.bm25_k1, b = options.bm25_b;
      double weight =
          (options.sublinear_tf ? 1 + std::log(t) : t) * (std::log((1 + n) / (1 + df)) + 1);
      if (options.term_weights == TextTerms::Weights::bm25) {
        weight = t * (k1 + 1) / (t + k1 * (1 - b + b * length_of(count) / average)) *
                 std::log(1 + (n - df + 0.5) / (df + 0.5));
      }
      row[term] = weight;
      sum += weight * weight;
    }
    for (auto& [term, weight] : row) weight /= std::sqrt(sum);
    expected.rows.push_back(row);
  }
  return expected;
}

TfidfOptions random_options(std::mt19937& random) {
  const TextTerms choice = random_choice(random);
  TfidfOptions options;
  options.word_ngrams = choice.words;
  options.char_ngrams = choice.characters;
  options.stop_words = choice.stop_words;
  std::ranges::reverse(options.stop_words);
  options.min_document_frequency = 1 + static_cast<int>(random() % 2);
  options.min_ngram_frequency = 1 + static_cast<int>(random() % 3);
  if (random() % 2 == 0) options.max_document_share = 0.7;
  if (random() % 2 == 0) options.max_terms = 1 + static_cast<int>(random() % 12);
  if (random() % 2 == 0) {
    options.term_weights = TextTerms::Weights::bm25;
    options.bm25_k1 = 0.5 * static_cast<double>(random() % 4);
    options.bm25_b = 0.25 * static_cast<double>(random() % 5);
  } else {
    options.sublinear_tf = random() % 2 == 0;
  }
  return options;
}

void expect_rows(const CsrMatrix& X, const Expected& expected) {
  ASSERT_EQ(X.num_rows(), expected.rows.size());
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    std::map<std::string, double> row;
    for (std::size_t k = 0; k < X.row(i).size(); ++k) {
      row[expected.vocabulary[X.row(i).columns[k]]] = static_cast<double>(X.row(i).values[k]);
    }
    ASSERT_EQ(row.size(), expected.rows[i].size()) << i;
    for (const auto& [term, weight] : expected.rows[i]) EXPECT_NEAR(row[term], weight, 1e-6);
  }
}

TEST(TextTfidf, equals_brute_force_for_random_options) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    const TfidfOptions options = random_options(random);
    const std::vector<Row> rows = random_rows(random, 12);
    std::vector<std::string> documents;
    for (const Row& row : rows) documents.push_back(text_of(row));
    const Expected expected = expected_weights(rows, options);
    if (expected.vocabulary.empty()) continue;
    SCOPED_TRACE(trial);
    const Preprocessing fitted = Preprocessing::fit_text(documents, options);
    EXPECT_NO_THROW(fitted.check());
    ASSERT_EQ(fitted.vocabulary, expected.vocabulary);
    expect_rows(fitted.apply(documents), expected);
    for (std::size_t i = 0; i < documents.size(); ++i) {  // few documents: without a table
      const CsrMatrix one = fitted.apply(std::span(documents).subspan(i, 1));
      EXPECT_THAT(one.row(0).values,
                  ::testing::ElementsAreArray(fitted.apply(documents).row(i).values));
    }
  }
}

TEST(CountTfidf, equals_text_under_bm25_and_limits_of_terms) {
  const std::vector<std::string> documents{"b a a d", "b c a", "b", "d d d c", "", "e b"};
  for (const double share : {1.0, 0.5}) {
    for (const int max_terms : {0, 1, 3}) {
      for (const TextTerms::Weights weights :
           {TextTerms::Weights::tfidf, TextTerms::Weights::bm25}) {
        const TfidfOptions options{
            .max_document_share = share, .max_terms = max_terms, .term_weights = weights};
        CsrMatrix counts(5);
        for (const auto& document : documents) {
          std::vector<float> count(5, 0.0F);
          for (const char c : document) {
            if (c != ' ') ++count[static_cast<std::size_t>(c - 'a')];
          }
          counts.append_row(std::vector<FeatureId>{0, 1, 2, 3, 4}, count);
        }
        const Preprocessing text = Preprocessing::fit_text(documents, of_words(options));
        const CsrMatrix by_text = text.apply(documents);
        const CsrMatrix by_count = Preprocessing::fit_counts(counts, options).apply(counts);
        for (std::size_t i = 0; i < documents.size(); ++i) {
          EXPECT_THAT(by_count.row(i).values, ::testing::ElementsAreArray(by_text.row(i).values));
        }
      }
    }
  }
}

// Errors ------------------------------------------------------------------------------------------

TEST(TextTfidf, options_that_contradict_each_other_throw) {
  const std::vector<std::string> documents{"a b", "a"};
  const auto message = [&](const TfidfOptions& options) {
    return message_of<InvalidOption>([&] { Preprocessing::fit_text(documents, options); });
  };
  EXPECT_EQ(message({.word_ngrams = TextTerms::Lengths::none(),
                     .char_ngrams = TextTerms::Lengths::none()}),
            "options word_ngrams and char_ngrams: both are none, but one must give the terms");
  EXPECT_EQ(message({.bm25_k1 = 2}),
            "options bm25_k1 and bm25_b: one is given, but they need term_weights bm25");
  EXPECT_THAT(message({.sublinear_tf = false, .term_weights = TextTerms::Weights::bm25}),
              HasSubstr("option sublinear_tf is false, but term_weights bm25 has its own weight"));
  EXPECT_EQ(message({.max_document_share = 0}),
            "option max_document_share is 0, but must be in (0, 1]");
  EXPECT_THAT(
      message_of([&] { Preprocessing::fit_text(documents, {.min_document_frequency = 3}); }),
      HasSubstr("tfidf: of the 5 terms that occur none is kept"));
  EXPECT_THAT(message({.stem = {"klingon"}}),
              HasSubstr("option stem is 'klingon', but must be none or one of "));
  CsrMatrix counts(1);
  counts.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
  EXPECT_THAT(
      message_of<InvalidOption>([&] { Preprocessing::fit_counts(counts, {.stem = {"english"}}); }),
      HasSubstr("option stem is english, but it is for texts, and the rows hold counts"));
  EXPECT_THAT(message_of<InvalidOption>([&] {
                Preprocessing::fit_text(std::vector<std::string>{"a"},
                                        {.min_ngram_frequency = 3, .hash_features = 8});
              }),
              HasSubstr("option min_ngram_frequency is 3, but with hash_features columns hold"));
  EXPECT_THAT(message_of<InvalidOption>([&] {
                Preprocessing::fit_counts(counts, {.word_ngrams = {1, 3}});
              }),
              HasSubstr("options word_ngrams, char_ngrams, min_ngram_frequency and stop_words: one "
                        "is given, but they are for texts"));
}

TEST(Ngrams, must_occur_in_two_rows_by_default_but_words_in_one) {
  const std::vector<std::string> texts{"red fox", "red fox", "one owl"};
  const Preprocessing fitted = Preprocessing::fit_text(texts, {});
  EXPECT_THAT(fitted.vocabulary, ElementsAre("' fox'", "' red'", "'fox '", "'red '", "fox", "one",
                                             "owl", "red", "red fox"));
  const Preprocessing all = Preprocessing::fit_text(texts, {.min_ngram_frequency = 1});
  EXPECT_THAT(all.vocabulary, Contains("one owl"));
  EXPECT_THAT(all.vocabulary, Contains("' owl'"));
  const Preprocessing common = Preprocessing::fit_text(texts, {.min_document_frequency = 2});
  EXPECT_THAT(common.vocabulary,
              ElementsAre("' fox'", "' red'", "'fox '", "'red '", "fox", "red", "red fox"));
}

TEST(StopWords, are_all_words_of_a_file_but_for_comments) {
  testing::ScratchFolder folder;
  testing::write_bytes(folder / "stop", "# in English\nthe\nDon't\r\n\nof the\n");
  EXPECT_THAT(read_stop_words(folder / "stop"), ElementsAre("don", "of", "t", "the"));
  testing::write_bytes(folder / "empty", "# in English\n...\n");
  EXPECT_EQ(message_of([&] { read_stop_words(folder / "empty"); }),
            (folder / "empty") + ": the file has no words, but must have at least one");
  testing::write_bytes(folder / "bytes", "the\n\xff\n");
  EXPECT_THAT(message_of([&] { read_stop_words(folder / "bytes"); }), HasSubstr("bytes:2:1: "));
}

TEST(Preprocessing, check_refuses_terms_and_weights_that_do_not_fit) {
  Preprocessing p = Preprocessing::fit_text(std::vector<std::string>{"a b"},
                                            {.word_ngrams = {1, 2},
                                             .term_weights = TextTerms::Weights::bm25,
                                             .stop_words = {"x", "c", "x"}});
  EXPECT_THAT(p.terms.stop_words, ElementsAre("c", "x"));
  EXPECT_NO_THROW(p.check());
  Preprocessing broken = p;
  std::swap(broken.terms.stop_words[0], broken.terms.stop_words[1]);
  EXPECT_EQ(message_of([&] { broken.check(); }),
            "preprocessing: stop word 1 is not after the one before it");
  broken = p;
  broken.terms.words = broken.terms.characters = TextTerms::Lengths::none();
  EXPECT_EQ(message_of([&] { broken.check(); }), "preprocessing: both kinds of n-grams are none");
  broken = p;
  broken.bm25_b = 2;
  EXPECT_THAT(message_of([&] { broken.check(); }), HasSubstr("bm25 has k1 1.2, b 2 and average"));
  broken = Preprocessing::unit_norm();
  broken.term_weights = TextTerms::Weights::bm25;
  EXPECT_EQ(message_of([&] { broken.check(); }),
            "preprocessing: term weights are bm25, but there are no terms");
  broken = Preprocessing::unit_norm();
  broken.terms.words = {1, 2};
  EXPECT_EQ(message_of([&] { broken.check(); }),
            "preprocessing: terms of texts are chosen without text");
}

}  // namespace
}  // namespace margrove
