// margrove plan-shards, train-shard, merge-shards

#include <fmt/format.h>

#include <iostream>

#include "base/atomic_file.hpp"
#include "cli/ray_engine.hpp"
#include "cli/training_reports.hpp"
#include "cli/verbs.hpp"

namespace margrove::cli {
namespace {

class PlanShards final : public Command {
 public:
  PlanShards(CLI::App& app, const std::vector<std::string>& arguments) {
    arguments_.declare(app, arguments, "WORK", "folder for the data and the shards");
    app.add_option("--shards", num_shards_,
                   "number of shards; fewer if there are not as many blocks of labels")
        ->type_name("INT")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
  }

  int run() override {
    const RunOptions& options = arguments_.run_options();
    const std::string& folder = arguments_.result_path();
    for (const std::string& path : {folder, sharded_data(folder)}) {
      require_not_read(path, arguments_.input_paths());
    }
    const auto method_run = arguments_.start();
    CommandControl control(options.progress_form());
    control.run().limit_memory(1e9 * options.memory_limit);
    Executor executor(options.threads);
    plan_rows_in_shards(arguments_, *method_run, num_shards_, folder, executor, control);
    control.start_writing();
    const ShardedTraining training(folder);
    std::size_t finished = 0;
    for (std::size_t s = 0; s < training.num_shards(); ++s) {
      finished += training.state(s) == ShardState::finished ? 1 : 0;
    }
    std::cout << fmt::format("shards\t{}\nfinished\t{}\n", training.num_shards(), finished);
    return kOk;
  }

 private:
  TrainingArguments arguments_;
  std::size_t num_shards_ = kDefaultShards;
};

/// The options of the verbs that read a folder.
struct FolderOptions {
  int threads = 0;
  bool quiet = false;
  static auto fields() {
    return std::tuple{
        field("threads", &FolderOptions::threads, at_least(0),
              "number of threads; 0: one per core. The result does not depend on it"),
        field("quiet", &FolderOptions::quiet, "print no progress on stderr"),
    };
  }
};

class TrainShard final : public Command {
 public:
  explicit TrainShard(CLI::App& app) {
    app.add_option("WORK", folder_, "folder that plan-shards made")->required()->type_name("");
    app.add_option("SHARD", shard_, "number of the shard, from 0 on")->required()->type_name("");
    options_.declare(app, "Run");
  }

  int run() override {
    const FolderOptions& options = options_.parse();
    CommandControl control(options.quiet);
    Executor executor(options.threads);
    const ShardedTraining training(folder_);
    const bool was_finished = training.state(shard_) == ShardState::finished;
    training.train(shard_, executor, control.run());
    control.start_writing();
    const ShardSummary summary = training.summary(shard_);
    std::cout << fmt::format("shard\t{}\nstate\t{}\nlabels\t{}\n", shard_,
                             was_finished ? "was finished" : "trained", summary.num_labels);
    std::cout << fmt::format("objective\t{}\ndual\t{}\n", summary.primal, summary.dual);
    std::cout << fmt::format("seconds\t{:.2f}\nbytes\t{}\n", summary.seconds, summary.bytes);
    return kOk;
  }

 private:
  std::string folder_;
  std::size_t shard_ = 0;
  BoundOptions<FolderOptions> options_;
};

class MergeShards final : public Command {
 public:
  explicit MergeShards(CLI::App& app) {
    app.add_option("WORK", folder_, "folder that plan-shards made")->required()->type_name("");
    app.add_option("MODEL", model_path_, "file to write")->required()->type_name("");
    options_.declare(app, "Run");
  }

  int run() override {
    const FolderOptions& options = options_.parse();
    require_writable(model_path_);  // not empty
    require_result_writable(model_path_, sharded_files(folder_));
    CommandControl control(options.quiet);
    Executor executor(options.threads);
    const ModelParts model = ShardedTraining(folder_).merge(executor, control.run());
    control.end_progress();
    print_warnings(model, {});
    save_and_print(model, model_path_, control);
    return kOk;
  }

 private:
  std::string folder_, model_path_;
  BoundOptions<FolderOptions> options_;
};

}  // namespace

Verb plan_shards_verb() {
  return make_verb<PlanShards>("plan-shards",
                               "divide a training into shards, for several machines");
}
Verb train_shard_verb() {
  return make_verb<TrainShard>("train-shard", "train one shard of a divided training");
}
Verb merge_shards_verb() {
  return make_verb<MergeShards>("merge-shards", "make the model of a divided training");
}

}  // namespace margrove::cli
