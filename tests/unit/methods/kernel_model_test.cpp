// Kernel features of a learned kernel: option kernel_model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "../kernel/testing.hpp"
#include "files.hpp"
#include "io/model_file.hpp"
#include "io/safetensors.hpp"
#include "margrove/margrove.hpp"
#include "methods/prepared_rows.hpp"
#include "model/kernel_predictor.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

constexpr std::uint32_t kColumns = 6;
const std::string kNetwork = R"({"kernels": {
    "g": {"type": "gaussian", "columns": "1-3", "widths": ["0.5 median", "median"]},
    "p": {"type": "polynomial", "degree": 2, "columns": "4-6"}},
  "root": {"sum": [{"product": [{"sum": ["g"]}, {"sum": ["p"]}]}, "p"]}})";

Examples rows(std::size_t num_rows, std::uint64_t seed, std::uint32_t num_columns = kColumns) {
  auto made = testing_kernel::random_rows(num_rows, num_columns, 3, seed, true);
  Examples rows;
  rows.source = "rows";
  rows.X = std::move(made.X);
  for (const std::uint32_t label : made.class_of) {
    rows.labels.append(std::vector{rows.codec.add(concat("c", label))});
  }
  return rows;
}

Model learned(const std::string& network = kNetwork, ColumnScale scale = ColumnScale::max_abs) {
  return train(SpnMklOptions{.C = 1, .network = network},
               {.rows = rows(60, 1), .column_scale = scale});
}

TrainingData data_of(const Model& model, const std::string& choice = "nystroem:40") {
  return {.rows = rows(80, 2), .kernel_features = choice, .kernel_model = &model};
}

PreprocessingOptions options_of(const Model& model, const std::string& choice) {
  PreprocessingOptions options;
  options.kernel_features = KernelFeatures::Choice::parse(choice);
  options.kernel_model = {std::shared_ptr<void>(), &model.parts()};
  options.kernel_model_name = "learned.model";
  return options;
}

/// The largest difference of the products of features from the values of the learned kernel.
double difference(const Model& model, const std::string& choice) {
  const Examples raw = rows(80, 2);
  const PreparedRows prepared = prepare_rows(raw, nullptr, options_of(model, choice));
  const CsrMatrix X = preprocess(model.parts(), raw);
  const auto values =
      model.parts().predictor->kernels()->classifiers().values(X, X, Executor::serial());
  double largest = 0;
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    for (std::size_t j = 0; j < X.num_rows(); ++j) {
      const auto a = prepared.X.row(i).values, b = prepared.X.row(j).values;
      double product = 0;
      for (std::size_t k = 0; k < a.size(); ++k) product += double{a[k]} * double{b[k]};
      largest = std::max(largest, std::abs(product - double{values[i * X.num_rows() + j]}));
    }
  }
  return largest;
}

TEST(KernelModel, features_of_all_rows_have_the_learned_kernel_as_product) {
  const Model model = learned();
  EXPECT_LT(difference(model, "nystroem:1000"), 2e-3);
  EXPECT_GT(difference(model, "nystroem:4"), 0.1);
  EXPECT_LT(difference(model, "nystroem:40"), difference(model, "nystroem:4"));
}

TEST(KernelModel, every_kernel_method_gives_one) {
  const TrainingData data{.rows = rows(60, 1)};
  const std::vector<Model> models = [&] {
    std::vector<Model> all;
    all.push_back(train(AverageMklOptions{}, data));
    all.push_back(train(LpMklOptions{}, data));
    all.push_back(train(SimpleMklOptions{}, data));
    return all;
  }();
  for (const Model& model : models) {
    EXPECT_LT(difference(model, "nystroem:1000"), 2e-3) << model.method();
  }
}

TEST(KernelModel, the_new_model_has_all_that_it_needs) {
  const Examples test = rows(30, 3);
  std::string bytes;
  std::vector<float> scores;
  {
    const Model model = learned();
    const Model made = train(FlatSvmOptions{}, data_of(model));
    scores = made.scores(test);
    bytes = serialize_model(made.parts());
    EXPECT_EQ(format_version_of(made.parts()), 11U);
    EXPECT_EQ(made.parts().preprocessing.kind, Preprocessing::Kind::scale);
    EXPECT_EQ(made.parts().preprocessing.spread, model.parts().preprocessing.spread);
  }
  const Model read(
      std::make_unique<ModelParts>(parse_model(std::as_bytes(std::span(bytes)), "read")));
  EXPECT_EQ(read.scores(test), scores);
  EXPECT_EQ(serialize_model(read.parts()), bytes);
  // The kernel of the new model can be taken in turn.
  const Model again = train(FlatSvmOptions{}, data_of(read));
  EXPECT_EQ(again.scores(test), scores);
}

TEST(KernelModel, the_result_does_not_depend_on_threads) {
  const Model model = learned();
  Executor threads(3);
  const Model one = train(FlatSvmOptions{}, data_of(model));
  const Model three = train(FlatSvmOptions{}, data_of(model), threads);
  EXPECT_EQ(serialize_model(one.parts()), serialize_model(three.parts()));
}

TEST(KernelModel, rows_of_weight_two_are_rows_twice) {
  const Model model = learned();
  TrainingData twice = data_of(model, "nystroem:1000"), weighted = data_of(model, "nystroem:1000");
  const SparseRow first = weighted.rows.X.row(0);
  const std::vector<FeatureId> columns(first.columns.begin(), first.columns.end());
  const std::vector<float> values(first.values.begin(), first.values.end());
  twice.rows.X.append_row(columns, values);
  twice.rows.labels.append(std::vector{weighted.rows.labels[0][0]});
  twice.row_weights.assign(twice.rows.num_rows(), 1.0);
  weighted.row_weights.assign(weighted.rows.num_rows(), 1.0);
  weighted.row_weights[0] = 2;
  const Examples test = rows(30, 3);
  EXPECT_EQ(train(FlatSvmOptions{.C = 1}, twice).scores(test),
            train(FlatSvmOptions{.C = 1}, weighted).scores(test));
}

TEST(KernelModel, texts_get_the_terms_of_the_model) {
  Examples texts;
  texts.kind = RowKind::documents;
  texts.source = "texts";
  for (const auto& [label, text] :
       std::vector<std::pair<std::string, std::string>>{{"fruit", "red apple"},
                                                        {"car", "red car"},
                                                        {"fruit", "green pear"},
                                                        {"car", "old bus"}}) {
    texts.documents.push_back(text);
    texts.labels.append(std::vector{texts.codec.add(label)});
  }
  const Model model = train(AverageMklOptions{}, {.rows = texts});
  const Model made = train(
      FlatSvmOptions{}, {.rows = texts, .kernel_features = "nystroem:4", .kernel_model = &model});
  EXPECT_EQ(made.parts().preprocessing.vocabulary, model.parts().preprocessing.vocabulary);
  EXPECT_EQ(made.evaluate(texts, {"accuracy"}).front().second, 1);
  EXPECT_THAT(message_of([&] { train(FlatSvmOptions{}, data_of(model)); }),
              HasSubstr("the rows are numbers, but kernel_model given takes texts"));
}

TEST(KernelModel, options_that_are_not_for_it_are_refused) {
  const Model model = learned();
  const auto message = [&](auto change) {
    TrainingData data = data_of(model);
    change(data);
    return message_of<InvalidOption>([&] { train(FlatSvmOptions{}, data); });
  };
  EXPECT_EQ(
      message([](TrainingData& data) { data.kernel_features = "fourier:9"; }),
      "option kernel_model is given, but kernel_features is fourier:9; it must be nystroem:N");
  EXPECT_EQ(message([](TrainingData& data) { data.kernel_features = "none"; }),
            "option kernel_model is given, but kernel_features is none; it must be nystroem:N");
  EXPECT_EQ(message([](TrainingData& data) { data.kernel_gamma = 2; }),
            "option kernel_gamma is 2, but is for a Gaussian kernel, and the kernel is that of "
            "kernel_model given");
  const std::string own = " is given, but rows get the preprocessing of kernel_model given";
  EXPECT_EQ(message([](TrainingData& data) { data.column_scale = ColumnScale::none; }),
            "option scale" + own);
  EXPECT_EQ(message([](TrainingData& data) { data.scaling = RowScaling::unit_norm; }),
            "option normalize" + own);
  EXPECT_EQ(message([](TrainingData& data) { data.tfidf.max_terms = 3; }),
            "option max_terms" + own);
  EXPECT_EQ(message([](TrainingData& data) { data.tfidf.stop_words = {"a"}; }),
            "option stop_words" + own);
}

TEST(KernelModel, models_without_a_kernel_of_any_rows_are_refused) {
  const auto message = [](const Model& model) {
    return message_of([&] { require_kernel_model(options_of(model, "nystroem:9")); });
  };
  const TrainingData data{.rows = rows(60, 1)};
  const std::string needs =
      ", but option kernel_model needs a model of average-mkl, lp-mkl, simple-mkl or spn-mkl, or "
      "one with kernel features of such a model";
  EXPECT_EQ(message(train(FlatSvmOptions{}, data)),
            "learned.model: its method is flat-svm" + needs);
  EXPECT_EQ(message(train(KernelRidgeOptions{}, data)),
            "learned.model: its method is kernel-ridge" + needs);
  TrainingData gaussian = data;
  gaussian.kernel_features = "nystroem:9";
  EXPECT_EQ(message(train(FlatSvmOptions{}, gaussian)),
            "learned.model: its method is flat-svm with features of a Gaussian kernel" + needs);
  const std::string known = ", so that its values are known with training rows only";
  EXPECT_EQ(message(learned(R"({"kernels": {"g": {"type": "gaussian", "centred": true}},
                                "shape": "one-layer"})")),
            "learned.model: kernel values: kernel g is centred" + known);
  Model none = train(SpnMklOptions{.C = 1e-9}, data);  // so small that all weights are 0
  EXPECT_EQ(message(none), "learned.model: all weights of its kernels are 0");
}

TEST(KernelModel, rows_that_are_not_as_those_of_the_model_are_refused) {
  const Model model = learned();
  const auto message = [&](auto change) {
    Examples raw = rows(80, 2);
    change(raw);
    return message_of([&] { prepare_rows(raw, nullptr, options_of(model, "nystroem:9")); });
  };
  EXPECT_EQ(message([](Examples& raw) { raw = rows(80, 2, kColumns + 1); }),
            "rows: the rows have 7 columns, but kernel_model learned.model takes 6");
  EXPECT_EQ(message([](Examples& raw) {
              raw.views = {{"a", 0, 3}, {"b", 3, 6}};
            }),
            "rows: the rows have other views than those of kernel_model learned.model");
  EXPECT_EQ(message([](Examples& raw) {
              raw.X = CsrMatrix(kColumns);
              raw.labels = {};
            }),
            "rows: kernel features: the number of rows is 0, but must be > 0");
}

TEST(KernelModel, negative_values_are_named_with_their_row) {
  const Model model = train(AverageMklOptions{.network = R"({"kernels": {"chi": {"type": "chi2"}},
                                             "shape": "one-layer"})"},
                            {.rows = rows(60, 1), .column_scale = ColumnScale::none});
  Examples raw = rows(1500, 2);  // more than are done at once
  raw.X.append_row(std::vector<FeatureId>{1}, std::vector<float>{-2});
  raw.labels.append(std::vector<LabelId>{0});
  EXPECT_EQ(message_of([&] { prepare_rows(raw, nullptr, options_of(model, "nystroem:9")); }),
            "rows: kernel chi: row 1500 has the value -2, but must be >= 0");
}

TEST(KernelModel, a_kernel_that_is_not_positive_semidefinite_is_refused) {
  testing::ScratchFolder folder;
  const std::string table = folder / "table";
  testing::write_bytes(table, "0 9\n9 0\n");
  Examples raw;
  raw.source = "rows";
  for (int i = 0; i < 2; ++i) {
    raw.X.append_row(std::vector<FeatureId>{0}, std::vector<float>{static_cast<float>(i + 1)});
    raw.labels.append(std::vector{raw.codec.add(concat(i))});
  }
  const auto message = [&](const std::string& values) {
    testing::write_bytes(table, values);
    const Model model =
        train(AverageMklOptions{.network =
                                    concat(R"({"kernels": {"t": {"type": "precomputed", "file": ")",
                                           table, R"(", "columns": "1", "scaling": "none"}},
                                             "shape": "one-layer"})")},
              {.rows = raw, .column_scale = ColumnScale::none});
    return message_of([&] { prepare_rows(raw, nullptr, options_of(model, "nystroem:2")); });
  };
  EXPECT_EQ(message("1 9\n9 1\n"),
            "rows: kernel features: the learned kernel is not positive semidefinite on the "
            "landmarks");
  EXPECT_EQ(message("0 9\n9 0\n"),
            "rows: kernel features: the mean of K(z, z) is 0 over the landmarks z, but must be a "
            "number > 0");
}

TEST(KernelModel, damaged_files_are_refused) {
  const Model model = learned();
  const std::string bytes = serialize_model(train(FlatSvmOptions{}, data_of(model)).parts());
  const auto error = [&](auto change) {
    TensorMap tensors = parse_safetensors(std::as_bytes(std::span(bytes)), "good");
    change(tensors);
    const std::string changed = serialize_safetensors(tensors);
    return message_of<ModelFileError>(
        [&] { parse_model(std::as_bytes(std::span(changed)), "damaged"); });
  };
  EXPECT_THAT(error([](TensorMap& t) { t.put_text("kernel_features.kind", "fourier"); }),
              HasSubstr("kernel_features.kind must be nystroem with a learned kernel"));
  EXPECT_THAT(error([](TensorMap& t) {
                t.put<double>("kernel_features.kernel.paths.weights", std::vector<double>{1});
              }),
              HasSubstr("kernel_features.kernel.paths.weights"));
  EXPECT_THAT(error([](TensorMap& t) {
                t.put<std::uint64_t>("kernel_features.kernel.paths.pointers",
                                     std::vector<std::uint64_t>{0});
                t.put<std::uint32_t>("kernel_features.kernel.paths.kernels",
                                     std::vector<std::uint32_t>{});
                t.put<double>("kernel_features.kernel.paths.weights", std::vector<double>{});
              }),
              HasSubstr("a learned kernel needs landmarks and weights"));
}

}  // namespace
}  // namespace margrove
