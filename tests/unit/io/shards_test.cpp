#include "io/shards.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "files.hpp"
#include "io/model_file.hpp"
#include "methods/registry.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

struct Options {
  std::string method;
  OptionValues values = {};
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
  const Hierarchy hierarchy = testing::groups();
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
        Options{"flat-lr", {{"decision", "scut"}}}, Options{"top-down-svm"}}) {
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
