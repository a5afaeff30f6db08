// train(), Model and train_structured(), as users call them, against what they stand for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "margrove/margrove.hpp"
#include "multi_class.hpp"
#include "source_folder.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TrainingData toy_data(std::size_t num_rows = 60) {
  RawRows raw = testing::grouped_rows(num_rows, 1);
  return {.rows = Dataset{std::move(raw.X), std::move(raw.labels), std::move(raw.codec)},
          .hierarchy = testing::groups()};
}

TEST(Train, gives_the_model_of_the_method_with_these_options) {
  TrainingData unscaled = toy_data();
  unscaled.column_scale = ColumnScale::none;
  const Model model = train(NhSvmOptions{.C = 3, .tolerance = 1e-4}, unscaled);
  const Hierarchy hierarchy = testing::groups();
  const ModelParts parts = testing::train("nhsvm", {{"C", "3"}, {"tolerance", "0.0001"}},
                                          testing::grouped_rows(60, 1), &hierarchy);
  EXPECT_EQ(model.method(), "nhsvm");
  EXPECT_EQ(model.options(), parts.options);
  EXPECT_EQ(model.report().primal, parts.report.primal);
  const TrainingData data = toy_data();
  const auto& rows = std::get<Dataset>(data.rows);
  EXPECT_EQ(model.predict(rows), parts.rows().predict(rows.X, Executor::serial()));
}

TEST(Train, option_out_of_range_throws_with_its_name) {
  EXPECT_THAT([] { train(NhSvmOptions{.C = -1}, toy_data()); },
              ThrowsMessage<InvalidOption>(HasSubstr("option C is -1")));
}

TEST(Train, method_that_needs_a_hierarchy_throws_without_one) {
  TrainingData data = toy_data();
  data.hierarchy.reset();
  EXPECT_THAT([&] { train(TopDownSvmOptions{}, data); },
              ThrowsMessage<InvalidOption>(HasSubstr("needs a hierarchy")));
}

TEST(Train, row_of_weight_two_is_the_row_twice) {
  TrainingData twice = toy_data(20), weighted = toy_data(20);
  auto& rows = std::get<Dataset>(twice.rows);
  const SparseRow first = rows.X.row(0);
  const std::vector<FeatureId> columns(first.columns.begin(), first.columns.end());
  const std::vector<float> values(first.values.begin(), first.values.end());
  const std::vector<LabelId> labels(rows.labels[0].begin(), rows.labels[0].end());
  rows.X.append_row(columns, values);
  rows.labels.append(labels);
  twice.row_weights.assign(21, 1.0);
  weighted.row_weights.assign(20, 1.0);
  weighted.row_weights[0] = 2.0;
  const CsrMatrix X = rows.X;
  EXPECT_EQ(train(FlatLrOptions{}, twice).scores(X), train(FlatLrOptions{}, weighted).scores(X));
}

TEST(Train, scales_columns_as_asked_and_applies_it_to_new_rows) {
  TrainingData raw = toy_data();
  auto& rows = std::get<Dataset>(raw.rows);
  CsrMatrix large(rows.X.num_columns());
  for (std::size_t i = 0; i < rows.X.num_rows(); ++i) {
    const SparseRow x = rows.X.row(i);
    std::vector<float> values(x.values.begin(), x.values.end());
    values[0] = 1000 * values[0] + 5e4F;
    large.append_row(x.columns, values);
  }
  TrainingData scaled = toy_data();
  raw.column_scale = scaled.column_scale = ColumnScale::standard;
  const CsrMatrix small = std::get<Dataset>(scaled.rows).X;
  rows.X = large;
  const auto expected = train(FlatLrOptions{.tolerance = 1e-8}, scaled).scores(small);
  const auto found = train(FlatLrOptions{.tolerance = 1e-8}, raw).scores(large);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (std::isfinite(expected[k])) {
      EXPECT_NEAR(found[k], expected[k], 1e-2);
    }
  }
  raw.scaling = RowScaling::unit_norm;
  EXPECT_THAT([&] { train(FlatLrOptions{}, raw); },
              ThrowsMessage<InvalidOption>(HasSubstr("option scale is standard, which is for")));
}

class TextModel : public ::testing::Test {
 protected:
  TextDataset data_ = parse_text("dog\tbarks and bites\ncat\tpurrs\ndog\tbarks\n", "pets");
  Model model_ = train(FlatSvmOptions{}, {.rows = data_});
};

TEST_F(TextModel, saved_and_loaded_gives_the_same_scores) {
  const auto path = std::filesystem::temp_directory_path() / "margrove_public_api_test.model";
  model_.save(path);
  const Model loaded = Model::load(path);
  std::filesystem::remove(path);
  EXPECT_EQ(loaded.scores(data_), model_.scores(data_));
  // The model numbers its labels by name, the reader by appearance unless it is given a codec.
  const TextDataset again = parse_text("dog\tbarks and bites\ncat\tpurrs\ndog\tbarks\n", "pets",
                                       {.codec = &loaded.labels()});
  EXPECT_EQ(loaded.predict(again), again.labels);
  EXPECT_DOUBLE_EQ(loaded.evaluate(again.labels, loaded.predict(again)).accuracy, 1.0);
}

TEST_F(TextModel, probabilities_of_a_row_sum_to_one) {
  const std::vector<double> p = model_.probabilities(data_);
  ASSERT_EQ(p.size(), 6U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(p[2 * i] + p[2 * i + 1], 1, 1e-9);
}

TEST_F(TextModel, explanation_adds_up_to_the_score) {
  const RankedLabels top = model_.top(data_, 1);
  const Explanation explanation = model_.explain(data_, 0, top.labels[0]);
  EXPECT_NEAR(explanation.score, top.scores[0], 1e-5);
  EXPECT_THAT([&] { model_.explain(data_, 3, 0); },
              ThrowsMessage<InvalidInput>(HasSubstr("row is 3, but must be below 3")));
}

TEST_F(TextModel, rows_of_numbers_and_files_throw) {
  EXPECT_THAT(
      [&] { model_.predict(CsrMatrix(3)); },
      ThrowsMessage<InvalidInput>(HasSubstr("the rows are numbers, but the model takes texts")));
  EXPECT_THAT([&] { model_.predict_file("sentences.txt"); },
              ThrowsMessage<InvalidInput>(HasSubstr("must be one of files")));
}

TEST(Model, of_records_refuses_numbers_and_texts) {
  const Model model =
      Model::load((testing::source_folder() / "tests/golden/models/v1-records").string());
  const std::vector<std::string> documents{"sea", "fur"};
  EXPECT_THAT(
      [&] { model.predict(CsrMatrix(3)); },
      ThrowsMessage<InvalidInput>(HasSubstr("the rows are numbers, but the model takes records")));
  EXPECT_THAT(
      [&] { model.scores(documents); },
      ThrowsMessage<InvalidInput>(HasSubstr("the rows are texts, but the model takes records")));
}

TEST(Model, missing_file_throws_with_its_path) {
  EXPECT_THAT([] { Model::load("/nowhere/x.model"); },
              ThrowsMessage<ModelFileError>(HasSubstr("/nowhere/x.model")));
}

// A model of users: the library's own behind the least that the concept asks.
class UserClasses {
 public:
  using Labelling = std::uint32_t;
  using Workspace = MultiClassModel::Workspace;
  struct Oracle {
    using Labelling = std::uint32_t;
    EnumerationOracle<Labelling> all;
    Candidate<Labelling> argmax(double w_m, double w_g) const { return all.argmax(w_m, w_g); }
    Candidate<Labelling> truth() const { return all.truth(); }
  };
  explicit UserClasses(const MultiClassModel& model) : model_(model) {}
  std::size_t num_examples() const { return model_.num_examples(); }
  std::size_t num_weights() const { return model_.num_weights(); }
  Oracle oracle(std::size_t i, ScaledWeights w, Workspace& workspace) const {
    return {model_.oracle(i, w, workspace)};
  }
  void difference(std::size_t i, Labelling y, SparseVector& out) const {
    model_.difference(i, y, out);
  }
  Labelling truth(std::size_t i) const { return model_.truth(i); }

 private:
  const MultiClassModel& model_;
};

class TrainStructured : public ::testing::Test {
 protected:
  RawRows raw_ = testing::grouped_rows(80, 3);
  MultiClassModel model_ = [this] {
    std::vector<std::uint32_t> labels;
    for (std::size_t i = 0; i < raw_.num_rows(); ++i) labels.push_back(raw_.labels[i][0]);
    return MultiClassModel(raw_.X, std::move(labels), 4,
                           {0, 1, 3, 3, 1, 0, 3, 3, 3, 3, 0, 1, 3, 3, 1, 0});
  }();
};

TEST_F(TrainStructured, solvers_agree_on_the_optimum_of_every_convex_surrogate) {
  for (const AnySurrogate& psi :
       {AnySurrogate(MarginRescaling{}), AnySurrogate(SlackRescaling{})}) {
    StructuredSvmOptions options{.C = 0.3, .surrogate = psi, .tolerance = 1e-3, .max_passes = 2000};
    const StructuredFit bcfw = train_structured(model_, options).fit;
    options.solver = StructuredSolver::cutting_plane;
    const StructuredFit planes = train_structured(model_, options).fit;
    EXPECT_EQ(bcfw.stop, Stop::converged);
    EXPECT_TRUE(bcfw.certified && planes.certified);
    EXPECT_LE(bcfw.dual, planes.primal);
    EXPECT_LE(planes.dual, bcfw.primal);
  }
}

TEST_F(TrainStructured, least_oracle_reaches_the_optimum_of_margin_rescaling) {
  const StructuredSvmOptions options{.tolerance = 1e-3, .max_passes = 2000};
  const StructuredFit fit = train_structured(model_, options).fit;
  const StructuredFit least = train_structured(UserClasses(model_), options).fit;
  EXPECT_TRUE(least.certified);
  EXPECT_NEAR(least.primal, fit.primal, 2e-3 * fit.primal);
}

TEST_F(TrainStructured, threads_change_no_bit) {
  RunControl control;
  Executor one(1), five(5);
  const StructuredSvmOptions options{.surrogate = SlackRescaling{},
                                     .solver = StructuredSolver::cutting_plane};
  EXPECT_EQ(train_structured(model_, options, one, control).weights,
            train_structured(model_, options, five, control).weights);
}

TEST_F(TrainStructured, options_that_do_not_go_together_throw) {
  EXPECT_THAT(
      [&] {
        train_structured(UserClasses(model_),
                         {.surrogate = SlackRescaling{}, .search = StructuredSearch::angular});
      },
      ThrowsMessage<InvalidOption>(HasSubstr("no oracle with bounds on the slope")));
  EXPECT_THAT([&] { train_structured(model_, {.C = 0}); },
              ThrowsMessage<InvalidOption>(HasSubstr("option C is 0")));
  EXPECT_THAT([&] { train_structured(MultiClassModel(CsrMatrix(2), {}, 2)); },
              ThrowsMessage<InvalidInput>(HasSubstr("there are no examples")));
}

}  // namespace
}  // namespace margrove
