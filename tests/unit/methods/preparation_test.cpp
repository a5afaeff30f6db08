// Time limits and interruptions while rows are prepared.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/out_of_time.hpp"
#include "base/work_meter.hpp"
#include "counted_seconds.hpp"
#include "files.hpp"
#include "margrove/control.hpp"
#include "methods/training.hpp"

namespace margrove {
namespace {
using testing::message_of;
using testing_clock::counted_seconds;
using testing_clock::questions;

constexpr std::size_t kStep = WorkMeter::kWorkBetweenQuestions;

Examples documents(std::size_t num_rows) {
  Examples raw;
  raw.kind = RowKind::documents;
  raw.source = "texts";
  for (std::size_t i = 0; i < num_rows; ++i) {
    raw.documents.emplace_back("a cat and a dog");
    raw.labels.append(std::vector{raw.codec.add(i % 2 == 0 ? "x" : "y")});
  }
  return raw;
}

/// A row with all labels and one with the first of them.
Examples many_labels(std::size_t num_labels) {
  Examples raw;
  raw.source = "labels";
  std::vector<LabelId> all;
  for (std::size_t k = 0; k < num_labels; ++k) all.push_back(raw.codec.add(concat("n", k)));
  raw.labels.append(all);
  raw.labels.append(std::vector<LabelId>{0});
  for (int row = 0; row < 2; ++row) {
    raw.X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
  }
  return raw;
}

Examples records(std::size_t num_rows) {
  Examples raw = documents(num_rows);
  raw.kind = RowKind::records;
  raw.source = "records";
  raw.fields.documents = std::move(raw.documents);
  raw.fields.numeric.emplace_back(num_rows, 2.0F);
  raw.selection.text = {"title"};
  raw.selection.numeric = {"price"};
  return raw;
}

Examples numbers(std::uint32_t num_rows) {
  Examples raw;
  raw.source = "numbers";
  for (std::uint32_t i = 0; i < num_rows; ++i) {
    raw.X.append_row(
        std::vector<FeatureId>{0, 1},
        std::vector<float>{static_cast<float>(i % 7) - 3, static_cast<float>(i % 5) - 2});
    raw.labels.append(std::vector{raw.codec.add(i % 2 == 0 ? "x" : "y")});
  }
  return raw;
}

/// A gamma of 0 is that of the median distance.
PreprocessingOptions with_features(const std::string& choice, double gamma) {
  PreprocessingOptions options;
  options.kernel_features = KernelFeatures::Choice::parse(choice);
  options.kernel_gamma = gamma;
  return options;
}

/// With the kernel that average-mkl learns.
PreprocessingOptions with_kernel_model(const std::string& choice) {
  const Method& method = find_method("average-mkl");
  const auto run = method.start();
  const PreparedRows prepared = prepare_rows(numbers(60), nullptr, {});
  RunControl control;
  PreprocessingOptions options = with_features(choice, 0);
  options.kernel_model = std::make_shared<const ModelParts>(train_model(
      method, *run, prepared.training_set(), prepared.preprocessing, Executor::serial(), control));
  options.kernel_model_name = "learned";
  return options;
}

PreprocessingOptions of_texts() {
  PreprocessingOptions options;
  options.text = true;
  return options;
}

struct Case {
  Examples raw;
  PreprocessingOptions options;
  std::vector<double> row_weights;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  all.push_back({documents(kStep), of_texts(), {}});
  all.push_back({many_labels(2 * kStep), {}, {}});
  all.push_back({records(kStep), {}, {}});
  all.push_back({records(kStep), {}, std::vector<double>(kStep, 2.0)});
  all.push_back({numbers(400), with_kernel_model("nystroem:400"), {}});
  for (const char* choice : {"nystroem:20", "nystroem:400", "fourier:30"}) {
    for (const double gamma : {0.0, 1.0}) {
      all.push_back({numbers(400), with_features(choice, gamma), {}});
    }
  }
  return all;
}

TEST(Preparation, ends_at_the_time_limit_with_the_name_of_the_file) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.raw.source);
    constexpr long kLimit = 10;
    RunControl control(nullptr, 1e-3 * (kLimit - 0.5), &counted_seconds);
    const long before = questions;
    EXPECT_EQ(message_of<OutOfTimeLimit>([&] {
                prepare_rows(each.raw, nullptr, each.options, each.row_weights, &control);
              }),
              concat(each.raw.source,
                     ": the time limit ended the preparation of the rows; nothing is trained"));
    EXPECT_LE(questions - before, kLimit);
  }
}

TEST(Preparation, ends_at_an_interruption) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.raw.source);
    RunControl control;
    control.interrupt();
    EXPECT_EQ(message_of<OutOfTimeLimit>([&] {
                prepare_rows(each.raw, nullptr, each.options, each.row_weights, &control);
              }),
              concat(each.raw.source,
                     ": an interruption ended the preparation of the rows; nothing is trained"));
  }
}

TEST(Preparation, gives_the_same_rows_with_and_without_a_limit) {
  for (const Case& each : cases()) {
    SCOPED_TRACE(each.raw.source);
    RunControl control(nullptr, 1e9);
    const PreparedRows limited =
        prepare_rows(each.raw, nullptr, each.options, each.row_weights, &control);
    const PreparedRows plain = prepare_rows(each.raw, nullptr, each.options, each.row_weights);
    EXPECT_TRUE(std::ranges::equal(limited.X.view().columns(), plain.X.view().columns()));
    EXPECT_TRUE(std::ranges::equal(limited.X.view().values(), plain.X.view().values()));
    EXPECT_TRUE(std::ranges::equal(limited.labelled.codec.names(), plain.labelled.codec.names()));
  }
}

TEST(Preparation, of_rows_for_a_model_ends_at_the_time_limit) {
  const Examples raw = documents(kStep);
  ModelParts model;
  model.preprocessing = prepare_rows(raw, nullptr, of_texts()).preprocessing;
  RunControl control(nullptr, 1e-3 * 4.5, &counted_seconds);
  const long before = questions;
  EXPECT_EQ(message_of<OutOfTimeLimit>([&] { preprocess(model, raw, &control); }),
            "texts: the time limit ended the preparation of the rows; nothing is trained");
  EXPECT_LE(questions - before, 5);
}

}  // namespace
}  // namespace margrove
