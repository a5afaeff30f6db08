// Every type of output through the registry alone.
#include "outputs/registry.hpp"

#include <gtest/gtest.h>

#include <set>

#include "files.hpp"
#include "methods/registry.hpp"

namespace margrove {
namespace {
using testing::message_of;

/// Three labels, each with a feature of its own.
struct TinyRows {
  CsrMatrix X{3};
  LabelSets labels;
  LabelCodec codec{{"a", "b", "c"}};

  TinyRows() {
    for (LabelId l = 0; l < 9; ++l) {
      X.append_row(std::vector<FeatureId>{l % 3}, std::vector<float>{1.0F});
      labels.append(std::vector<LabelId>{l % 3});
    }
  }
  TrainingSet training_set() const {
    TrainingSet data;
    data.X = X;
    data.labels = &labels;
    data.codec = &codec;
    return data;
  }
};

/// Examples of a type that reads files, which predict_file() writes in the same order.
std::string tiny_file(const OutputType& type) {
  if (type.file_format == "CoNLL column") return "Anna N\nsees V\n\nBob N\nleft V\n\n";
  if (type.file_format == "CoNLL-U") {
    return "1\tdogs\t_\tNOUN\tN\t_\t2\tnsubj\t_\t_\n2\tbark\t_\tVERB\tV\t_\t0\troot\t_\t_\n\n";
  }
  ADD_FAILURE() << "no example for " << type.name << ": add one here";
  return {};
}

std::string tiny_predictions(const OutputType& type) {
  return type.file_format == "CoNLL-U" ? "2\tnsubj\n0\troot\n\n" : "N\nV\n\nN\nV\n\n";
}

std::unique_ptr<MethodRun> start(const OutputType& type, const OptionValues& more = {}) {
  auto run = find_method("structured").start();
  OptionValues values{{"model", type.name}, {"C", "10"}};
  values.insert(values.end(), more.begin(), more.end());
  set_options(run->options(), values);
  return run;
}

std::unique_ptr<Predictor> reloaded(const Predictor& predictor, std::uint32_t num_labels) {
  TensorMap tensors;
  predictor.save(tensors);
  return load_predictor(std::string(predictor.kind()), tensors, num_labels);
}

TEST(OutputRegistry, names_kinds_and_options_are_unique) {
  std::set<std::string> names, kinds, options;
  StructuredOptions shared;
  for (const OptionInfo& info : OptionTable(shared).list()) options.insert(info.name);
  for (const OutputType& type : output_types()) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
    EXPECT_TRUE(kinds.insert(type.kind).second) << type.kind;
    EXPECT_EQ(type.file_format.empty(), type.form == ExampleForm::rows) << type.name;
    const auto run = type.start();
    for (const OptionInfo& info : run->own_options().list()) {
      EXPECT_TRUE(options.insert(info.name).second) << type.name << ": " << info.name;
    }
  }
}

TEST(OutputRegistry, the_method_lists_the_options_of_each_type_under_its_name) {
  const auto run = find_method("structured").start();
  for (const OutputType& type : output_types()) {
    const auto own = type.start();
    for (const OptionInfo& info : own->own_options().list()) {
      bool found = false;
      for (const OptionInfo& listed : run->options().list()) {
        found |= listed.name == info.name && listed.help == type.name + ": " + info.help;
      }
      EXPECT_TRUE(found) << info.name;
    }
  }
}

TEST(OutputRegistry, every_type_of_rows_trains_saves_loads_and_predicts) {
  const TinyRows rows;
  for (const OutputType& type : output_types()) {
    if (type.form != ExampleForm::rows) continue;
    SCOPED_TRACE(type.name);
    const auto run = start(type);
    const Method& method = find_method("structured");
    EXPECT_EQ(method.read_examples({"no file"}, run->options(), nullptr), nullptr);
    Executor executor(1);
    RunControl control;
    EXPECT_GT(run->plan(rows.training_set(), executor, control).memory.total(), 0U);
    const TrainResult result = run->train(rows.training_set(), executor, control);
    EXPECT_EQ(result.predictor->kind(), type.kind);
    const auto loaded = reloaded(*result.predictor, 3);
    const auto& predictor = dynamic_cast<const RowPredictor&>(*loaded);
    const LabelSets predicted = predictor.predict(rows.X, executor);
    for (std::size_t i = 0; i < rows.X.num_rows(); ++i) {
      ASSERT_EQ(predicted[i].size(), 1U);
      EXPECT_EQ(predicted[i][0], rows.labels[i][0]);
    }
  }
}

TEST(OutputRegistry, every_type_of_files_reads_trains_saves_loads_and_predicts) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "examples";
  for (const OutputType& type : output_types()) {
    if (type.form == ExampleForm::rows) continue;
    SCOPED_TRACE(type.name);
    testing::write_bytes(path, tiny_file(type));
    const auto run = start(type);
    const auto examples = find_method("structured").read_examples({path}, run->options(), nullptr);
    ASSERT_NE(examples, nullptr);
    TrainingSet data;
    data.examples = examples.get();
    Executor executor(1);
    RunControl control;
    EXPECT_GT(run->plan(data, executor, control).memory.total(), 0U);
    const TrainResult result = run->train(data, executor, control);
    EXPECT_EQ(result.predictor->kind(), type.kind);
    const auto loaded =
        reloaded(*result.predictor, static_cast<std::uint32_t>(examples->codec().size()));
    const auto& predictor = dynamic_cast<const FilePredictor&>(*loaded);
    EXPECT_EQ(predictor.predict_file(path, executor, control), tiny_predictions(type));
    for (const auto& [name, value] : predictor.evaluate_file(path, executor, control).values) {
      EXPECT_EQ(value, 1.0) << name;
    }
  }
}

TEST(OutputRegistry, an_option_of_another_type_is_an_error_even_at_its_default) {
  const Method& method = find_method("structured");
  const TinyRows rows;
  Executor executor(1);
  RunControl control;
  for (const OutputType& type : output_types()) {
    for (const OutputType& other : output_types()) {
      if (other.name == type.name) continue;
      const auto others = other.start();
      for (const OptionInfo& info : others->own_options().list()) {
        const auto run = start(type, {{info.name, info.default_value}});
        const std::string expected = concat("option ", info.name, " is given, but model ",
                                            type.name, " does not have it; ", other.name, " does");
        EXPECT_EQ(message_of<InvalidOption>(
                      [&] { method.read_examples({"no file"}, run->options(), nullptr); }),
                  expected);
        EXPECT_EQ(
            message_of<InvalidOption>([&] { run->train(rows.training_set(), executor, control); }),
            expected);
      }
    }
  }
}

TEST(OutputRegistry, examples_of_another_form_are_an_error) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "examples";
  const TinyRows rows;
  Executor executor(1);
  RunControl control;
  for (const OutputType& type : output_types()) {
    const auto run = start(type);
    if (type.form == ExampleForm::rows) {
      EXPECT_EQ(message_of<InvalidOption>([&] { run->train({}, executor, control); }),
                concat("option model is '", type.name, "', which is trained on rows with labels"));
      continue;
    }
    EXPECT_EQ(message_of<InvalidOption>([&] { run->plan(rows.training_set(), executor, control); }),
              concat("option model is '", type.name,
                     "', which is trained on examples of its own file format, not on rows"));
    testing::write_bytes(path, tiny_file(type));
    EXPECT_EQ(message_of<InvalidOption>([&] {
                find_method("structured").read_examples({path, path}, run->options(), nullptr);
              }),
              "method structured reads one file, but 2 are given");
  }
}

TEST(OutputRegistry, an_unknown_type_is_named_with_those_there_are) {
  const auto run = find_method("structured").start();
  EXPECT_EQ(message_of<InvalidOption>([&] { run->options().set("model", "lattice"); }),
            "option model is 'lattice', but must be one of chain, multilabel-field, hierarchy, "
            "dependency");
}

}  // namespace
}  // namespace margrove
