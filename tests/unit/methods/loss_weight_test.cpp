// C = auto of the linear methods.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margrove/linear_estimators.hpp"
#include "methods/training.hpp"
#include "model/linear_predictor.hpp"
#include "model/loss_weight.hpp"
#include "noisy_rows.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;

/// Every value times `factor`.
Examples scaled(Examples raw, float factor) {
  CsrMatrix X(raw.X.num_columns());
  for (std::size_t i = 0; i < raw.X.num_rows(); ++i) {
    const SparseRow row = raw.X.row(i);
    std::vector<float> values(row.values.begin(), row.values.end());
    for (float& value : values) value *= factor;
    X.append_row(row.columns, values);
  }
  raw.X = std::move(X);
  return raw;
}

ModelParts fit(std::string_view name, const OptionValues& options, Examples raw,
               std::vector<double> row_weights = {}) {
  Executor executor(1);
  RunControl control;
  const Method& method = find_method(name);
  const auto run = method.start();
  set_options(run->options(), options);
  Hierarchy hierarchy;
  hierarchy.codec = LabelCodec({"p", "q", "r", "root"});
  hierarchy.edges = {{3, 0}, {3, 1}, {3, 2}};
  PreprocessingOptions preprocessing;
  preprocessing.scale = ColumnScale::none;
  const PreparedRows rows =
      prepare_rows(std::move(raw), method.needs_hierarchy ? &hierarchy : nullptr, preprocessing,
                   std::move(row_weights));
  return train_model(method, *run, rows.training_set(), rows.preprocessing, executor, control);
}

std::string strength_of(const ModelParts& model) {
  for (const auto& [name, value] : model.options) {
    if (name == "C") return value;
  }
  return {};
}

double weight_of(const CsrMatrix& X, std::span<const double> row_weights = {}) {
  TrainingSet data;
  data.X = X;
  data.row_weights = row_weights;
  return automatic_loss_weight(data, {30, 2});
}

TEST(AutomaticLossWeight, is_k_over_the_mean_squared_norm) {
  CsrMatrix X(4);
  X.append_row(std::vector<FeatureId>{0, 1}, std::vector<float>{0.6F, 0.8F});
  X.append_row(std::vector<FeatureId>{2}, std::vector<float>{0.5F});
  EXPECT_NEAR(weight_of(X), 3.2, 1e-12);
  const std::vector<double> weights{3, 1}, none{0, 0};
  EXPECT_NEAR(weight_of(X, weights), 2.46, 1e-12);
  EXPECT_EQ(weight_of(X, none), 1);
  EXPECT_EQ(weight_of(CsrMatrix(3)), 1);
  X.append_row(std::vector<FeatureId>{3}, std::vector<float>{100});
  EXPECT_EQ(weight_of(X), 1);
}

/// Every column less its mean, and column 3 times `factor`.
CsrMatrix centred(const CsrMatrix& X, float factor) {
  std::vector<double> means(X.num_columns(), 0.0);
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    for (FeatureId j = 0; j < X.num_columns(); ++j) means[j] += X.row(i).values[j];
  }
  CsrMatrix result(X.num_columns());
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    std::vector<float> values(X.row(i).values.begin(), X.row(i).values.end());
    for (FeatureId j = 0; j < X.num_columns(); ++j) {
      values[j] -= static_cast<float>(means[j] / static_cast<double>(X.num_rows()));
    }
    values[3] *= factor;
    result.append_row(X.row(i).columns, values);
  }
  return result;
}

TEST(AutomaticLossWeight, of_scaled_columns_may_be_below_one) {
  const Examples raw = testing::noisy_rows({.num_columns = 200, .shift = 0});
  EXPECT_NEAR(weight_of(centred(raw.X, 1)), 30.0 / 200, 0.01);
  EXPECT_EQ(weight_of(centred(raw.X, 1000)), 1);  // a column with a scale of its own
  EXPECT_EQ(weight_of(raw.X), 1);
  TrainingSet data;
  data.X = raw.X;
  data.columns_are_scaled = true;
  EXPECT_NEAR(automatic_loss_weight(data, {30, 2}), 30.0 / 200, 0.01);
}

TEST(AutomaticLossWeight, of_unit_rows_is_larger_where_path_sums_are_one) {
  Examples raw = testing::noisy_rows({});
  CsrMatrix X(2);
  for (std::size_t i = 0; i < raw.X.num_rows(); ++i) {
    X.append_row(std::vector<FeatureId>{static_cast<FeatureId>(i % 2)}, std::vector<float>{1});
  }
  raw.X = std::move(X);
  EXPECT_EQ(strength_of(fit("nhsvm", {}, raw)), "2");
  EXPECT_EQ(strength_of(fit("hsvm", {}, raw)), "3");
}

TEST(AutomaticLossWeight, of_logistic_losses_is_larger_where_labels_are_rare) {
  CsrMatrix X(1);
  LabelSets single, several;
  for (LabelId l = 0; l < 36; ++l) {
    X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
    single.append(std::vector<LabelId>{l % 3});
    several.append(l == 0 ? std::vector<LabelId>{0, 1} : std::vector<LabelId>{l % 3});
  }
  const auto weight = [&](const LabelSets& labels, LossWeightRule rule,
                          std::vector<double> row_weights = {}) {
    TrainingSet data;
    data.X = X;
    data.labels = &labels;
    data.row_weights = row_weights;
    return automatic_loss_weight(data, rule);
  };
  EXPECT_EQ(weight(single, {30, 10, 24}), 20);  // twelve rows for each label
  EXPECT_EQ(weight(single, {30, 10, 12}), 10);
  EXPECT_EQ(weight(single, {30, 10, 3}), 10);
  EXPECT_EQ(weight(single, {30, 10}), 10);
  EXPECT_EQ(weight(several, {30, 10, 24}), 10);
  EXPECT_EQ(weight(single, {30, 10, 48}, std::vector<double>(36, 2.0)), 20);
  EXPECT_EQ(weight(single, {30, 10, 48}, std::vector<double>(36, 0.5)), 48);  // as if ten
}

TEST(AutomaticLossWeight, is_kept_in_the_model_as_a_number) {
  for (const Method& method : methods()) {
    const auto run = method.start();
    if (!run->options().has("C") || run->options().get("C") != "auto") continue;
    SCOPED_TRACE(method.name);
    const Examples raw = scaled(testing::noisy_rows({}), 0.1F);
    const ModelParts model = fit(method.name, {}, raw);
    const std::string C = strength_of(model);
    const bool is_of_norms = method.name != "spn-mkl";  // whose C depends on the number of rows
    EXPECT_GT(std::stod(C), is_of_norms ? 5 : 0);
    const ModelParts same = fit(method.name, {{"C", C}}, raw);
    EXPECT_EQ(same.report.primal, model.report.primal);
    EXPECT_EQ(strength_of(same), C);
  }
}

TEST(AutomaticLossWeight, makes_scores_independent_of_the_unit_of_rows) {
  const OptionValues options{{"bias", "0"}, {"tolerance", "1e-8"}};
  const ModelParts one = fit("flat-lr", options, scaled(testing::noisy_rows({}), 0.25F));
  const ModelParts other = fit("flat-lr", options, scaled(testing::noisy_rows({}), 0.0625F));
  const auto weight = [](const ModelParts& model, std::size_t k) {
    return model.predictor->linear()->parts().weights.dense_values()[k];
  };
  for (std::size_t k = 0; k < 36; ++k) {
    EXPECT_NEAR(weight(other, k), 4 * weight(one, k), 1e-2 * std::abs(weight(other, k)) + 1e-3);
  }
}

TEST(AutomaticLossWeight, takes_weights_for_repetitions) {
  const Examples raw = scaled(testing::noisy_rows({}), 0.1F);
  Examples twice = raw;
  twice.X = CsrMatrix(raw.X.num_columns());
  twice.labels = raw.labels.without_rows();
  for (std::size_t i = 0; i < 2 * raw.X.num_rows(); ++i) {
    const SparseRow row = raw.X.row(i / 2);
    twice.X.append_row(row.columns, row.values);
    twice.labels.append(raw.labels[i / 2]);
  }
  const ModelParts weighted = fit("flat-lr", {}, raw, std::vector<double>(150, 2.0));
  EXPECT_EQ(strength_of(weighted), strength_of(fit("flat-lr", {}, twice)));
}

TEST(AutomaticLossWeight, gives_way_to_lambda_and_refuses_what_is_no_weight) {
  const Examples raw = scaled(testing::noisy_rows({}), 0.1F);
  EXPECT_EQ(fit("flat-lr", {{"lambda", "0.25"}}, raw).report.primal,
            fit("flat-lr", {{"C", "2"}}, raw).report.primal);
  const auto message = [](const auto& call) {
    try {
      call();
    } catch (const InvalidOption& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  for (const char* wrong : {"0", "-1", "inf", "nan", "much"}) {
    EXPECT_THAT(message([&] { fit("flat-lr", {{"C", wrong}}, raw); }), HasSubstr("option C is"));
  }
  EXPECT_THAT(message([] { validate(FlatLrOptions{.C = -1.0}); }),
              HasSubstr("option C is -1, but must be auto or > 0"));
}

}  // namespace
}  // namespace margrove
