// A type of output from its folder and a line of a registry: docs/adding_an_output.md.
#include <gtest/gtest.h>

#include "../../unit/outputs/model_checks.hpp"
#include "files.hpp"
#include "methods/structured_method.hpp"
#include "ordinal/ordinal_model.hpp"
#include "ordinal/ordinal_output.hpp"
#include "outputs/registry.hpp"

namespace margrove {
namespace {
using testing::message_of;

static_assert(StructuredModel<OrdinalModel>);

// The registry as it would be with one line more.
const std::vector<OutputType>& types_with_ordinal() {
  static const std::vector<OutputType> types = [] {
    std::vector<OutputType> all = output_types();
    all.push_back(ordinal_output());
    return all;
  }();
  return types;
}

// The grade is the number of thresholds 1, 2, 3 below 2 a - b.
std::string graded_lines(std::uint64_t seed) {
  Random random(seed);
  std::string lines;
  for (int i = 0; i < 60; ++i) {
    const double b = random.normal();
    const double position = 4 * random.uniform();
    const double a = (position + b) / 2;
    lines += concat(static_cast<int>(position), " ", a, " ", b, "\n");
  }
  return lines;
}

TEST(Ordinal, oracle_and_features_agree_with_the_list_of_all_grades) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "train", graded_lines(1));
  const GradedRows rows = read_grades(folder / "train");
  const OrdinalModel model(rows);
  Random random(2026);
  OrdinalModel::Workspace workspace;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto w = testing::random_weights(random, model.num_weights());
    std::vector<std::uint32_t> all(rows.names.size());
    for (std::uint32_t y = 0; y < all.size(); ++y) all[y] = y;
    const auto loss = [&](std::uint32_t y) {
      return std::pair(0.0, std::abs(static_cast<double>(y) - rows.grades[i]));
    };
    const auto reference = testing::enumerate(model, i, {w, 0.5}, all, loss);
    const auto oracle = model.oracle(i, {w, 0.5}, workspace);
    const auto best = reference.argmax(1.0, 1.0), got = oracle.argmax(1.0, 1.0);
    EXPECT_NEAR(got.m + got.g, best.m + best.g, 1e-5);
  }
}

TEST(Ordinal, learns_saves_loads_and_predicts_through_the_registry) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "train", graded_lines(1));
  testing::write_bytes(folder / "test", graded_lines(2));
  const Method method = structured_method(types_with_ordinal());
  for (const char* surrogate : {"margin", "slack", "log"}) {
    SCOPED_TRACE(surrogate);
    const auto run = method.start();
    set_options(run->options(), {{"model", "ordinal"}, {"surrogate", surrogate}, {"C", "10"}});
    const auto examples = method.read_examples({folder / "train"}, run->options(), nullptr);
    TrainingSet data;
    data.examples = examples.get();
    Executor executor(2);
    RunControl control;
    EXPECT_EQ(run->plan(data, executor, control).memory.parts().front().bytes, 12.0 * (2 + 3));
    const TrainResult result = run->train(data, executor, control);
    TensorMap tensors;
    result.predictor->save(tensors);
    const auto loaded = types_with_ordinal().back().load(tensors, 4);
    const auto& predictor = dynamic_cast<const FilePredictor&>(*loaded);
    const auto values = predictor.evaluate_file(folder / "test", executor, control).values;
    EXPECT_EQ(values[0].name, "mean_absolute_error");
    EXPECT_LT(values[0].value, 0.2);
    EXPECT_EQ(values[1].name, "accuracy");
    const std::string lines = predictor.predict_file(folder / "test", executor, control);
    EXPECT_EQ(lines.size(), 2U * 60);
  }
}

TEST(Ordinal, its_option_is_one_of_the_method_and_only_of_this_model) {
  const Method method = structured_method(types_with_ordinal());
  const auto run = method.start();
  const auto options = run->options().list();
  EXPECT_EQ(options.back().name, "num_grades");
  EXPECT_EQ(options.back().help.substr(0, 15), "ordinal: grades");
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "train", "0 1\n1 2\n");
  set_options(run->options(), {{"num_grades", "7"}});
  EXPECT_EQ(message_of<InvalidOption>(
                [&] { method.read_examples({folder / "train"}, run->options(), nullptr); }),
            "option num_grades is given, but model chain does not have it; ordinal does");
  set_options(run->options(), {{"model", "ordinal"}});
  EXPECT_EQ(method.read_examples({folder / "train"}, run->options(), nullptr)->codec().size(), 7U);
}

TEST(Ordinal, wrong_lines_are_named) {
  const testing::ScratchFolder folder;
  const auto error_of = [&](const char* text) {
    testing::write_bytes(folder / "f", text);
    const std::string message = message_of([&] { read_grades(folder / "f"); });
    return message.substr(folder.string().size() + 1);
  };
  EXPECT_EQ(error_of("\n"), "f: there is no example, but must be one");
  EXPECT_EQ(error_of("0 1\n-1 2\n"), "f:2:1: grade is '-1', but must be a whole number below 1000");
  EXPECT_EQ(error_of("0 x\n"), "f:1:3: feature is 'x', but must be a number");
  EXPECT_EQ(error_of("0 1\n1 2 3\n"),
            "f:2:6: the line has 2 features, but must have 1 like the first");
}

}  // namespace
}  // namespace margrove
