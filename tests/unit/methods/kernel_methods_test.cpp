#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "../kernel/testing.hpp"
#include "margrove/errors.hpp"
#include "methods/registry.hpp"
#include "model/kernel_predictor.hpp"

namespace margrove {
namespace {

using namespace testing_kernel;
using ::testing::HasSubstr;

struct Data {
  CsrMatrix X;
  LabelSets labels;
  LabelCodec codec;
  TrainingSet set() const {
    TrainingSet data;
    data.X = X;
    data.labels = &labels;
    data.codec = &codec;
    return data;
  }
};

/// Label ids 1 ... num_classes: id 0 is in the codec but not in the data.
Data data_of(std::size_t num_rows, std::uint32_t num_classes, std::uint64_t seed,
             bool non_negative = false) {
  auto rows = random_rows(num_rows, 6, num_classes, seed, non_negative);
  Data data{std::move(rows.X), {}, {}};
  for (std::uint32_t c = 0; c <= num_classes; ++c) data.codec.add(concat("class", c));
  for (const auto each : rows.class_of) {
    const LabelId label = each + 1;
    data.labels.append(std::span(&label, 1));
  }
  return data;
}

TrainResult train(const std::string& method, const Data& data, const OptionValues& options = {},
                  int threads = 1) {
  const auto run = find_method(method).start();
  set_options(run->options(), options);
  Executor executor(threads);
  RunControl control;
  return run->train(data.set(), executor, control);
}

const RowPredictor& rows_of(const TrainResult& result) {
  return dynamic_cast<const RowPredictor&>(*result.predictor);
}

double accuracy(const RowPredictor& predictor, const Data& data) {
  Executor executor(2);
  const auto predicted = predictor.predict(data.X, executor);
  std::size_t right = 0;
  for (std::size_t i = 0; i < data.labels.num_rows(); ++i) {
    right += predicted[i][0] == data.labels[i][0] ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(data.labels.num_rows());
}

class NetworkFile : public ::testing::Test {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }
  OptionValues with(const std::string& json) {
    std::ofstream(path_) << json;
    return {{"network", path_}};
  }
  std::string path_ = ::testing::TempDir() + "network_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".json";
};

const std::string kProducts = R"({
  "kernels": {"g": {"type": "gaussian", "widths": ["0.5 median", "median"]},
              "l": {"type": "linear", "centred": true, "columns": "1-3"},
              "q": {"type": "polynomial", "degree": 2, "scaling": "diagonal"}},
  "root": {"sum": ["l", {"product": [{"sum": ["g"]}, "q"], "name": "products", "p": 1.5}]}})";

TEST_F(NetworkFile, every_method_learns_two_and_four_classes) {
  for (const std::uint32_t num_classes : {2U, 4U}) {
    const auto data = data_of(160, num_classes, 3);
    const auto fresh = data_of(160, num_classes, 4);
    for (const Method& each : methods()) {
      const std::string& method = each.name;
      if (!each.start()->options().has("network")) continue;
      SCOPED_TRACE(method);
      const auto options = with(method == "spn-mkl" ? kProducts : R"({"shape": "one-layer",
          "kernels": {"g": {"type": "gaussian", "widths": ["0.5 median", "median"]}}})");
      const auto result = train(method, data, options);
      EXPECT_EQ(result.report.stop, Stop::converged);
      EXPECT_LE(result.report.relative_gap, 1e-2);
      EXPECT_GT(accuracy(rows_of(result), fresh), num_classes == 2 ? 0.75 : 0.4);
    }
  }
}

TEST_F(NetworkFile, saved_models_predict_the_same_bits) {
  const auto data = data_of(90, 3, 3);
  const auto result = train("spn-mkl", data, with(kProducts));
  TensorMap tensors;
  result.predictor->save(tensors);
  const auto loaded = load_predictor("kernel", tensors, 4);
  const auto& again = dynamic_cast<const RowPredictor&>(*loaded);
  std::vector<float> before(90 * 4), after(90 * 4);
  rows_of(result).scores(data.X, 0, 90, before);
  again.scores(data.X, 0, 90, after);
  EXPECT_EQ(before, after);
  EXPECT_EQ(before[0], -std::numeric_limits<float>::infinity());  // a label without rows
  const auto& kernel = dynamic_cast<const KernelPredictor&>(*loaded);
  EXPECT_EQ(kernel.lines().size(),
            dynamic_cast<const KernelPredictor&>(*result.predictor).lines().size());
  EXPECT_THAT(kernel.dot(), HasSubstr("digraph"));
  EXPECT_THAT(kernel.svg(), HasSubstr("<svg"));
}

TEST_F(NetworkFile, damaged_models_throw_with_the_tensor) {
  const auto data = data_of(60, 3, 3);
  const auto result = train("spn-mkl", data, with(kProducts));
  const auto message = [&](const auto& damage) {
    TensorMap tensors;
    result.predictor->save(tensors);
    damage(tensors);
    try {
      load_predictor("kernel", tensors, 4);
    } catch (const ModelFileError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(message([](TensorMap& t) { t.put_text("kernel.network", "{"); }),
              HasSubstr("kernel.network: not JSON"));
  EXPECT_THAT(message([](TensorMap& t) {
                t.put<std::uint64_t>("kernel.paths.pointers", std::vector<std::uint64_t>{0, 99});
              }),
              HasSubstr("kernel.paths.pointers must run from 0"));
  EXPECT_THAT(message([](TensorMap& t) {
                t.put<double>("kernel.biases", std::vector<double>{0, 0});
              }),
              HasSubstr("kernel.u"));
  EXPECT_THAT(message([](TensorMap& t) {
                t.put<LabelId>("kernel.label_of_class", std::vector<LabelId>{0, 2, 1});
              }),
              HasSubstr("kernel.label_of_class[2] is 1"));
  EXPECT_THAT(message([](TensorMap& t) { t.put_text("kernel.num_features", "2"); }),
              HasSubstr("kernel."));
  EXPECT_THAT(message([](TensorMap& t) {
                t.put_strings("kernel.names", std::vector<std::string>{"nobody"});
              }),
              HasSubstr("kernel."));
}

TEST_F(NetworkFile, explanations_add_up_to_the_score_of_every_class) {
  for (const std::uint32_t num_classes : {2U, 3U}) {
    const auto data = data_of(90, num_classes, 3);
    const auto result = train("spn-mkl", data, with(kProducts));
    std::vector<float> scores(90 * (num_classes + 1));
    rows_of(result).scores(data.X, 0, 90, scores);
    for (LabelId label = 1; label <= num_classes; ++label) {
      const auto whole = rows_of(result).explain(data.X.row(7), label, 99);
      EXPECT_NEAR(whole.score, scores[7 * (num_classes + 1) + label], 1e-5);
      double sum = 0;
      for (const auto& source : whole.sources) {
        sum += source.score;
        double paths = source.name == "(intercept)" ? source.score : 0.0;
        for (const auto& path : source.strongest) paths += path.score;
        EXPECT_NEAR(paths, source.score, 1e-9);
      }
      EXPECT_NEAR(sum, whole.score, 1e-9);
      ASSERT_GE(whole.sources.size(), 2U);
      EXPECT_EQ(whole.sources.back().name, "(intercept)");
      const auto cut = rows_of(result).explain(data.X.row(7), label, 1);
      for (std::size_t s = 0; s + 1 < whole.sources.size(); ++s) {
        ASSERT_EQ(cut.sources[s].strongest.size(), 1U);
        EXPECT_EQ(cut.sources[s].strongest[0].name, whole.sources[s].strongest[0].name);
      }
    }
    EXPECT_THROW(rows_of(result).explain(data.X.row(7), 0, 1), InvalidInput);
  }
}

TEST_F(NetworkFile, views_are_what_kernels_may_name_and_are_groups_without_a_network) {
  auto data = data_of(90, 2, 3);
  const std::vector<View> views{{"left", 0, 2}, {"right", 2, 6}};
  auto set = data.set();
  set.views = views;
  const auto run = find_method("spn-mkl").start();
  Executor executor(1);
  RunControl control;
  const auto groups = run->train(set, executor, control);
  const auto& network = dynamic_cast<const KernelPredictor&>(*groups.predictor).network();
  EXPECT_EQ(network.kernels().size(), 10U);
  EXPECT_EQ(network.kernels()[7].name, "right/gaussian/1");
  EXPECT_EQ(network.kernels()[7].columns, (std::vector<ColumnRange>{{2, 6}}));
  const auto sources = rows_of(groups).explain(data.X.row(0), 1, 1).sources;
  ASSERT_EQ(sources.size(), 3U);
  EXPECT_THAT(sources[0].name + sources[1].name, HasSubstr("view right"));
  set_options(run->options(), {{"network", R"({"kernels":
      {"k": {"type": "linear", "view": "right"}}, "shape": "one-layer"})"}});
  const auto one = run->train(set, executor, control);
  EXPECT_EQ(dynamic_cast<const KernelPredictor&>(*one.predictor).network().kernels()[0].columns,
            (std::vector<ColumnRange>{{2, 6}}));
}

TEST_F(NetworkFile, same_bits_on_any_number_of_threads) {
  const auto data = data_of(100, 3, 5);
  const auto options = with(kProducts);
  std::vector<std::vector<float>> scores;
  for (const int threads : {1, 2, 5}) {
    const auto result = train("spn-mkl", data, options, threads);
    scores.emplace_back(100 * 4);
    rows_of(result).scores(data.X, 0, 100, scores.back());
  }
  EXPECT_EQ(scores[0], scores[1]);
  EXPECT_EQ(scores[0], scores[2]);
}

TEST_F(NetworkFile, centring_changes_the_training_but_test_scores_agree_with_it) {
  // With a centred kernel alone, the score of a training row is sum_j u_j K_centred + b.
  const auto data = data_of(80, 2, 6);
  const auto centred = train("average-mkl", data, with(R"({"shape": "one-layer",
      "kernels": {"g": {"type": "gaussian", "centred": true, "scaling": "none"}}})"));
  const auto plain = train("average-mkl", data, with(R"({"shape": "one-layer",
      "kernels": {"g": {"type": "gaussian", "scaling": "none"}}})"));
  // A machine with an intercept does not see centring at all.
  std::vector<float> a(80 * 3), b(80 * 3);
  rows_of(centred).scores(data.X, 0, 80, a);
  rows_of(plain).scores(data.X, 0, 80, b);
  for (std::size_t i = 0; i < 80; ++i) EXPECT_NEAR(a[3 * i + 2], b[3 * i + 2], 5e-3);
}

TEST_F(NetworkFile, columns_beyond_training_are_ignored) {
  const auto data = data_of(60, 2, 6);
  const auto result = train("simple-mkl", data);
  CsrMatrix wider = data.X;
  wider.set_num_columns(9);
  wider.append_row(std::vector<FeatureId>{0, 8}, std::vector<float>{1, 100});
  CsrMatrix narrow = data.X;
  narrow.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
  std::vector<float> a(61 * 3), b(61 * 3);
  rows_of(result).scores(wider, 0, 61, a);
  rows_of(result).scores(narrow, 0, 61, b);
  EXPECT_EQ(a, b);
}

TEST_F(NetworkFile, wrong_input_throws) {
  const auto data = data_of(60, 2, 6);
  const auto message = [&](const std::string& method, const Data& rows,
                           const OptionValues& options) {
    try {
      train(method, rows, options);
    } catch (const InvalidInput& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(message("spn-mkl", data, {{"network", "/no/such/file"}}),
              HasSubstr("cannot be read"));
  EXPECT_THAT(message("spn-mkl", data, {{"widths", "1,x"}}), HasSubstr("widths"));
  EXPECT_THAT(message("lp-mkl", data, {{"p", "0.5"}}), HasSubstr("option p"));
  EXPECT_THAT(
      message("spn-mkl", data, with(R"({"kernels": {"a": {"type": "linear", "centred": true},
      "b": {"type": "cosine"}}, "root": {"sum": [{"product": ["a", "b"]}]}})")),
      HasSubstr("kernel a: is centred and multiplied"));
  auto options = with(kProducts);
  options.emplace_back("max_paths", "2");
  EXPECT_THAT(message("spn-mkl", data, options), HasSubstr("has 3 paths, but must have at most 2"));
  auto several = data;
  several.labels = {};
  for (std::size_t i = 0; i < 60; ++i) several.labels.append(std::vector<LabelId>{1, 2});
  EXPECT_THAT(message("simple-mkl", several, {}), HasSubstr("row 0 of training data has 2 labels"));
  several.labels = {};
  for (std::size_t i = 0; i < 60; ++i) several.labels.append(std::vector<LabelId>{1});
  EXPECT_THAT(message("simple-mkl", several, {}),
              HasSubstr("has rows of 1 class, but must have at least 2"));
  const std::vector<double> weights(60, 1.0);
  auto weighted = data.set();
  weighted.row_weights = weights;
  Executor executor(1);
  RunControl control;
  EXPECT_THROW(find_method("lp-mkl").start()->train(weighted, executor, control), InvalidInput);
  const auto run = find_method("spn-mkl").start();
  EXPECT_GT(run->plan(data.set(), executor, control).memory.total(), 60U * 60 * 4);
}

}  // namespace
}  // namespace margrove
