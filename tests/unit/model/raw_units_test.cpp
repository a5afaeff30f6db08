#include "model/raw_units.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/model_file.hpp"
#include "small_models.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using testing::small_model;
using testing::small_tree_parts;

/// Of three columns: the first centred, the second only divided, the third constant in training.
Preprocessing small_scale() {
  Preprocessing scale;
  scale.kind = Preprocessing::Kind::scale;
  scale.column_scale = ColumnScale::standard;
  scale.centre = {100, 0, 7};
  scale.spread = {50, 4, 0};
  return scale;
}

CsrMatrix raw_row() {
  CsrMatrix X(3);
  X.append_row(std::vector<FeatureId>{0, 1, 2}, std::vector<float>{150, 8, 7});
  X.append_row(std::vector<FeatureId>{1}, std::vector<float>{-4});
  return X;
}

std::vector<float> scores_of(const RowPredictor& predictor, const CsrView& X, std::size_t i) {
  std::vector<float> scores(predictor.num_labels());
  predictor.scores(X, i, i + 1, scores);
  return {scores.begin() + 1, scores.end()};  // label 0 is never predicted
}

TEST(RawUnits, a_folded_model_has_the_scores_of_the_scaled_rows) {
  for (const double bias : {2.0, 0.0}) {
    LinearPredictor::Parts parts = small_tree_parts();
    parts.bias = bias;
    if (bias == 0) {
      parts.weights = WeightMatrix::dense(3, 4, {1, 2, 0, -1, 0, 0, 3, 0, 1, -1, 0, 2});
    }
    const LinearPredictor scaled(parts);
    const LinearPredictor folded(in_raw_units(parts, small_scale()));
    const CsrMatrix X = raw_row();
    const CsrMatrix scaled_X = small_scale().apply(X);
    EXPECT_EQ(folded.num_features(), 3U);
    for (const std::size_t i : {0, 1}) {
      EXPECT_EQ(scores_of(folded, X, i), scores_of(scaled, scaled_X, i)) << "bias " << bias;
    }
  }
}

TEST(RawUnits, explanations_have_the_values_of_the_rows_as_given) {
  ModelParts model = small_model();
  const CsrMatrix X = small_scale().apply(raw_row());
  const Explanation scaled = model.explain(X.row(0), 1, 5);
  model.preprocessing = small_scale();
  const Explanation raw = model.explain(X.row(0), 1, 5);
  EXPECT_EQ(raw.score, scaled.score);
  ASSERT_EQ(raw.nodes.size(), 2U);
  const auto& part = raw.nodes[1].strongest.front();  // of cat: weight 2 on (150 - 100) / 50
  EXPECT_EQ(part.feature, 0U);
  EXPECT_EQ(part.value, 150);
  EXPECT_EQ(part.centre, 100);
  EXPECT_EQ(part.weight, 2.0F / 50);
  EXPECT_EQ(part.score, 2);
  const auto& intercept = raw.nodes[1].strongest.back();
  EXPECT_EQ(intercept.feature, 3U);
  EXPECT_EQ(intercept.value, 2);
  const Explanation zero = model.explain(X.row(1), 1, 5);
  EXPECT_EQ(zero.nodes[0].strongest.front().value, 0);  // filled in, and a zero again
}

TEST(RawUnits, columns_that_were_left_out_are_between_those_of_the_model) {
  Preprocessing selection;
  selection.columns = {2, 5, 9};
  CsrMatrix X(12);
  X.append_row(std::vector<FeatureId>{2, 3, 5, 9, 11}, std::vector<float>{1, 7, 2, 3, 7});
  const CsrMatrix selected = selection.apply(X.view());
  EXPECT_EQ(selected.num_columns(), 3U);
  const LinearPredictor small(small_tree_parts());
  const LinearPredictor wide(in_raw_units(small_tree_parts(), selection));
  EXPECT_EQ(wide.num_features(), 10U);
  EXPECT_EQ(scores_of(wide, X, 0), scores_of(small, selected, 0));

  ModelParts model = small_model();
  model.preprocessing = selection;
  EXPECT_EQ(model.num_raw_features(), 10U);
  const Explanation named = model.explain(selected.row(0), 1, 5);
  const Explanation plain = small_model().explain(selected.row(0), 1, 5);
  const std::vector<FeatureId> names{2, 5, 9, 10};  // the intercept last
  for (std::size_t n = 0; n < plain.nodes.size(); ++n) {
    for (std::size_t k = 0; k < plain.nodes[n].strongest.size(); ++k) {
      EXPECT_EQ(named.nodes[n].strongest[k].feature, names[plain.nodes[n].strongest[k].feature]);
    }
  }
}

TEST(RawUnits, a_selection_of_columns_is_kept_in_a_file_of_format_version_2) {
  ModelParts model = small_model();
  EXPECT_EQ(format_version_of(model), 1U);
  model.preprocessing.columns = {2, 5, 9};
  EXPECT_EQ(format_version_of(model), 2U);
  const std::string bytes = serialize_model(model);
  EXPECT_EQ(parse_model(std::as_bytes(std::span(bytes)), "memory").preprocessing.columns,
            model.preprocessing.columns);
  for (const std::vector<FeatureId>& wrong : {std::vector<FeatureId>{2, 5}, {2, 9, 5}}) {
    model.preprocessing.columns = wrong;
    const std::string damaged = serialize_model(model);
    EXPECT_THROW(parse_model(std::as_bytes(std::span(damaged)), "memory"), ModelFileError);
  }
}

TEST(RawUnits, other_models_stay_as_they_are) {
  const ModelParts model = small_model();
  const auto parts = in_raw_units(small_tree_parts(), model.preprocessing);
  EXPECT_EQ(parts.bias, 2);
  EXPECT_EQ(parts.weights.at(0, 1), 2);
}

TEST(RawUnits, scales_are_kept_in_the_model_file) {
  ModelParts model = small_model();
  model.preprocessing = small_scale();
  const std::string bytes = serialize_model(model);
  const ModelParts read = parse_model(std::as_bytes(std::span(bytes)), "memory");
  EXPECT_EQ(read.preprocessing.kind, Preprocessing::Kind::scale);
  EXPECT_EQ(read.preprocessing.column_scale, ColumnScale::standard);
  EXPECT_EQ(read.preprocessing.centre, model.preprocessing.centre);
  EXPECT_EQ(read.preprocessing.spread, model.preprocessing.spread);

  model.preprocessing.spread.pop_back();
  const std::string wrong = serialize_model(model);
  try {
    parse_model(std::as_bytes(std::span(wrong)), "memory");
    ADD_FAILURE() << "nothing was thrown";
  } catch (const ModelFileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("3 centres, but 2 spreads"));
  }
}

}  // namespace
}  // namespace margrove
