// Vectors of texts beside their terms, by an encoder of the caller.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "data/record_features.hpp"
#include "data/text_views.hpp"
#include "files.hpp"
#include "margrove/errors.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {
namespace {

using margrove::testing::message_of;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

/// (length of the text, 1, 0); "bad" has a number that is not finite.
class Lengths final : public TextEncoder {
 public:
  explicit Lengths(std::string digest = "d") : digest_(std::move(digest)) {}
  Facts facts(RunControl*) override { return {"lengths", digest_, 3}; }
  std::vector<float> encode(std::span<const std::string_view> texts, RunControl*) override {
    std::vector<float> vectors;
    for (const std::string_view text : texts) {
      const float bad = std::numeric_limits<float>::infinity();
      vectors.insert(vectors.end(),
                     {text == "bad" ? bad : static_cast<float>(text.size()), 1.0F, 0.0F});
    }
    if (is_short) vectors.pop_back();
    return vectors;
  }
  bool is_short = false;

 private:
  std::string digest_;
};

const std::vector<std::string> kTexts{"red shoe", "red lamp", "?", ""};

TfidfOptions options_with(std::shared_ptr<TextEncoder> encoder) {
  TfidfOptions options;
  options.char_ngrams = TextTerms::Lengths::none();
  options.vectors = "lengths";
  options.vector_share = 0.36;
  options.encoder = std::move(encoder);
  return options;
}

TEST(TextVectors, rows_have_terms_and_a_block_of_the_given_share) {
  const Preprocessing fitted =
      Preprocessing::fit_text(kTexts, options_with(std::make_shared<Lengths>()));
  EXPECT_EQ(fitted.num_rows_without_terms, 0U);
  const CsrMatrix terms = weigh_terms(fitted, views_of(kTexts), nullptr);
  const CsrMatrix X = fitted.apply(kTexts);
  ASSERT_EQ(X.num_columns(), terms.num_columns() + 3);
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    const SparseRow row = X.row(i), own = terms.row(i);
    ASSERT_EQ(row.size(), own.size() + 3) << "zeros of the block are kept";
    for (std::size_t k = 0; k < own.size(); ++k) {
      EXPECT_EQ(row.columns[k], own.columns[k]);
      EXPECT_FLOAT_EQ(row.values[k], 0.8F * own.values[k]);
    }
    const auto block = row.values.last(3);
    const auto length = static_cast<float>(kTexts[i].size());
    EXPECT_NEAR(block[0] * block[0] + block[1] * block[1], 0.36, 1e-6);
    EXPECT_FLOAT_EQ(block[0], length * block[1]);
    EXPECT_EQ(block[2], 0.0F);
    EXPECT_EQ(row.columns[row.size() - 3], terms.num_columns());
  }
  EXPECT_EQ(fitted.term_name(0), "lamp");
  EXPECT_EQ(fitted.term_name(terms.num_columns() + 1), "vector 2 of lengths");
}

TEST(TextVectors, fitted_texts_are_those_of_fitting_and_applying) {
  const TfidfOptions options = options_with(std::make_shared<Lengths>());
  const FittedTexts both = fit_and_weigh_texts(views_of(kTexts), options);
  const CsrMatrix X = both.fitted.apply(kTexts);
  EXPECT_THAT(both.X.view().values(), ElementsAreArray(X.view().values()));
  EXPECT_THAT(both.X.view().columns(), ElementsAreArray(X.view().columns()));
}

TEST(TextVectors, records_have_the_block_after_all_other_columns) {
  RecordFields fields;
  fields.documents = {"red", "blue red", ""};
  fields.numeric = {{1, 2, std::numeric_limits<float>::quiet_NaN()}};
  const RecordFeatures records = RecordFeatures::fit(
      fields, {.text = {"title"}, .numeric = {"price"}}, options_with(std::make_shared<Lengths>()));
  const CsrMatrix X = records.apply(fields);
  ASSERT_EQ(X.num_columns(), records.num_columns());
  std::vector<std::string> names;
  for (FeatureId j = 0; j < X.num_columns(); ++j) names.push_back(records.column_name(j));
  EXPECT_THAT(names, ElementsAre("blue", "red", "price", "price is missing", "vector 1 of lengths",
                                 "vector 2 of lengths", "vector 3 of lengths"));
  const SparseRow first = X.row(0);
  EXPECT_FLOAT_EQ(first.values[0], 0.8F);  // red
  EXPECT_FLOAT_EQ(first.values[1], 1.0F);  // a price is not scaled
}

TEST(TextVectors, another_encoder_than_that_of_the_training_is_refused) {
  Preprocessing fitted = Preprocessing::fit_text(kTexts, options_with(std::make_shared<Lengths>()));
  fitted.vectors.encoder = std::make_shared<Lengths>("other");
  EXPECT_THAT(message_of([&] { fitted.apply(kTexts); }),
              HasSubstr("of encoder lengths with digest d, but encoder lengths has 3 and digest "
                        "other"));
  fitted.vectors.encoder = nullptr;
  EXPECT_THAT(message_of([&] { fitted.apply(kTexts); }), HasSubstr("no encoder for its vectors"));
}

TEST(TextVectors, wrong_vectors_and_options_are_refused) {
  const auto encoder = std::make_shared<Lengths>();
  Preprocessing fitted = Preprocessing::fit_text(kTexts, options_with(encoder));
  EXPECT_THAT(message_of([&] { fitted.apply(std::vector<std::string>{"bad"}); }),
              HasSubstr("must be finite"));
  encoder->is_short = true;
  EXPECT_THAT(message_of([&] { fitted.apply(kTexts); }),
              HasSubstr("made 11 numbers of 4 texts, but must make 3 of each"));
  TfidfOptions options = options_with(nullptr);
  EXPECT_THROW(Preprocessing::fit_text(kTexts, options), InvalidOption);
  options.char_ngrams = TfidfOptions{}.char_ngrams;
  EXPECT_THAT(message_of<InvalidOption>([&] { Preprocessing::fit_counts(CsrMatrix(2), options); }),
              HasSubstr("option vectors is 'lengths', but it is for texts"));
  options = options_with(encoder);
  for (const double share : {0.0, 1.0, -1.0}) {
    options.vector_share = share;
    EXPECT_THROW(Preprocessing::fit_text(kTexts, options), InvalidOption) << share;
  }
}

}  // namespace
}  // namespace margrove
