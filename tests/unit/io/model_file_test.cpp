#include "io/model_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "base/random.hpp"
#include "files.hpp"
#include "io/safetensors.hpp"
#include "model/finite_scores.hpp"
#include "model/weight_compression.hpp"
#include "small_models.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::read_bytes;
using testing::small_model;
using testing::small_rows;
using testing::write_bytes;

ModelParts parse(const std::string& bytes) {
  return parse_model(std::as_bytes(std::span(bytes)), "small.model");
}

/// Exercises all of a model, so that a damaged one that was let through shows itself.
std::vector<float> use(const ModelParts& model) {
  const RowPredictor& rows = model.rows();
  Executor executor(1);
  const CsrMatrix X = small_rows();
  std::vector<float> scores(X.num_rows() * rows.num_labels());
  rows.scores(X, 0, X.num_rows(), scores);
  const LabelSets sets = rows.predict(X, executor);
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    for (const LabelId label : sets[i]) {
      EXPECT_LT(label, model.labels.size());
      rows.explain(X.row(i), label, 2);
    }
  }
  rows.facts();
  return scores;
}

TEST(ModelFile, round_trip_keeps_everything_bit_for_bit) {
  const ModelParts model = small_model();
  const auto path = std::filesystem::temp_directory_path() / "margrove_model_file_test";
  save_model(model, path);
  const ModelParts read = load_model(path);
  std::filesystem::remove(path);
  EXPECT_EQ(read.method, model.method);
  EXPECT_EQ(read.options, model.options);
  EXPECT_TRUE(std::ranges::equal(read.labels.names(), model.labels.names()));
  EXPECT_TRUE(read.has_hierarchy);
  EXPECT_EQ(read.hierarchy.num_edges(), 2u);
  EXPECT_EQ(read.training_rows, model.training_rows);
  EXPECT_EQ(read.report.stop, Stop::pass_limit);
  EXPECT_EQ(read.report.passes, 12);
  EXPECT_EQ(read.report.primal, 3.25);
  EXPECT_EQ(read.report.dual, 3.0);
  ASSERT_EQ(read.report.curve.size(), 2u);
  EXPECT_EQ(read.report.curve[1].primal, 3.25);
  EXPECT_EQ(use(read), use(model));
  EXPECT_EQ(serialize_model(read), serialize_model(model));
  EXPECT_FALSE(read.calibration.has_value());
}

/// The small model, whose rows have four features, on kernel features of rows.
ModelParts model_with_kernel_features(const std::string& choice) {
  ModelParts model = small_model();
  CsrMatrix X(7);
  Random random(3);
  for (int i = 0; i < 5; ++i) {
    X.append_row(std::vector<FeatureId>{1, 6},
                 std::vector<float>{static_cast<float>(random.normal()), 0.5F});
  }
  model.kernel_features = KernelFeatures::fit(X, KernelFeatures::Choice::parse(choice), 0, 9,
                                              Executor::serial(), nullptr);
  return model;
}

TEST(ModelFile, whose_weights_are_read_as_needed_may_be_replaced_but_not_written_to) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "model";
  const ModelParts model = small_model();
  save_model(model, path);
  const ModelParts replaced = load_model(path);
  save_model(model_with_kernel_features("nystroem:3"), path);
  EXPECT_EQ(use(replaced), use(model));

  for (const bool is_cut : {true, false}) {
    save_model(model, path);
    const ModelParts needs_file = load_model(path);
    const ModelParts has_all = load_model(path, ReadWeights::now);
    std::string bytes = read_bytes(path);
    if (is_cut) bytes.resize(100);
    write_bytes(path, bytes);
    std::filesystem::last_write_time(  // clocks of file systems are coarse
        path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
    EXPECT_EQ(use(has_all), use(model));
    EXPECT_THAT(message_of<ModelFileError>([&] { use(needs_file); }),
                HasSubstr(is_cut ? "model: was cut at byte "
                                 : "model: was written to after it was opened; load it again"));
  }
}

TEST(ModelFile, compression_keeps_no_weights_and_gives_the_same_bytes_as_in_memory) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "model";
  save_model(small_model(), path);
  const ModelParts stored = load_model(path), now = load_model(path, ReadWeights::now);
  for (const double keep : {1.0, 0.5, 0.2}) {
    for (const WeightPrecision precision :
         {WeightPrecision::float32, WeightPrecision::bfloat16, WeightPrecision::int8}) {
      ModelParts small = stored, in_memory = now;
      compress(small, {keep, precision});
      compress(in_memory, {keep, precision});
      const std::string bytes = serialize_model(small);
      EXPECT_EQ(bytes, serialize_model(in_memory));
      EXPECT_EQ(model_file_size(small), bytes.size());
    }
  }
  EXPECT_EQ(use(stored), use(small_model()));  // copies are compressed, not the model
  EXPECT_EQ(model_file_size(stored), std::filesystem::file_size(path));
}

TEST(ModelFile, compression_of_a_file_that_was_written_to_throws) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "model";
  for (const bool is_cut : {true, false}) {
    save_model(small_model(), path);
    ModelParts model = load_model(path);
    std::string bytes = read_bytes(path);
    if (is_cut) bytes.resize(100);
    write_bytes(path, bytes);
    std::filesystem::last_write_time(
        path, std::filesystem::last_write_time(path) + std::chrono::seconds(1));
    EXPECT_THAT(message_of<ModelFileError>(
                    [&] { compress(model, {.keep = 0.5, .precision = WeightPrecision::int8}); }),
                HasSubstr(is_cut ? "model: was cut at byte "
                                 : "model: was written to after it was opened; load it again"));
  }
}

TEST(ModelFile, weights_that_are_wrong_throw_when_they_are_read) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "model", bytes = serialize_model(small_model());
  TensorMap tensors = parse_safetensors(std::as_bytes(std::span(bytes)), "good");
  std::vector<float> values(16, 0.0F);
  values[3] = std::numeric_limits<float>::infinity();
  tensors.put<float>("linear.weights.dense", values, {4, 4});
  write_safetensors(tensors, path);
  const ModelParts model = load_model(path);
  EXPECT_THAT(message_of<ModelFileError>([&] { use(model); }),
              HasSubstr("tensor linear.weights: weight 3 of feature 0 must be a finite number"));
  EXPECT_THAT(message_of<ModelFileError>([&] { load_model(path, ReadWeights::now); }),
              HasSubstr("tensor linear.weights.dense: value 3 must be a finite number"));
}

TEST(ModelFile, that_could_not_be_used_takes_the_place_of_none) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "model";
  save_model(small_model(), path);
  const std::string before = read_bytes(path);
  auto parts = testing::small_tree_parts();
  parts.weights.dense_values()[7] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(message_of([&] { save_model(small_model(std::move(parts)), path); }),
            path +
                ": the trained model cannot be used, and nothing was written: tensor "
                "linear.weights: weight 3 of feature 1 must be a finite number");
  EXPECT_EQ(read_bytes(path), before);
}

/// The small model with the weights of two features, sparse, after `change` of its tensors.
template <class Change>
void write_sparse_model(const std::string& path, Change change) {
  const std::string bytes = serialize_model(small_model());
  const TensorMap dense = parse_safetensors(std::as_bytes(std::span(bytes)), "good");
  TensorMap sparse;
  for (const auto& [key, value] : dense.metadata()) sparse.put_text(key, value);
  for (const auto& [name, tensor] : dense.tensors()) {
    if (name != "linear.weights.dense") sparse.put_raw(name, tensor);
  }
  sparse.put<std::int64_t>("linear.weights.row_pointers", std::vector<std::int64_t>{0, 2, 2, 3, 3});
  sparse.put<FeatureId>("linear.weights.columns", std::vector<FeatureId>{1, 3, 2});
  sparse.put<float>("linear.weights.values", std::vector<float>{0.5F, -1, 2});
  change(sparse);
  write_safetensors(sparse, path);
}

TEST(ModelFile, sparse_weights_are_read_as_needed) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "model";
  write_sparse_model(path, [](TensorMap&) {});
  const ModelParts later = load_model(path), now = load_model(path, ReadWeights::now);
  EXPECT_EQ(use(later), use(now));
  EXPECT_EQ(serialize_model(later), serialize_model(now));

  const auto message = [&](std::vector<std::int64_t> pointers) {
    write_sparse_model(path, [&](TensorMap& tensors) {
      tensors.put<std::int64_t>("linear.weights.row_pointers", pointers);
    });
    return message_of<ModelFileError>([&] { load_model(path); });
  };
  EXPECT_THAT(message({}), HasSubstr("tensor linear.weights.row_pointers must start with 0"));
  EXPECT_THAT(message({1, 2, 2, 3, 3}),
              HasSubstr("tensor linear.weights.row_pointers must start with 0"));
  EXPECT_THAT(message({0, 2, 1, 3, 3}),
              HasSubstr("tensor linear.weights.row_pointers must not decrease"));
  EXPECT_THAT(message({0, 2, 2, 3, 4}),
              HasSubstr("tensor linear.weights.row_pointers ends with 4, but there are 3 weights"));
}

TEST(ModelFile, keeps_kernel_features_bit_for_bit) {
  const auto size = small_model().rows().num_features();
  for (const std::string kind : {"nystroem:", "fourier:"}) {
    const ModelParts model = model_with_kernel_features(concat(kind, size));
    EXPECT_EQ(format_version_of(model), 10U);
    const std::string bytes = serialize_model(model);
    const ModelParts read = parse(bytes);
    EXPECT_EQ(serialize_model(read), bytes);
    ASSERT_TRUE(read.kernel_features.has_value());
    EXPECT_EQ(read.num_raw_features(), 7U);
    const CsrMatrix X = small_rows();
    const CsrMatrix before = model.kernel_features->apply(X, Executor::serial(), nullptr);
    const CsrMatrix after = read.kernel_features->apply(X, Executor::serial(), nullptr);
    EXPECT_TRUE(std::ranges::equal(before.view().values(), after.view().values()));
  }
}

/// The error after `change` was made to the tensors of the file of a good model.
template <class Change>
std::string error_after(const ModelParts& model, Change change) {
  const std::string bytes = serialize_model(model);
  TensorMap tensors = parse_safetensors(std::as_bytes(std::span(bytes)), "good");
  change(tensors);
  try {
    parse(serialize_safetensors(tensors));
  } catch (const ModelFileError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

template <class Change>
std::string error_after(Change change) {
  return error_after(small_model(), change);
}

template <class Change>
std::string error_with_kernel_features(const std::string& choice, Change change) {
  return error_after(model_with_kernel_features(choice), change);
}

TEST(ModelFile, kernel_features_that_do_not_fit_are_refused) {
  const auto size = small_model().rows().num_features();
  const std::string nystroem = concat("nystroem:", size), fourier = concat("fourier:", size);
  EXPECT_THAT(error_with_kernel_features(concat("fourier:", size + 1), [](TensorMap&) {}),
              HasSubstr(concat("there are ", size + 1, " kernel features, but the predictor takes ",
                               size)));
  EXPECT_THAT(error_with_kernel_features(
                  fourier, [](TensorMap& t) { t.put_text("kernel_features.size", "65537"); }),
              HasSubstr("kernel_features.size"));
  EXPECT_THAT(error_with_kernel_features(
                  fourier, [](TensorMap& t) { t.put_text("kernel_features.gamma", "-1"); }),
              HasSubstr("gamma is -1, but must be > 0"));
  EXPECT_THAT(error_with_kernel_features(
                  fourier, [](TensorMap& t) { t.put_text("kernel_features.kind", "sigmoid"); }),
              HasSubstr("kernel_features.kind is 'sigmoid'"));
  EXPECT_THAT(error_with_kernel_features(nystroem,
                                         [](TensorMap& t) {
                                           t.put<float>("kernel_features.inverse_factor",
                                                        std::vector<float>{1});
                                         }),
              HasSubstr("the matrix has 1 numbers"));
  EXPECT_THAT(error_with_kernel_features(nystroem,
                                         [](TensorMap& t) {
                                           t.put<FeatureId>("kernel_features.support.columns",
                                                            std::vector<FeatureId>{9});
                                         }),
              HasSubstr("kernel_features.support"));
}

TEST(ModelFile, keeps_alternative_ids_of_labels) {
  ModelParts model = small_model();
  const std::uint64_t version = format_version_of(model);
  model.labels.add_alternative("other", 1);
  const ModelParts read = parse(serialize_model(model));
  EXPECT_EQ(read.labels.find("other"), 1U);
  EXPECT_EQ(serialize_model(read), serialize_model(model));
  EXPECT_EQ(format_version_of(model), version);  // older programs read it without them
  const std::string bytes = serialize_model(model);
  TensorMap damaged = parse_safetensors(std::as_bytes(std::span(bytes)), "f");
  damaged.put<LabelId>("labels.alternative_of", std::vector<LabelId>{99});
  EXPECT_THROW(parse(serialize_safetensors(damaged)), ModelFileError);
}

TEST(ModelFile, keeps_the_calibration) {
  ModelParts model = small_model();
  model.calibration = Calibration{0.375, 0, 120, 0.02, 0.25};
  const ModelParts read = parse(serialize_model(model));
  ASSERT_TRUE(read.calibration.has_value());
  EXPECT_EQ(read.calibration->temperature, 0.375);
  EXPECT_EQ(read.calibration->num_rows, 120);
  EXPECT_EQ(read.calibration->error, 0.02);
  EXPECT_EQ(read.calibration->error_before, 0.25);
}

TEST(ModelFile, a_temperature_that_is_not_positive_throws) {
  ModelParts model = small_model();
  model.calibration = Calibration{0, 0, 120, 0.02, 0.25};
  try {
    parse(serialize_model(model));
    FAIL();
  } catch (const ModelFileError& error) {
    EXPECT_THAT(error.what(), HasSubstr("calibration.temperature is 0, but must be > 0"));
  }
}

TEST(ModelFile, sparse_weights_thresholds_and_no_hierarchy_round_trip) {
  LinearPredictor::Parts parts = testing::small_tree_parts();
  std::vector<float> values(400, 0.0F);
  values[5] = 1.5F;
  parts.weights = WeightMatrix::dense(100, 4, values);
  parts.alpha.clear();
  parts.decision = ThresholdDecision{{0.1F, 0.2F, 0.3F, 0.4F}, true};
  ModelParts model = small_model(parts);
  model.has_hierarchy = false;
  model.hierarchy = LabelGraph::flat(4);
  model.report = {};
  const ModelParts read = parse(serialize_model(model));
  const auto& linear = dynamic_cast<const LinearPredictor&>(*read.predictor);
  EXPECT_FALSE(linear.parts().weights.is_dense());
  const auto& decision = std::get<ThresholdDecision>(linear.parts().decision.rule);
  EXPECT_THAT(decision.thresholds, ::testing::ElementsAre(0.1F, 0.2F, 0.3F, 0.4F));
  EXPECT_TRUE(decision.at_least_one);
  EXPECT_FALSE(read.has_hierarchy);
  EXPECT_TRUE(std::isnan(read.report.primal));
  EXPECT_EQ(use(read), use(model));
}

TEST(ModelFile, every_truncation_throws_model_file_error) {
  const std::string bytes = serialize_model(small_model());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(parse(bytes.substr(0, size)), ModelFileError) << size << " bytes";
  }
}

TEST(ModelFile, every_changed_byte_gives_a_model_that_works_or_model_file_error) {
  const std::string bytes = serialize_model(small_model());
  std::size_t refused = 0;
  for (std::size_t k = 0; k < bytes.size(); ++k) {
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string damaged = bytes;
      damaged[k] = static_cast<char>(damaged[k] ^ change);
      try {
        use(parse(damaged));
      } catch (const ModelFileError&) {
        ++refused;
      } catch (const NonFiniteScores&) {  // of weights that are finite, but large
      }
    }
  }
  EXPECT_GT(refused, bytes.size());  // the header alone is most of such a small file
}

TEST(ModelFile, every_way_to_be_wrong_is_named_with_the_path) {
  EXPECT_EQ(error_after([](TensorMap&) {}), "nothing was thrown");
  EXPECT_THAT(error_after([](TensorMap& t) { t.put_text("format", "other"); }),
              HasSubstr("small.model: this is not a model of Margrove"));
  EXPECT_THAT(error_after([](TensorMap& t) { t.put_text("format_version", "15"); }),
              HasSubstr("format version 15, but this program reads versions up to 14"));
  EXPECT_THAT(error_after([](TensorMap& t) { t.put_text("kind", "quantum"); }),
              HasSubstr("kind 'quantum'"));
  EXPECT_THAT(error_after([](TensorMap& t) { t.put_text("fit.stop", "bored"); }),
              HasSubstr("fit.stop is 'bored'"));
  EXPECT_THAT(error_after([](TensorMap& t) { t.put_text("fit.passes", "99999999999"); }),
              HasSubstr("too large"));
  EXPECT_THAT(error_after([](TensorMap& t) { t.put_text("fit.primal", "nan"); }),
              HasSubstr("fit.primal is 'nan'"));
  EXPECT_THAT(error_after([](TensorMap& t) { t.put_text("linear.decision", "coin"); }),
              HasSubstr("linear.decision is 'coin'"));
  EXPECT_THAT(error_after([](TensorMap& t) {
                t.put_strings("labels", std::vector<std::string>{"a", "a", "b", "c"});
              }),
              HasSubstr("small.model: "));
  EXPECT_THAT(error_after([](TensorMap& t) {
                t.put<std::uint32_t>("linear.candidates", std::vector<std::uint32_t>{9});
              }),
              HasSubstr("candidate is node 9"));
  EXPECT_THAT(
      error_after([](TensorMap& t) {
        t.put<std::uint32_t>("linear.graph.edges", std::vector<std::uint32_t>{0, 1, 1, 0}, {2, 2});
      }),
      HasSubstr("small.model: "));
  EXPECT_THAT(error_after([](TensorMap& t) {
                std::vector<float> values(16, 0.0F);
                values[3] = std::numeric_limits<float>::quiet_NaN();
                t.put<float>("linear.weights.dense", values, {4, 4});
              }),
              HasSubstr("tensor linear.weights.dense: value 3 must be a finite number"));
  EXPECT_THAT(error_after([](TensorMap& t) {
                t.put<double>("linear.alpha", std::vector<double>{1, 1, 1, -1});
              }),
              HasSubstr("linear.alpha must not be negative"));
}

}  // namespace
}  // namespace margrove
