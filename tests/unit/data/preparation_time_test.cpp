// How often the preparation of rows asks for the time.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/out_of_time.hpp"
#include "base/work_meter.hpp"
#include "counted_seconds.hpp"
#include "data/number_rows.hpp"
#include "data/text_views.hpp"
#include "margrove/control.hpp"

namespace margrove {
namespace {
using testing_clock::counted_seconds;
using testing_clock::questions;

using Work = std::function<void(RunControl&)>;

/// The work asks at least so often, and ends with the question that comes after a limit.
void expect_asks(long least, const Work& work) {
  RunControl endless(nullptr, 1e9, &counted_seconds);
  long before = questions;
  work(endless);
  EXPECT_GE(questions - before, least);
  for (const long after : {1L, least / 2, least - 1}) {
    RunControl control(nullptr, 1e-3 * (static_cast<double>(after) - 0.5), &counted_seconds);
    before = questions;
    EXPECT_THROW(work(control), OutOfTime);
    EXPECT_LE(questions - before, after);
  }
}

std::string repeated(std::string_view text, std::size_t count) {
  std::string all;
  for (std::size_t k = 0; k < count; ++k) all += text;
  return all;
}

Work fit(std::vector<std::string> documents, TfidfOptions options = {}) {
  return [=](RunControl& control) { fit_texts(views_of(documents), options, true, &control); };
}

Work weigh(std::vector<std::string> documents, const TfidfOptions& options = {}) {
  const Preprocessing fitted = fit_texts(views_of(documents), options);
  return [=](RunControl& control) { weigh_texts(fitted, views_of(documents), &control); };
}

TEST(PreparationTime, is_asked_for_within_a_word) {
  const std::size_t step = WorkMeter::kWorkBetweenQuestions;
  const std::vector<std::string> word{repeated("xyz", 10 * step)};  // 30 steps
  expect_asks(29, fit(word));
  expect_asks(29, weigh(word));
  // The bytes, the characters, and the terms of each of three lengths.
  const TfidfOptions ngrams{.char_ngrams = {3, 5}};
  expect_asks(5 * 29, fit(word, ngrams));
  expect_asks(5 * 29, weigh(word, ngrams));
  // The sorting of all terms, which differ.
  std::string distinct;
  for (std::size_t k = 0; k < step; ++k) distinct += std::to_string(k * 7919 % 100'003);
  expect_asks(15, fit({distinct}, {.min_ngram_frequency = 1, .char_ngrams = {5, 5}}));
  // The normal form of a word, which is made once more for its lower case.
  expect_asks(6 * 9, fit({repeated("e\u0301", 10 * step)}));
  expect_asks(9, fit({repeated("\u0301", 10 * step) + "a"}));
  expect_asks(9, fit({"a" + repeated("\u0301\u0316", 10 * step)}));
}

TEST(PreparationTime, is_asked_for_in_and_between_documents) {
  const std::size_t step = WorkMeter::kWorkBetweenQuestions;
  expect_asks(18, fit({repeated("cat ", 5 * step)}));
  expect_asks(18, weigh({repeated("cat ", 5 * step)}));
  expect_asks(18, fit(std::vector<std::string>(5 * step, "cat ")));
  expect_asks(18, weigh(std::vector<std::string>(5 * step, "cat ")));
  std::vector<std::string> empty(5 * step);
  empty.front() = "cat";
  expect_asks(4, fit(empty));
  expect_asks(8, fit({repeated("a b ", 5 * step)}, {.word_ngrams = {1, 2}}));
  expect_asks(8, fit({repeated("a b ", 5 * step)}, {.hash_features = 16}));
}

TEST(PreparationTime, is_asked_for_between_rows_of_numbers) {
  const std::size_t num_rows = WorkMeter::kWorkBetweenQuestions;
  CsrMatrix X;
  for (std::size_t i = 0; i < num_rows; ++i) {
    const auto value = static_cast<float>(i * 7919 % 1009);
    X.append_row(std::vector<FeatureId>{0, 1, 2}, std::vector<float>{value, value + 1, value + 2});
  }
  const auto fitted = [&](ColumnScale scale) {
    return [&, scale](RunControl& control) { fit_columns(X, scale, {}, {}, &control); };
  };
  expect_asks(5, fitted(ColumnScale::standard));
  expect_asks(3 * 15, fitted(ColumnScale::robust));
  expect_asks(2, [&](RunControl& control) { fit_counts(X, {}, &control); });
  for (const Preprocessing& each : {fit_columns(X, ColumnScale::standard, {}, {}, nullptr),
                                    fit_counts(X, {}, nullptr), Preprocessing::unit_norm()}) {
    expect_asks(2, [&](RunControl& control) { apply_to_numbers(each, X, &control); });
  }
}

TEST(PreparationTime, is_asked_for_between_records_and_values) {
  const std::size_t num_rows = 2 * WorkMeter::kWorkBetweenQuestions;
  RecordFields fields;
  fields.numeric.emplace_back(num_rows, 1.0F);
  CategoricalField& colours = fields.categorical.emplace_back();
  for (std::size_t i = 0; i < num_rows; ++i) {
    colours.ids.push_back(colours.values.add("colour " + std::to_string(i)));
  }
  RecordSelection selection;
  selection.numeric = {"price"};
  selection.categorical = {"colour"};
  expect_asks(
      15, [&](RunControl& control) { fit_and_apply_records({}, fields, selection, {}, &control); });
  const RecordFeatures fitted = RecordFeatures::fit(fields, selection, {});
  expect_asks(4, [&](RunControl& control) { apply_records(fitted, {}, fields, &control); });
}

}  // namespace
}  // namespace margrove
