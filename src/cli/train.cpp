// margrove train

#include <iostream>

#include "base/atomic_file.hpp"
#include "cli/options_reference.hpp"
#include "cli/training.hpp"
#include "cli/verbs.hpp"
#include "eval/held_out.hpp"

namespace margrove::cli {
namespace {

class Train final : public Command {
 public:
  Train(CLI::App& app, const std::vector<std::string>& arguments) {
    arguments_.declare(app, arguments);
    app.add_option("--calibration", calibration_,
                   "share of the rows held out to fit the temperature of probabilities: trains "
                   "twice; 0: none")
        ->type_name("SHARE")
        ->group("Probabilities (kept in the model)")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 0.9));
  }

  int run() override {
    const RunOptions& options = arguments_.run_options();
    const auto method_run = arguments_.start();
    require_writable(arguments_.model_path());
    CommandControl control(options.quiet, options.time_limit_seconds);
    Executor executor(options.threads);
    const Method& method = arguments_.method();
    const auto examples =
        method.read_examples ? method.read_examples({arguments_.data_path()}, method_run->options())
                             : nullptr;
    const ModelParts model = examples ? train_examples(*examples, *method_run, executor, control)
                                      : train_rows(*method_run, executor, control);
    save_and_print(model, arguments_.model_path(), control);
    return kOk;
  }

 private:
  ModelParts train_rows(MethodRun& run, Executor& executor, CommandControl& control) {
    auto [hierarchy, raw] = arguments_.read(control);
    const PreparedRows prepared = prepare_rows(std::move(raw), hierarchy ? &*hierarchy : nullptr,
                                               arguments_.preprocessing_for(run));
    const TrainingSet data = prepared.training_set();
    ModelParts model = train_with_reports(arguments_.method(), run, arguments_.run_options(), data,
                                          prepared.preprocessing, executor, control);
    if (calibration_ > 0) {
      model.calibration =
          calibrate_held_out(arguments_.method(), run, data, calibration_, executor, control.run());
      control.leave_if_interrupted();
    }
    return model;
  }

  /// Of methods with a file format of their own.
  ModelParts train_examples(const Examples& examples, MethodRun& run, Executor& executor,
                            CommandControl& control) {
    TrainingSet data;
    data.examples = &examples;
    data.source = arguments_.examples_path();
    return train_with_reports(arguments_.method(), run, arguments_.run_options(), data, {},
                              executor, control);
  }

  TrainingArguments arguments_;
  double calibration_ = 0;
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
