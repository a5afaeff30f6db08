// margrove train

#include <filesystem>
#include <iostream>
#include <optional>

#include "base/atomic_file.hpp"
#include "cli/checkpoint_arguments.hpp"
#include "cli/options_reference.hpp"
#include "cli/ray_engine.hpp"
#include "cli/training.hpp"
#include "cli/training_reports.hpp"
#include "cli/verbs.hpp"
#include "eval/held_out.hpp"
#include "io/model_file.hpp"

namespace margrove::cli {
namespace {

class Train final : public Command {
 public:
  Train(CLI::App& app, const std::vector<std::string>& arguments) {
    arguments_.declare(app, arguments);
    app.add_option("--calibration", calibration_,
                   "share of the rows that is held out to fit the temperature of probabilities, "
                   "and of label "
                   "sets a shift, which trains twice; 0: none")
        ->type_name("SHARE")
        ->group("Probabilities (kept in the model)")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 0.9));
    checkpoint_.declare(app);
    app.add_option("--start", start_path_,
                   "structured, models chain, multilabel-field and dependency: file of a model "
                   "whose weights training starts from")
        ->type_name("MODEL");
    app.add_option("--engine", engine_,
                   "local: this process; ray: tasks on Ray, with the same result (docs/cluster.md)")
        ->type_name("NAME")
        ->group("Engine")
        ->capture_default_str()
        ->check(CLI::IsMember({"local", "ray"}));
    const auto of_ray = [&](const std::string& name, auto& value, const std::string& help) {
      ray_options_.push_back(app.add_option(name, value, concat("ray: ", help))->group("Engine"));
      return ray_options_.back();
    };
    of_ray("--address", address_, "address of the cluster; none: a new one on this machine");
    of_ray("--shards", num_shards_, "number of tasks")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    of_ray("--work", work_,
           "folder of the shards, which all machines see; none: MODEL.shards, removed in the end");
  }

  int run() override {
    const RunOptions& options = arguments_.run_options();
    const auto method_run = arguments_.start();
    require_writable(arguments_.result_path());  // not empty
    std::vector<std::string> input_paths = arguments_.input_paths();
    if (!start_path_.empty()) {
      input_paths.push_back(start_path_);
      start_ = load_model(start_path_);
      require<InvalidOption>(!checkpoint_.is_given(),
                             "option start is given, but a checkpoint does not keep it");
    }
    require_result_writable(arguments_.result_path(), input_paths);
    checkpoint_.check(arguments_.result_path(), input_paths);
    if (engine_ == "ray") return run_on_ray(*method_run);
    refuse_given(ray_options_, "needs --engine ray");
    CommandControl control(options.progress_form(), options.time_limit_seconds);
    control.run().limit_memory(1e9 * options.memory_limit);
    Executor executor(options.threads);
    const Method& method = arguments_.method();
    const auto examples =
        arguments_.reads_examples(*method_run)
            ? method.read_examples({arguments_.data_path()}, method_run->options(), &control.run())
            : nullptr;
    require<InvalidOption>(!examples || calibration_ == 0,
                           "option calibration is given, but the examples of method ", method.name,
                           " with these options are not rows");
    const ModelParts model = examples ? train_examples(*examples, *method_run, executor, control)
                                      : train_rows(*method_run, executor, control);
    save_and_print(model, arguments_.result_path(), control, seconds_of_terms_);
    CheckpointArguments::close(open_checkpoint_.get(), model.report.stop);
    return control.exit_code();
  }

 private:
  int run_on_ray(MethodRun& run) {
    const RunOptions& options = arguments_.run_options();
    require<InvalidOption>(calibration_ == 0,
                           "option calibration is given, but engine ray does not offer it");
    require<InvalidOption>(!checkpoint_.is_given(),
                           "option checkpoint is given, but engine ray does not offer it; the "
                           "folder of --work keeps finished shards");
    require<InvalidOption>(!start_, "option start is given, but engine ray does not offer it");
    require<InvalidOption>(options.log == "text",
                           "option log is json, but engine ray does not offer it");
    require_ray();
    const std::string folder = work_.empty() ? arguments_.result_path() + ".shards" : work_;
    CommandControl control(options.quiet);
    control.run().limit_memory(1e9 * options.memory_limit);
    Executor executor(options.threads);
    require_not_read(sharded_data(folder), arguments_.input_paths());
    plan_rows_in_shards(arguments_, run, num_shards_, folder, executor, control);
    require_result_writable(arguments_.result_path(), sharded_files(folder));
    train_shards_on_ray(folder, {address_, options.threads, options.quiet});
    const ModelParts model = ShardedTraining(folder).merge(executor, control.run());
    control.end_progress();
    print_warnings(model, options);
    save_and_print(model, arguments_.result_path(), control);
    std::error_code ignored;  // a folder that stays costs space only
    if (work_.empty()) std::filesystem::remove_all(folder, ignored);
    return kOk;
  }

  ModelParts train_rows(MethodRun& run, Executor& executor, CommandControl& control) {
    TrainingArguments::Data rows = arguments_.read(control, arguments_.run_options().strict);
    const ChosenTerms terms = arguments_.choose_terms(run, rows, executor, control);
    seconds_of_terms_ = terms.seconds;
    const PreparedRows prepared = prepare_rows(std::move(rows.raw), rows.hierarchy_or_null(),
                                               terms.preprocessing, {}, &control.run(), executor);
    TrainingSet data = prepared.training_set();
    data.start = start_ ? &*start_ : nullptr;
    open_checkpoint(run, data, prepared.preprocessing, control);
    ModelParts model = train_with_reports(arguments_.method(), run, arguments_.run_options(), data,
                                          prepared.preprocessing, executor, control);
    if (calibration_ > 0) calibrate(model, run, data, executor, control);
    return model;
  }

  void open_checkpoint(MethodRun& run, TrainingSet& data, const Preprocessing& preprocessing,
                       CommandControl& control) {
    open_checkpoint_ = checkpoint_.open(arguments_.method(), run, preprocessing, data,
                                        arguments_.run_options().quiet, control);
  }

  /// If an interruption or the time limit comes before the end, the model stays as it is.
  void calibrate(ModelParts& model, MethodRun& run, const TrainingSet& data, Executor& executor,
                 CommandControl& control) {
    model.calibration =
        calibrate_held_out(arguments_.method(), run, data, calibration_, executor, control.run());
    if (model.calibration && !control.is_interrupted()) return;
    model.calibration.reset();
    control.end_progress();
    const bool is_strict = arguments_.run_options().strict;
    require<Interrupted>(!is_strict || !control.is_interrupted(), data.source,
                         ": interrupted before calibration, and with --strict a model without it "
                         "is not written");
    warn_or_refuse(std::string(why_not_calibrated(control.run())), is_strict);
  }

  /// For methods with their own file format.
  ModelParts train_examples(const StructuredExamples& examples, MethodRun& run, Executor& executor,
                            CommandControl& control) {
    TrainingSet data;
    data.examples = &examples;
    data.source = arguments_.data_path();
    open_checkpoint(run, data, {}, control);
    data.start = start_ ? &*start_ : nullptr;
    return train_with_reports(arguments_.method(), run, arguments_.run_options(), data, {},
                              executor, control);
  }

  TrainingArguments arguments_;
  double calibration_ = 0;
  double seconds_of_terms_ = 0;
  std::string start_path_;
  std::optional<ModelParts> start_;
  std::string engine_ = "local", address_, work_;
  std::size_t num_shards_ = kDefaultShards;
  std::vector<CLI::Option*> ray_options_;
  CheckpointArguments checkpoint_;
  std::unique_ptr<CheckpointFile> open_checkpoint_;
};

}  // namespace

Verb train_verb() {
  Verb verb = make_verb<Train>("train", "train a model and write it to a file");
  verb.declare = [train = verb.declare](CLI::App& app, const std::vector<std::string>& arguments) {
    return asks_for_reference(arguments) ? std::make_unique<OptionsReference>(app)
                                         : train(app, arguments);
  };
  return verb;
}

}  // namespace margrove::cli
