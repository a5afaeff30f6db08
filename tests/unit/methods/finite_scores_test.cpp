// Rows with values near the largest float, in models of every method.
#include "model/finite_scores.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "toy_training.hpp"

namespace margrove {
namespace {

/// Rows whose columns are so small that weights become large.
Examples small_columns() {
  Examples raw = testing::grouped_rows(60, 1);
  CsrMatrix X(4);
  for (std::size_t i = 0; i < raw.num_rows(); ++i) {
    const SparseRow row = raw.X.row(i);
    std::vector<float> values(row.values.begin(), row.values.end());
    for (float& value : values) value *= 1e-3F;
    X.append_row(row.columns, values);
  }
  raw.X = std::move(X);
  return raw;
}

/// A usual row, and one of values near the largest float.
CsrMatrix usual_and_huge_row() {
  CsrMatrix X(4);
  for (const float x : {1e-3F, 3e38F}) {
    X.append_row(std::vector<FeatureId>{0, 1, 2, 3}, std::vector<float>{x, x, -x, x});
  }
  return X;
}

/// The row that the error names; -1: none was thrown.
template <class Function>
int refused_row(const Function& function) {
  try {
    function();
  } catch (const NonFiniteScores& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith(concat("row ", error.row(), ": the scores")));
    return static_cast<int>(error.row());
  }
  return -1;
}

TEST(FiniteScores, every_method_of_rows_has_them_or_names_the_row) {
  const Hierarchy hierarchy = testing::groups();
  const CsrMatrix X = usual_and_huge_row();
  for (const Method& method : methods()) {
    if (method.read_examples) continue;
    SCOPED_TRACE(method.name);
    const auto run = method.start();
    const OptionTable& table = run->options();
    OptionValues options;
    if (table.has("C")) options.emplace_back("C", "10000");
    if (table.has("max_passes")) options.emplace_back("max_passes", "50");
    if (table.has("multiclass")) options.emplace_back("multiclass", "ovr");  // converges so soon
    const bool is_kernel = table.has("widths");
    if (table.has("network")) {
      options.emplace_back("network", R"({"shape": "one-layer", "kernels":
                           {"k": {"type": "polynomial", "degree": 9, "offset": 1}}})");
    }
    const ModelParts model =
        testing::train(method.name, options, small_columns(), is_kernel ? nullptr : &hierarchy);
    const RowPredictor& predictor = model.rows();
    // Kernels of distances are 0 for rows that far away, so that scores are finite.
    const int refused = is_kernel && !table.has("network") ? -1 : 1;
    Executor executor(2);
    std::vector<float> scores(2 * std::size_t{predictor.num_labels()});
    EXPECT_EQ(refused_row([&] { predictor.scores(X, 0, 2, scores); }), refused);
    EXPECT_EQ(refused_row([&] { predictor.ranking_scores(X, 0, 2, scores); }), refused);
    EXPECT_EQ(refused_row([&] { predictor.predict(X, executor); }), refused);
    EXPECT_EQ(refused_row([&] { predictor.top(X, 2, executor); }), refused);
    EXPECT_EQ(refused_row([&] { predictor.scores(X, 0, 1, scores); }), -1);
  }
}

TEST(FiniteScores, label_sets_have_them_or_name_the_row) {
  const CsrMatrix X = usual_and_huge_row();
  const Hierarchy hierarchy = testing::overlapping_groups();
  for (const auto& [name, options] : std::vector<std::pair<std::string, OptionValues>>{
           {"hsvm", {{"C", "1e6"}}},
           {"nhsvm", {{"C", "1e6"}}},
           {"structured", {{"model", "multilabel-field"}, {"C", "1e6"}}},
           {"structured", {{"model", "hierarchy"}, {"C", "1e6"}}}}) {
    SCOPED_TRACE(name);
    Examples raw = testing::multi_label_rows(40, false);
    CsrMatrix small(3);
    for (std::size_t i = 0; i < raw.num_rows(); ++i) {
      const SparseRow row = raw.X.row(i);
      small.append_row(row.columns, std::vector<float>(row.size(), 1e-3F));
    }
    raw.X = std::move(small);
    const bool is_field = options.front().second == "multilabel-field";
    const ModelParts model =
        testing::train(name, options, std::move(raw), is_field ? nullptr : &hierarchy);
    Executor executor(2);
    EXPECT_EQ(refused_row([&] { model.rows().predict(X, executor); }), 1);
    EXPECT_EQ(refused_row([&] { model.rows().top(X, 2, executor); }), 1);
  }
}

TEST(FiniteScores, are_checked_as_float32) {
  const std::vector<double> large{1e300}, usual{3e38, -3e38};
  EXPECT_EQ(refused_row([&] { require_finite_scores(std::span(large), 7); }), 7);
  EXPECT_EQ(refused_row([&] { require_finite_scores(std::span(usual), 7); }), -1);
  const std::vector<float> wrong{std::nanf("")};
  EXPECT_EQ(refused_row([&] { require_finite_scores(std::span(wrong), 0); }), 0);
}

}  // namespace
}  // namespace margrove
