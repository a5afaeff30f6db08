#include "data/record_features.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "data/text_views.hpp"
#include "margrove/errors.hpp"
#include "word_terms.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;

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
