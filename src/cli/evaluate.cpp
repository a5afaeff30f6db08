// margrove evaluate

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/model_arguments.hpp"
#include "cli/verbs.hpp"
#include "eval/named_metrics.hpp"
#include "eval/tuning.hpp"
#include "io/model_file.hpp"

namespace margrove::cli {
namespace {

class Evaluate final : public Command {
 public:
  explicit Evaluate(CLI::App& app) {
    arguments_.declare(app);
    app.add_flag("--json", json_, "one JSON object instead of lines");
  }

  int run() override {
    const ModelParts model = load_model(arguments_.model_path);
    CommandControl control(arguments_.quiet);
    Executor executor(arguments_.threads);
    if (const FilePredictor* files = model.predictor->files()) {
      const auto values =
          files->evaluate_file(arguments_.examples_path(model), executor, control.run());
      control.leave_if_interrupted();
      print(std::nullopt, values);
      return kOk;
    }
    const RawRows raw = arguments_.read(model, control, /*needs_labels=*/true);
    const Evaluation evaluation = evaluate_model(model, raw, executor);
    control.leave_if_interrupted();
    if (evaluation.num_rows_with_unknown > 0) {
      warn(
          fmt::format("{} rows have labels that the model does not know ({} of them); they count "
                      "as missed",
                      evaluation.num_rows_with_unknown, evaluation.num_unknown_labels));
    }
    std::vector<NamedValue> values;
    for (const auto& [name, value] : named_values(evaluation.metrics)) {
      values.push_back({std::string(name), value});
    }
    print(evaluation.metrics.examples, values);
    return kOk;
  }

 private:
  void print(std::optional<std::int64_t> examples, const std::vector<NamedValue>& values) const {
    if (json_) {
      nlohmann::ordered_json object;
      if (examples) object["examples"] = *examples;
      for (const auto& [name, value] : values) object[name] = value;
      std::cout << object.dump() << "\n";
      return;
    }
    if (examples) std::cout << fmt::format("{:<24} {}\n", "examples", *examples);
    for (const auto& [name, value] : values)
      std::cout << fmt::format("{:<24} {:.4f}\n", name, value);
  }

  ModelArguments arguments_;
  bool json_ = false;
};

}  // namespace

Verb evaluate_verb() {
  return make_verb<Evaluate>("evaluate", "compare predictions with the labels of rows");
}

}  // namespace margrove::cli
