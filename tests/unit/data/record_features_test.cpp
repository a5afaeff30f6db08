#include "data/record_features.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "data/text_views.hpp"
#include "files.hpp"
#include "margrove/errors.hpp"
#include "word_terms.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();

RecordSelection selection() {
  return {.text = {"title"}, .numeric = {"price", "size"}, .categorical = {"colour"}, .label = "l"};
}

RecordFields fields() {
  RecordFields made;
  made.documents = {"apple", "pear", "apple"};
  made.numeric = {{1, kMissing, 5}, {7, 8, 9}};
  made.categorical = {{LabelCodec({"red", "blue"}), {0, 1, CategoricalField::kMissing}}};
  return made;
}

std::vector<float> dense(const CsrMatrix& X, std::size_t row) {
  std::vector<float> values(X.num_columns());
  for (std::size_t k = 0; k < X.row(row).size(); ++k) {
    values[X.row(row).columns[k]] = X.row(row).values[k];
  }
  return values;
}

TEST(RecordFeatures, are_words_numbers_indicators_and_categories) {
  const RecordFeatures fitted = RecordFeatures::fit(fields(), selection(), testing::of_words());
  const CsrMatrix X = fitted.apply(fields());
  check_csr(X);
  fitted.check();
  std::vector<std::string> names;
  for (FeatureId j = 0; j < X.num_columns(); ++j) names.push_back(fitted.column_name(j));
  EXPECT_THAT(names, ElementsAre("apple", "pear", "price", "size", "price is missing",
                                 "colour = blue", "colour = red"));
  EXPECT_THAT(dense(X, 0), ElementsAre(1, 0, 1, 7, 0, 0, 1));
  EXPECT_THAT(dense(X, 1), ElementsAre(0, 1, 3, 8, 1, 1, 0));  // the mean of 1 and 5
  EXPECT_THAT(dense(X, 2), ElementsAre(1, 0, 5, 9, 0, 0, 0));
  EXPECT_EQ(fitted.numeric_columns().begin, 2U);
  EXPECT_EQ(fitted.numeric_columns().end, 4U);
}

TEST(RecordFeatures, are_fitted_and_applied_at_once_as_one_after_the_other) {
  const RecordFields all = fields();
  for (const TfidfOptions& options : {TfidfOptions(), testing::of_words()}) {
    const FittedRecords once =
        fit_and_apply_records(views_of(all.documents), all, selection(), options);
    const RecordFeatures fitted = RecordFeatures::fit(all, selection(), options);
    const CsrMatrix X = fitted.apply(all);
    EXPECT_EQ(once.fitted.text.vocabulary, fitted.text.vocabulary);
    EXPECT_EQ(once.fitted.categorical, fitted.categorical);
    ASSERT_EQ(once.X.num_rows(), X.num_rows());
    for (std::size_t i = 0; i < X.num_rows(); ++i) EXPECT_EQ(dense(once.X, i), dense(X, i));
  }
}

TEST(RecordFeatures, leave_out_what_training_did_not_have) {
  const RecordFeatures fitted = RecordFeatures::fit(fields(), selection(), testing::of_words());
  RecordFields news;
  news.documents = {"plum apple"};
  news.numeric = {{2}, {kMissing}};
  news.categorical = {{LabelCodec({"green"}), {0}}};
  EXPECT_THAT(dense(fitted.apply(news), 0), ElementsAre(1, 0, 2, 8, 0, 0, 0));
}

TEST(RecordFeatures, are_fitted_on_the_selected_rows_alone) {
  const std::vector<std::uint32_t> rows{0, 2};
  const RecordFields some = select_rows(fields(), rows);
  const RecordFeatures fitted = RecordFeatures::fit(some, selection(), testing::of_words());
  EXPECT_THAT(fitted.text.vocabulary, ElementsAre("apple"));
  EXPECT_THAT(fitted.categorical[0], ElementsAre("red"));
  EXPECT_FALSE(fitted.numeric[0].may_be_missing);
  EXPECT_THAT(dense(fitted.apply(some), 1), ElementsAre(1, 5, 9, 0));
}

TEST(RecordFeatures, of_a_column_without_a_number_are_zeros_and_an_indicator) {
  RecordFields empty;
  empty.numeric = {{kMissing, kMissing}};
  const RecordFeatures fitted = RecordFeatures::fit(empty, {.numeric = {"n"}, .label = "l"}, {});
  EXPECT_THAT(dense(fitted.apply(empty), 0), ElementsAre(0, 1));
}

RecordFields with_vectors(RecordFields others) {
  others.vector_widths = {2, 1};
  others.vectors = {3, 0, 4, 0, 0, 0, -6, 8, 0};
  return others;
}

const std::vector<std::string> kVectors{"e", "f"};

TfidfOptions of_share(double share) {
  TfidfOptions options = testing::of_words();
  options.vector_share = share;
  return options;
}

TEST(RecordFeatures, of_columns_of_vectors_are_one_block_of_the_given_share) {
  RecordSelection selected = selection();
  selected.vectors = kVectors;
  const RecordFields all = with_vectors(fields());
  const RecordFeatures fitted = RecordFeatures::fit(all, selected, of_share(0.36));
  const CsrMatrix X = fitted.apply(all);
  check_csr(X);
  fitted.check();
  std::vector<std::string> names;
  for (FeatureId j = 0; j < X.num_columns(); ++j) names.push_back(fitted.column_name(j));
  EXPECT_THAT(names,
              ElementsAre("apple", "pear", "price", "size", "price is missing", "colour = blue",
                          "colour = red", "number 1 of e", "number 2 of e", "f"));
  EXPECT_EQ(fitted.vector_width(), 3U);
  EXPECT_EQ(fitted.vector_name(), "e, f");
  const std::vector<float> first = dense(X, 0);
  EXPECT_FLOAT_EQ(first[0], 0.8F);
  EXPECT_FLOAT_EQ(first[3], 7.0F);  // numbers are as without a vector
  EXPECT_FLOAT_EQ(first[7], 0.36F);
  EXPECT_FLOAT_EQ(first[9], 0.48F);
  EXPECT_THAT(X.row(1).columns.last(3), ElementsAre(7, 8, 9)) << "zeros are kept";
  EXPECT_EQ(X.row(1).values.back(), 0.0F);
  EXPECT_FLOAT_EQ(dense(X, 2)[8], 0.48F);
  const CsrMatrix once =
      fit_and_apply_records(views_of(all.documents), all, selected, of_share(0.36)).X;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(dense(once, i), dense(X, i));
}

TEST(RecordFeatures, of_vectors_without_text_weigh_as_the_number_of_other_columns) {
  RecordFields alone;
  alone = with_vectors(alone);
  EXPECT_THAT(
      dense(RecordFeatures::fit(alone, {.vectors = kVectors}, of_share(0.36)).apply(alone), 0),
      ElementsAre(::testing::FloatEq(0.6F), 0, ::testing::FloatEq(0.8F)));
  RecordFields numbers = fields();
  numbers.documents.clear();
  numbers = with_vectors(numbers);
  const RecordSelection columns{
      .numeric = {"price", "size"}, .categorical = {"colour"}, .vectors = kVectors};
  const CsrMatrix X = RecordFeatures::fit(numbers, columns, of_share(0.75)).apply(numbers);
  EXPECT_FLOAT_EQ(dense(X, 0)[5], 3 * 0.6F);  // .75 / (1 - .75) * 3 columns is 9
  EXPECT_FLOAT_EQ(dense(X, 0)[1], 7.0F);
}

TEST(RecordFeatures, of_selected_rows_have_their_vectors) {
  const RecordFields all = with_vectors(fields());
  const RecordFields some = select_rows(all, std::vector<std::uint32_t>{2, 0});
  EXPECT_THAT(some.vector_widths, ElementsAre(2, 1));
  EXPECT_THAT(some.vectors, ElementsAre(-6, 8, 0, 3, 0, 4));
}

TEST(RecordFeatures, refuse_vectors_that_do_not_fit) {
  const RecordSelection columns{.vectors = kVectors};
  RecordFields given = with_vectors({});
  const RecordFeatures fitted = RecordFeatures::fit(given, columns, of_share(0.5));
  const auto message = [&](const RecordFields& broken) {
    return message_of([&] { fitted.apply(broken); });
  };
  RecordFields broken = given;
  broken.vector_widths = {1, 2};
  EXPECT_EQ(message(broken), "column 'e' has 1 number, but must have 2 as in training");
  broken.vectors.pop_back();
  EXPECT_THAT(message(broken), HasSubstr("8 numbers of vectors, but must have 2 times 3"));
  broken = given;
  broken.vector_widths.pop_back();
  EXPECT_THAT(message(broken), HasSubstr("1 columns of vectors, but must have 2"));
  broken = given;
  broken.vectors[4] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(message(broken), HasSubstr("a vector has the number inf, but must be finite"));
  EXPECT_EQ(fitted.apply(select_rows(given, {})).num_rows(), 0U);

  RecordFeatures damaged = fitted;
  damaged.vector_widths = {2, 0};
  EXPECT_THROW(damaged.check(), InvalidInput);
  damaged.vector_widths = {2};
  EXPECT_THROW(damaged.check(), InvalidInput);
  damaged.vector_widths = {1U << 30U, 1};
  EXPECT_THROW(damaged.check(), InvalidInput);
  damaged = fitted;
  damaged.vector_share = 1;
  EXPECT_THROW(damaged.check(), InvalidInput);

  TfidfOptions both = of_share(0.5);
  both.vectors = "minilm";
  EXPECT_THAT(message_of<InvalidOption>([&] { RecordFeatures::fit(given, columns, both); }),
              HasSubstr("vectors and vector_columns are both given, but a row has one vector"));
  EXPECT_THROW(RecordFeatures::fit(given, columns, of_share(1)), InvalidOption);
}

TEST(RecordFeatures, refuse_parts_that_do_not_fit) {
  const RecordFeatures fitted = RecordFeatures::fit(fields(), selection(), testing::of_words());
  RecordFeatures broken = fitted;
  broken.numeric.pop_back();
  EXPECT_THROW(broken.check(), InvalidInput);
  broken = fitted;
  broken.numeric[0].mean = kMissing;
  EXPECT_THROW(broken.check(), InvalidInput);
  broken = fitted;
  broken.categorical[0] = {"red", "blue"};
  EXPECT_THROW(broken.check(), InvalidInput);
  broken = fitted;
  broken.text = {};
  EXPECT_THROW(broken.check(), InvalidInput);
}

}  // namespace
}  // namespace margrove
