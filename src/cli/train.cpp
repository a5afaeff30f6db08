// margrove train

#include <iostream>

#include "options_reference.hpp"
#include "training.hpp"
#include "verbs.hpp"

namespace margrove::cli {
namespace {

class Train final : public Command {
 public:
  void declare(CLI::App& app, const std::vector<std::string>& arguments) {
    arguments_.declare(app, arguments);
  }

  int run() override {
    const RunOptions& options = arguments_.run_options();
    const auto method_run = arguments_.start();
    CommandControl control(options.quiet, options.time_limit_seconds);
    Executor executor(options.threads);
    const Method& method = arguments_.method();
    const auto examples =
        method.read_examples ? method.read_examples({arguments_.data_path()}, method_run->options())
                             : nullptr;
    const Model model = examples ? train_examples(*examples, *method_run, executor, control)
                                 : train_rows(*method_run, executor, control);
    save_and_print(model, arguments_.model_path(), control);
    return kOk;
  }

 private:
  Model train_rows(MethodRun& run, Executor& executor, CommandControl& control) {
    auto [hierarchy, raw] = arguments_.read(control);
    const PreparedRows prepared =
        prepare_rows(std::move(raw), hierarchy ? &*hierarchy : nullptr, arguments_.preprocessing());
    return train_with_reports(arguments_.method(), run, arguments_.run_options(),
                              prepared.training_set(), prepared.preprocessing, executor, control);
  }

  /// Of methods with a file format of their own.
  Model train_examples(const Examples& examples, MethodRun& run, Executor& executor,
                       CommandControl& control) {
    TrainingSet data;
    data.examples = &examples;
    data.source = arguments_.data_path();
    return train_with_reports(arguments_.method(), run, arguments_.run_options(), data, {},
                              executor, control);
  }

  TrainingArguments arguments_;
};

}  // namespace

Verb train_verb() {
  return {"train", "train a model and write it to a file",
          [](CLI::App& app, const std::vector<std::string>& arguments) -> std::unique_ptr<Command> {
            if (asks_for_reference(arguments)) return std::make_unique<OptionsReference>(app);
            auto command = std::make_unique<Train>();
            command->declare(app, arguments);
            return command;
          }};
}

}  // namespace margrove::cli
