#include "io/shards.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <utility>

#include "files.hpp"
#include "io/model_file.hpp"
#include "io/safetensors.hpp"
#include "io/training_tensors.hpp"
#include "methods/registry.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

struct Options {
  std::string method;
  OptionValues values = {};
  bool is_tree = true;
};

/// A training in a folder, and the bytes of the model that is trained at once.
struct Divided {
  std::string whole;
  std::string folder;
};

Divided divide(const Options& options, std::size_t num_shards, const std::string& folder,
               std::uint64_t seed = 1) {
  const Method& method = find_method(options.method);
  const auto run = method.start();
  set_options(run->options(), options.values);
  Hierarchy hierarchy = testing::groups();
  if (!options.is_tree) {
    hierarchy.edges.push_back({*hierarchy.codec.find("b"), *hierarchy.codec.find("a1")});
  }
  hierarchy.codec.add_alternative("a one", *hierarchy.codec.find("a1"));
  PreparedRows prepared = prepare_rows(testing::grouped_rows(120, seed), &hierarchy, {});
  prepared.labelled.names.assign(prepared.labelled.codec.size(), "a name");
  Executor executor(1);
  RunControl control;
  const TrainingSet data = prepared.training_set();
  const Plan plan = plan_training(method, *run, data, executor, control);
  plan_shards(method, *run, plan, data, prepared.preprocessing, num_shards, folder);
  const ModelParts model =
      train_model(method, *run, plan, data, prepared.preprocessing, executor, control);
  return {serialize_model(model), folder};
}

void train_all(const ShardedTraining& training, int threads) {
  Executor executor(threads);
  RunControl control;
  for (std::size_t s = training.num_shards(); s-- > 0;) training.train(s, executor, control);
}

std::string merged(const ShardedTraining& training) {
  Executor executor(2);
  RunControl control;
  return serialize_model(training.merge(executor, control));
}

TEST(Shards, make_the_model_of_one_training) {
  const testing::ScratchFolder scratch;
  int k = 0;
  for (const Options& options :
       {Options{"flat-svm"}, Options{"flat-svm", {{"intercept_penalty", "0"}}},
        Options{"flat-lr", {{"decision", "scut"}}}, Options{"top-down-svm"},
        Options{"top-down-svm", {{"beam", "0"}, {"decision", "scut"}}, /*is_tree=*/false},
        Options{"level-svm", {{"multiclass", "ovr"}}}}) {
    for (const std::size_t num_shards : {1U, 3U, 1000U}) {
      const Divided divided = divide(options, num_shards, scratch / concat("work", k++));
      const ShardedTraining training(divided.folder);
      EXPECT_LE(training.num_shards(), num_shards);
      train_all(training, 1 + static_cast<int>(num_shards % 2));
      EXPECT_EQ(merged(training), divided.whole) << options.method;
    }
  }
}

TEST(Shards, are_missing_then_finished_and_not_trained_again) {
  const testing::ScratchFolder scratch;
  const Divided divided = divide({"flat-svm", {{"decision", "scut"}}}, 3, scratch / "work");
  const ShardedTraining training(divided.folder);
  ASSERT_GE(training.num_shards(), 2U);
  EXPECT_EQ(training.state(0), ShardState::missing);
  EXPECT_THAT(message_of([&] { merged(training); }), HasSubstr("shards are not trained: 0, 1"));
  train_all(training, 1);
  EXPECT_EQ(training.state(0), ShardState::finished);
  const ShardSummary summary = training.summary(0);
  EXPECT_GT(summary.num_labels, 0U);
  EXPECT_GE(summary.primal, summary.dual);
  divide({"flat-svm", {{"decision", "scut"}}}, 3, divided.folder);  // the same training again
  EXPECT_EQ(ShardedTraining(divided.folder).state(0), ShardState::finished);
}

TEST(Shards, that_are_damaged_are_named_and_trained_again) {
  const testing::ScratchFolder scratch;
  const Divided divided = divide({"flat-svm"}, 1, scratch / "work");
  const ShardedTraining training(divided.folder);
  train_all(training, 1);
  const std::string file = divided.folder + "/shard-00000.safetensors";
  std::string bytes = testing::read_bytes(file);
  bytes[bytes.size() - 3] = static_cast<char>(bytes[bytes.size() - 3] ^ 1);
  testing::write_bytes(file, bytes);
  EXPECT_EQ(training.state(0), ShardState::damaged);
  EXPECT_THAT(message_of<ModelFileError>([&] { merged(training); }),
              HasSubstr("the file is damaged"));
  train_all(training, 1);
  EXPECT_EQ(merged(training), divided.whole);
}

TEST(Shards, of_another_training_are_refused) {
  const testing::ScratchFolder scratch;
  const Divided divided = divide({"flat-svm"}, 1, scratch / "work");
  EXPECT_THAT(message_of([&] { divide({"flat-svm"}, 1, divided.folder, 2); }),
              HasSubstr("the folder holds the shards of another training"));
  const Divided other = divide({"flat-svm"}, 1, scratch / "other", 2);
  train_all(ShardedTraining(other.folder), 1);
  std::filesystem::copy(other.folder + "/shard-00000.safetensors", divided.folder);
  const ShardedTraining training(divided.folder);
  EXPECT_EQ(training.state(0), ShardState::damaged);
  EXPECT_THAT(message_of<ModelFileError>([&] { training.summary(0); }),
              HasSubstr("the file is a shard of another training"));
}

using Change = std::function<void(TensorMap&)>;

/// Writes the file again without a tensor or text of that name and then changed. The digest is the
/// right one of what the file then holds, so that nothing but the change can be refused.
void rewrite(const std::string& path, const Change& change, const std::string& left_out = {}) {
  const std::string bytes = testing::read_bytes(path);
  const TensorMap old = parse_safetensors(std::as_bytes(std::span(bytes)), path);
  TensorMap tensors(path);
  for (const auto& [key, text] : old.metadata()) {
    if (key != left_out) tensors.put_text(key, text);
  }
  for (const auto& [name, tensor] : old.tensors()) {
    if (name != left_out) tensors.put_raw(name, tensor);
  }
  change(tensors);
  tensors.put_text(kDigest, digest_of(tensors));
  write_safetensors(tensors, path);
}

Change text_of(const std::string& key, const std::string& value) {
  return [=](TensorMap& tensors) { tensors.put_text(key, value); };
}

template <class T>
Change values_of(const std::string& name, std::vector<T> values,
                 const std::vector<std::uint64_t>& shape = {}) {
  return [=](TensorMap& tensors) { tensors.put<T>(name, values, shape); };
}

/// Changes some values of a tensor of the file.
template <class T>
Change edit_of(const std::string& name, const std::function<void(std::vector<T>&)>& edit) {
  return [=](TensorMap& tensors) {
    std::vector<T> values = tensors.get<T>(name);
    edit(values);
    tensors.put<T>(name, values);
  };
}

/// A change to a file, and what the error says of it.
struct Refused {
  std::string says;
  Change change;
  std::string left_out = {};
};

const Change nothing = [](TensorMap&) {};

TEST(Shards, data_that_are_none_of_a_training_are_refused) {
  const testing::ScratchFolder scratch;
  const Divided divided = divide({"flat-svm"}, 1, scratch / "work");
  const std::string path = sharded_data(divided.folder);
  const std::string whole = testing::read_bytes(path);
  const std::vector<Refused> all{
      {"metadata format is missing", nothing, "format"},
      {"must be margrove-shards", text_of("format", "margrove-shard")},
      {"format version 2, but this program reads version 1", text_of("format_version", "2")},
      {"metadata format_version is missing", nothing, "format_version"},
      {"metadata num_shards is 0", text_of("num_shards", "0")},
      {"num_shards is 99, which is too large", text_of("num_shards", "99")},
      {"num_columns is 4294967296, which is too large", text_of("num_columns", "4294967296")},
      {"tensor rows.values is missing", nothing, "rows.values"},
      {"rows.values must have one axis and dtype F32", values_of<double>("rows.values", {1, 2})},
      {"rows.values must have one axis", values_of<float>("rows.values", {1, 2}, {1, 2})},
      {"rows.columns must have one axis and dtype U32", values_of<float>("rows.columns", {1})},
      {"rows.columns must have one axis", values_of<FeatureId>("rows.columns", {1, 2}, {2, 1})},
      {"tensor rows.columns is missing", nothing, "rows.columns"},
      {"rows.row_pointers must have one axis and dtype I64",
       values_of<double>("rows.row_pointers", {1})},
      {"rows.row_pointers must have one axis",
       values_of<std::int64_t>("rows.row_pointers", {0, 0}, {1, 2})},
      {"tensor rows.row_pointers is missing", nothing, "rows.row_pointers"},
      {"row pointers must start with 0", values_of<std::int64_t>("rows.row_pointers", {})},
      {"row pointers decrease after row 1",
       edit_of<std::int64_t>("rows.row_pointers", [](auto& v) { v[2] = 1; })},
      {"column[0, 3] is 7, but must be < 4",
       edit_of<FeatureId>("rows.columns", [](auto& v) { v[3] = 7; })},
      {"tensor rows.weights must have one axis and dtype F64",
       values_of<float>("rows.weights", {1, 2})},
      {"tensor rows.weights has 2 values", values_of<double>("rows.weights", {1, 2})},
      {"tensor sets.row_pointers is missing", nothing, "sets.row_pointers"},
      {"sets.row_pointers must ascend from 0 to 120",
       edit_of<std::int64_t>("sets.row_pointers", [](auto& v) { v.front() = 1; })},
      {"sets.row_pointers must ascend from 0 to 120",
       edit_of<std::int64_t>("sets.row_pointers", [](auto& v) { std::swap(v[3], v[5]); })},
      {"sets.row_pointers must ascend from 0 to 120",
       edit_of<std::int64_t>("sets.row_pointers", [](auto& v) { v.back() = 121; })},
      {"tensor sets.row_pointers has 2 entries",
       values_of<std::int64_t>("sets.row_pointers", {0, 1})},
      {"tensor sets.labels must be below",
       edit_of<LabelId>("sets.labels", [](auto& v) { v[5] = 400; })},
      {"tensor labels.bytes is missing", nothing, "labels.bytes"},
      {"label", [](TensorMap& t) { t.put_strings("labels", std::vector<std::string>(9, "a")); }},
      {"the alternative id 'a one' stands for label 400",
       values_of<LabelId>("labels.alternative_of", {400})},
      {"tensor labels.names does not name every label",
       [](TensorMap& t) { t.put_strings("labels.names", std::vector<std::string>{"one"}); }},
      {"edge 0 -> 400 names node 400", values_of<LabelId>("hierarchy.edges", {0, 400}, {1, 2})},
      {"metadata method is missing", nothing, "method"},
      {"no-such", text_of("method", "no-such")},
      {"the method cannot be trained in shards", text_of("option.multiclass", "crammer-singer")},
      {"option solver is 'fast'", text_of("option.solver", "fast")},
      {"no-such", text_of("option.no-such", "1")},
      {"metadata source is missing", nothing, "source"},
  };
  for (const auto& [says, change, left_out] : all) {
    testing::write_bytes(path, whole);
    rewrite(path, change, left_out);
    const auto message = message_of<ModelFileError>([&] { ShardedTraining{divided.folder}; });
    EXPECT_THAT(message, HasSubstr(says));
    EXPECT_THAT(message, HasSubstr(path)) << says;
  }
  testing::write_bytes(path, whole);
  rewrite(path, nothing);
  EXPECT_EQ(ShardedTraining(divided.folder).num_shards(), 1U);
  testing::write_bytes(path, "no tensors");
  EXPECT_THROW(ShardedTraining{divided.folder}, ModelFileError);
}

TEST(Shards, without_what_is_optional_make_a_model) {
  const testing::ScratchFolder scratch;
  const Divided divided = divide({"flat-svm"}, 1, scratch / "work");
  const std::string path = sharded_data(divided.folder);
  for (const std::string each : {"labels.names.bytes", "hierarchy.edges"}) {
    rewrite(path, nothing, each);
  }
  rewrite(path, values_of<double>("rows.weights", std::vector<double>(120, 2.0)));
  const ShardedTraining training(divided.folder);
  train_all(training, 1);
  EXPECT_NE(merged(training), divided.whole);
}

TEST(Shards, that_are_none_are_damaged) {
  const testing::ScratchFolder scratch;
  const Divided divided = divide({"flat-svm"}, 1, scratch / "work");
  const ShardedTraining training(divided.folder);
  train_all(training, 1);
  const std::string path = divided.folder + "/shard-00000.safetensors";
  const std::string whole = testing::read_bytes(path);
  const std::vector<Refused> all{
      {"metadata format is missing", nothing, "format"},
      {"must be margrove-shard", text_of("format", "margrove-shards")},
      {"format version 0", text_of("format_version", "0")},
      {"a shard of another training or another number", text_of("shard", "1")},
      {"a shard of another training or another number", text_of("data_digest", "0")},
      {"metadata data_digest is missing", nothing, "data_digest"},
      {"", nothing, "seconds"},
  };
  for (const auto& [says, change, left_out] : all) {
    testing::write_bytes(path, whole);
    rewrite(path, change, left_out);
    if (left_out == "seconds") continue;  // the summary alone asks for it
    EXPECT_EQ(training.state(0), ShardState::damaged) << says;
    EXPECT_THAT(message_of<ModelFileError>([&] { training.summary(0); }), HasSubstr(says));
    EXPECT_THAT(message_of<ModelFileError>([&] { merged(training); }), HasSubstr(path)) << says;
  }
  EXPECT_EQ(training.state(0), ShardState::finished);
  EXPECT_THAT(message_of<ModelFileError>([&] { training.summary(0); }),
              HasSubstr("metadata seconds is missing"));
}

TEST(Shards, with_other_labels_than_the_training_are_refused_by_merge) {
  const testing::ScratchFolder scratch;
  const Divided divided = divide({"flat-svm"}, 1, scratch / "work");
  const ShardedTraining training(divided.folder);
  train_all(training, 1);
  const std::string path = divided.folder + "/shard-00000.safetensors";
  const std::string whole = testing::read_bytes(path);
  const std::vector<Refused> all{
      {"it has other labels", edit_of<std::uint32_t>("problem", [](auto& v) { v.back() = 1; })},
      {"it has other labels", edit_of<std::uint32_t>("label", [](auto& v) { v[0] = 1000; })},
      {"tensor label", values_of<std::uint32_t>("label", {0})},
  };
  for (const auto& [says, change, left_out] : all) {
    testing::write_bytes(path, whole);
    rewrite(path, change, left_out);
    EXPECT_THAT(message_of<ModelFileError>([&] { merged(training); }), HasSubstr(says));
  }
}

TEST(Shards, many_that_are_missing_are_counted_after_eight) {
  const testing::ScratchFolder scratch;
  Examples raw;
  raw.source = "many";
  raw.X = CsrMatrix(1);
  for (LabelId label = 0; label < 200; ++label) {
    raw.codec.add(concat("label", label));
    raw.X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1.0F});
    raw.labels.append(std::vector<LabelId>{label});
  }
  const Method& method = find_method("flat-svm");
  const auto run = method.start();
  const PreparedRows prepared = prepare_rows(std::move(raw), nullptr, {});
  const TrainingSet data = prepared.training_set();
  Executor executor(1);
  RunControl control;
  const Plan plan = plan_training(method, *run, data, executor, control);
  const std::string folder = scratch / "work";
  plan_shards(method, *run, plan, data, prepared.preprocessing, 10, folder);
  const ShardedTraining training(folder);
  ASSERT_EQ(training.num_shards(), 10U);
  const std::string first = "10 of 10 shards are not trained: 0, 1, 2, 3, 4, 5, 6, 7 and 2 more";
  EXPECT_THAT(message_of([&] { merged(training); }), HasSubstr(folder + ": " + first));
  training.train(4, executor, control);
  EXPECT_THAT(message_of([&] { merged(training); }),
              HasSubstr("9 of 10 shards are not trained: 0, 1, 2, 3, 5, 6, 7, 8 and 1 more"));
}

TEST(Shards, folders_name_their_files) {
  const testing::ScratchFolder scratch;
  EXPECT_EQ(sharded_files(scratch / "none").size(), 1U);
  const Divided divided = divide({"flat-svm"}, 1, scratch / "work");
  train_all(ShardedTraining(divided.folder), 1);
  for (const std::string other : {"shard-notes", "notes.safetensors", "notes"}) {
    testing::write_bytes(divided.folder + "/" + other, "text");
  }
  EXPECT_THAT(sharded_files(divided.folder),
              ::testing::UnorderedElementsAre(sharded_data(divided.folder),
                                              divided.folder + "/shard-00000.safetensors"));
}

TEST(Shards, are_not_planned_where_no_folder_or_no_training_can_be) {
  const testing::ScratchFolder scratch;
  testing::write_bytes(scratch / "file", "text");
  EXPECT_THAT(message_of([&] { divide({"flat-svm"}, 1, scratch / "file/work"); }),
              HasSubstr("the folder cannot be made"));
  std::filesystem::create_directory(scratch / "work");
  testing::write_bytes(sharded_data(scratch / "work"), "text");
  EXPECT_THROW(divide({"flat-svm"}, 1, scratch / "work"), ModelFileError);
}

TEST(Shards, replace_nothing_else_and_follow_no_links) {
  const testing::ScratchFolder scratch;
  const Divided divided = divide({"flat-svm"}, 1, scratch / "work");
  const ShardedTraining training(divided.folder);
  const std::string shard = divided.folder + "/shard-00000.safetensors";
  const std::string other = scratch / "other";
  const auto refused = [&] {
    EXPECT_EQ(training.state(0), ShardState::damaged);
    const auto message = message_of<ModelFileError>([&] { train_all(training, 1); });
    EXPECT_THAT(message, HasSubstr(shard));
    EXPECT_THAT(message, HasSubstr("it is no shard and is not replaced"));
    EXPECT_THROW(merged(training), ModelFileError);
  };
  std::filesystem::create_symlink(other, shard);  // leads nowhere
  refused();
  EXPECT_FALSE(std::filesystem::exists(other));
  testing::write_bytes(other, "mine");
  refused();
  EXPECT_EQ(testing::read_bytes(other), "mine");
  std::filesystem::remove(shard);
  for (const std::string& bytes : {std::string("notes"), std::string()}) {
    testing::write_bytes(shard, bytes);
    refused();
    EXPECT_EQ(testing::read_bytes(shard), bytes);
  }
  std::filesystem::remove(shard);
  std::filesystem::create_directory(shard);
  refused();
  std::filesystem::remove(shard);
  train_all(training, 1);
  EXPECT_EQ(merged(training), divided.whole);
  std::filesystem::rename(shard, other);  // a good shard, but behind a link
  std::filesystem::create_symlink(other, shard);
  refused();
}

TEST(Shards, data_behind_a_link_are_refused) {
  const testing::ScratchFolder scratch;
  const Divided divided = divide({"flat-svm"}, 1, scratch / "work");
  const std::string path = sharded_data(divided.folder), other = scratch / "other";
  std::filesystem::rename(path, other);
  std::filesystem::create_symlink(other, path);
  const auto refused = [](const auto& call) {
    EXPECT_THAT(message_of<ModelFileError>(call), HasSubstr("it is a symbolic link"));
  };
  refused([&] { ShardedTraining{divided.folder}; });
  refused([&] { divide({"flat-svm"}, 1, divided.folder); });
  std::filesystem::remove(other);
  refused([&] { divide({"flat-svm"}, 1, divided.folder); });
  EXPECT_FALSE(std::filesystem::exists(other));
}

TEST(Shards, parts_of_killed_processes_are_removed) {
  const testing::ScratchFolder scratch;
  const Divided divided = divide({"flat-svm"}, 1, scratch / "work");
  const std::string shard = divided.folder + "/shard-00000.safetensors";
  testing::write_bytes(shard + ".tmp-0123456789abcdef", "half");
  testing::write_bytes(sharded_data(divided.folder) + ".tmp-0123456789abcdef", "half");
  testing::write_bytes(shard + ".tmp-notes", "mine");
  train_all(ShardedTraining(divided.folder), 1);
  divide({"flat-svm"}, 1, divided.folder);
  EXPECT_FALSE(std::filesystem::exists(shard + ".tmp-0123456789abcdef"));
  EXPECT_FALSE(std::filesystem::exists(sharded_data(divided.folder) + ".tmp-0123456789abcdef"));
  EXPECT_TRUE(std::filesystem::exists(shard + ".tmp-notes"));
}

TEST(Shards, wrong_calls_are_errors) {
  const testing::ScratchFolder scratch;
  EXPECT_THROW(divide({"nhsvm"}, 2, scratch / "work"), InvalidOption);
  EXPECT_THROW(divide({"flat-svm"}, 0, scratch / "work"), InvalidOption);
  EXPECT_THROW(ShardedTraining(scratch / "none"), Error);
  const Divided divided = divide({"flat-svm"}, 1, scratch / "work");
  EXPECT_THROW(ShardedTraining(divided.folder).state(7), InvalidOption);
}

TEST(Shards, that_are_interrupted_leave_no_file) {
  const testing::ScratchFolder scratch;
  const Divided divided = divide({"flat-svm"}, 1, scratch / "work");
  const ShardedTraining training(divided.folder);
  Executor executor(1);
  RunControl control;
  control.interrupt();
  EXPECT_FALSE(training.train(0, executor, control));
  EXPECT_EQ(training.state(0), ShardState::missing);
}

}  // namespace
}  // namespace margrove
