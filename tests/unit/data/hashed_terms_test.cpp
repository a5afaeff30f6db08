// Terms whose columns come from a hash (TfidfOptions::hash_features).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/random.hpp"
#include "data/terms.hpp"
#include "data/text_views.hpp"
#include "files.hpp"
#include "margrove/errors.hpp"
#include "margrove/tfidf.hpp"
#include "word_terms.hpp"

namespace margrove {
namespace {

using testing::message_of;
using testing::of_words;

std::vector<std::string> random_texts(std::uint64_t seed, std::size_t count) {
  Random random(seed);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) {
    std::string text;
    for (std::size_t k = random.below(12); k > 0; --k) {
      text += concat("w", random.below(1 + random.below(60)), " ");
    }
    texts.push_back(text);
  }
  return texts;
}

std::vector<std::pair<FeatureId, float>> entries(const CsrMatrix& X, std::size_t row) {
  std::vector<std::pair<FeatureId, float>> all;
  const SparseRow x = X.row(row);
  for (std::size_t k = 0; k < x.size(); ++k) all.emplace_back(x.columns[k], x.values[k]);
  return all;
}

std::vector<TfidfOptions> some_options() {
  return {{.hash_features = 37},
          {.min_document_frequency = 3, .hash_features = 37},
          {.max_document_share = 0.3, .sublinear_tf = false, .hash_features = 100},
          {.max_terms = 9, .word_ngrams = {1, 2}, .hash_features = 64, .hash_seed = 5},
          {.char_ngrams = {2, 3}, .hash_features = 50},
          {.term_weights = TextTerms::Weights::bm25, .hash_features = 40}};
}

TEST(HashedTerms, equal_the_weights_of_counts_in_the_columns_of_the_hashes) {
  const auto texts = random_texts(1, 80);
  for (const TfidfOptions& options : some_options()) {
    const Preprocessing hashed = Preprocessing::fit_text(texts, options);
    const auto num_hashes = static_cast<std::uint32_t>(options.hash_features);
    TermCutter cutter(hashed.terms);
    CsrMatrix counts(num_hashes);
    for (const std::string& text : texts) {
      std::map<FeatureId, float> row;
      cutter.for_each(text, [&](const Term& term) { ++row[hashed.terms.hash_of(term.name())]; });
      std::vector<FeatureId> columns;
      std::vector<float> values;
      for (const auto& [column, value] : row) {
        columns.push_back(column);
        values.push_back(value);
      }
      counts.append_row(columns, values);
    }
    TfidfOptions of_counts = options;
    of_counts.word_ngrams = TfidfOptions().word_ngrams;
    of_counts.char_ngrams = TfidfOptions().char_ngrams;
    of_counts.hash_features = 0;
    of_counts.hash_seed = 0;
    const CsrMatrix expected = Preprocessing::fit_counts(counts, of_counts).apply(counts);
    const CsrMatrix found = hashed.apply(texts);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      auto row = entries(found, i);
      for (auto& [column, value] : row) column = hashed.hashes[column];
      EXPECT_EQ(row, entries(expected, i));
    }
  }
}

TEST(HashedTerms, are_the_terms_with_names_where_no_two_have_the_same_hash) {
  const auto texts = random_texts(2, 60), others = random_texts(3, 20);
  const Preprocessing named =
      Preprocessing::fit_text(texts, of_words({.min_document_frequency = 2}));
  const Preprocessing hashed = Preprocessing::fit_text(
      texts, of_words({.min_document_frequency = 2, .hash_features = 1 << 30}));
  ASSERT_EQ(hashed.idf.size(), named.idf.size());
  const CsrMatrix expected = named.apply(others), found = hashed.apply(others);
  for (std::size_t i = 0; i < others.size(); ++i) {
    std::map<std::uint32_t, float> by_hash;
    for (const auto& [column, value] : entries(expected, i)) {
      by_hash[hashed.terms.hash_of(named.vocabulary[column])] = value;
    }
    std::map<std::uint32_t, float> of_row;
    for (const auto& [column, value] : entries(found, i)) of_row[hashed.hashes[column]] = value;
    ASSERT_EQ(of_row.size(), by_hash.size());
    for (const auto& [hash, value] : by_hash) EXPECT_FLOAT_EQ(of_row[hash], value);
  }
}

TEST(HashedTerms, hashes_depend_on_the_seed_and_fill_their_range) {
  TextTerms terms{.num_hashes = 16};
  TextTerms other{.num_hashes = 16, .hash_seed = 1};
  std::vector<int> count(16, 0);
  std::size_t same = 0;
  for (int k = 0; k < 1600; ++k) {
    const std::string term = concat("term", k);
    ASSERT_LT(terms.hash_of(term), 16U);
    ++count[terms.hash_of(term)];
    same += terms.hash_of(term) == other.hash_of(term) ? 1 : 0;
  }
  EXPECT_GT(std::ranges::min(count), 60);
  EXPECT_LT(std::ranges::max(count), 140);
  EXPECT_LT(same, 160U);
}

TEST(HashedTerms, hashes_are_the_same_in_every_version_because_models_keep_them) {
  const TextTerms terms{.num_hashes = 1U << 20U, .hash_seed = 7};
  EXPECT_EQ(terms.hash_of(""), 144547U);
  EXPECT_EQ(terms.hash_of("apple"), 1045266U);
}

TEST(HashedTerms, have_no_names) {
  const std::vector<std::string> texts{"red apple", "red car"};
  const Preprocessing fitted = Preprocessing::fit_text(texts, of_words({.hash_features = 1000}));
  EXPECT_TRUE(fitted.vocabulary.empty());
  EXPECT_EQ(fitted.term_name(1), concat("hash ", fitted.hashes[1]));
}

TEST(HashedTerms, wrong_options_and_contents_throw) {
  const std::vector<std::string> texts{"red apple", "red car"};
  EXPECT_EQ(message_of<InvalidOption>([&] { Preprocessing::fit_text(texts, {.hash_seed = 3}); }),
            "option hash_seed is given, but it needs hash_features");
  EXPECT_EQ(message_of<InvalidOption>(
                [&] { Preprocessing::fit_counts(CsrMatrix(3), {.hash_features = 8}); }),
            "option hash_features is 8, but it is for texts, and the rows hold counts");
  Preprocessing fitted = Preprocessing::fit_text(texts, of_words({.hash_features = 1000}));
  fitted.check();
  std::swap(fitted.hashes[0], fitted.hashes[1]);
  EXPECT_THAT(message_of([&] { fitted.check(); }),
              ::testing::HasSubstr("but must be less than 1000 and after the one before it"));
  fitted.hashes.pop_back();
  EXPECT_EQ(message_of([&] { fitted.check(); }), "preprocessing: 2 hashes, but 3 idf weights");
}

TEST(FittedTexts, are_what_fitting_and_weighing_give) {
  // Long rows are sorted by their digits, short ones by comparisons.
  std::vector<std::string> texts = random_texts(7, 300);
  std::string all;
  for (const std::string& text : texts) all += text;
  texts.push_back(all);
  std::vector<TfidfOptions> options = some_options();
  options.push_back({});
  options.push_back({.min_document_frequency = 2, .max_terms = 40, .char_ngrams = {2, 4}});
  for (const TfidfOptions& each : options) {
    const FittedTexts once = fit_and_weigh_texts(views_of(texts), each);
    const Preprocessing fitted = Preprocessing::fit_text(texts, each);
    EXPECT_EQ(once.fitted.vocabulary, fitted.vocabulary);
    EXPECT_EQ(once.fitted.hashes, fitted.hashes);
    EXPECT_EQ(once.fitted.idf, fitted.idf);
    const CsrMatrix X = fitted.apply(texts);
    ASSERT_EQ(once.X.view().num_rows(), X.view().num_rows());
    const FittedTexts twice = fit_and_weigh_texts(views_of(texts), each, true, nullptr, 1000);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      EXPECT_EQ(entries(once.X, i), entries(X, i));
      EXPECT_EQ(entries(twice.X, i), entries(X, i));
    }
  }
}

}  // namespace
}  // namespace margrove
