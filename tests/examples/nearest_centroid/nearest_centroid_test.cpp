// A method from its options, its plan and its line among the methods: docs/adding_a_method.md.
#include "nearest_centroid/nearest_centroid.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "files.hpp"
#include "io/model_file.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

ModelParts trained(Examples rows, const OptionValues& options, RunControl& control) {
  const Method method = nearest_centroid();
  const auto run = method.start();
  set_options(run->options(), options);
  PreprocessingOptions preprocessing;
  preprocessing.scale = ColumnScale::none;
  const PreparedRows prepared = prepare_rows(std::move(rows), nullptr, preprocessing);
  return train_model(method, *run, prepared.training_set(), prepared.preprocessing,
                     Executor::serial(), control);
}

ModelParts trained(Examples rows, const OptionValues& options = {}) {
  RunControl control;
  return trained(std::move(rows), options, control);
}

TEST(NearestCentroid, gives_the_label_with_the_smallest_distance) {
  const Examples rows = testing::grouped_rows(60, 3);
  std::vector<std::vector<double>> centroids(4, std::vector<double>(4, 0.0));
  std::vector<double> counts(4, 0.0);
  for (std::size_t i = 0; i < rows.num_rows(); ++i) {
    const LabelId l = rows.labels[i][0];
    counts[l] += 1;
    for (std::size_t j = 0; j < 4; ++j) centroids[l][j] += rows.X.row(i).values[j];
  }
  const ModelParts model = trained(rows);
  const LabelSets predicted = model.rows().predict(rows.X, Executor::serial());
  for (std::size_t i = 0; i < rows.num_rows(); ++i) {
    std::vector<double> distances;
    for (std::size_t l = 0; l < 4; ++l) {
      double squares = 0;
      for (std::size_t j = 0; j < 4; ++j) {
        const double difference = rows.X.row(i).values[j] - centroids[l][j] / counts[l];
        squares += difference * difference;
      }
      distances.push_back(squares);
    }
    const auto nearest = std::min_element(distances.begin(), distances.end()) - distances.begin();
    EXPECT_EQ(model.labels.name(predicted[i][0]), rows.codec.name(static_cast<LabelId>(nearest)));
  }
}

TEST(NearestCentroid, shrinkage_moves_the_scores) {
  const Examples rows = testing::grouped_rows(60, 3);
  const ModelParts plain = trained(rows), shrunk = trained(rows, {{"shrinkage", "10"}});
  std::vector<float> scores(4), other(4);
  plain.rows().scores(rows.X, 0, 1, scores);
  shrunk.rows().scores(rows.X, 0, 1, other);
  EXPECT_NE(scores, other);
}

TEST(NearestCentroid, is_saved_and_loaded_as_other_linear_models_are) {
  const Examples rows = testing::grouped_rows(60, 3);
  const testing::ScratchFolder folder;
  const ModelParts model = trained(rows);
  save_model(model, folder / "model");
  const ModelParts loaded = load_model(folder / "model");
  EXPECT_EQ(loaded.method, "nearest-centroid");
  EXPECT_TRUE(loaded.rows().predict(rows.X, Executor::serial()) ==
              model.rows().predict(rows.X, Executor::serial()));
}

TEST(NearestCentroid, wrong_options_and_rows_throw) {
  EXPECT_EQ(testing::message_of<InvalidOption>([] {
              trained(testing::grouped_rows(9, 3), {{"shrinkage", "-1"}});
            }),
            "option shrinkage is -1, but must be >= 0");
  EXPECT_THAT(testing::message_of([] { trained(testing::multi_label_rows(9, false)); }),
              ::testing::HasSubstr("nearest-centroid"));
  RunControl control;
  control.interrupt();
  EXPECT_THROW(trained(testing::grouped_rows(9, 3), {}, control), OutOfTimeLimit);
}

}  // namespace
}  // namespace margrove
