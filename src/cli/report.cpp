// margrove report

#include "report/report.hpp"

#include <optional>

#include "cli/labelled_arguments.hpp"
#include "cli/verbs.hpp"

namespace margrove::cli {
namespace {

class Report final : public Command {
 public:
  explicit Report(CLI::App& app) {
    arguments_.declare(app);
    app.add_option("--output", output_, "page to write")->required()->type_name("FILE");
    app.add_option("--title", options_.title, "heading of the page")->capture_default_str();
    app.add_option("--examples", options_.num_examples, "explained rows, half of them wrong")
        ->type_name("N")
        ->capture_default_str()
        ->check(number_from(0));
    app.add_option("--other-model", other_path_,
                   "another model that takes the same rows, to be shown beside MODEL")
        ->type_name("FILE");
  }

  int run() override {
    require<InvalidOption>(other_path_.empty() || arguments_.model.data_path != kStandardInput,
                           "option other-model is given, but both models read the rows, which "
                           "standard input allows only once; give a file instead of -");
    std::vector<std::string> inputs = arguments_.input_paths();
    inputs.push_back(other_path_);
    require_result_writable(output_, inputs);
    CommandControl control = arguments_.model.control();
    const ModelParts model = arguments_.model.load();
    Executor executor(arguments_.model.threads);
    auto [raw, rows] = arguments_.read(model, control, executor);
    const auto other = read_other(rows, control, executor);
    const std::string page =
        report_html({model, rows, raw.texts(), other ? &*other : nullptr}, options_, executor);
    control.start_writing();
    write_result(output_, page);
    return kOk;
  }

 private:
  /// The other model reads the rows itself, because it may take other columns.
  std::optional<OtherPredictions> read_other(EvaluatedRows& rows, CommandControl& control,
                                             Executor& executor) const {
    if (other_path_.empty()) return std::nullopt;
    const ModelParts other = arguments_.model.load(other_path_);
    const Examples raw = arguments_.model.read(other, control, /*needs_labels=*/false);
    return other_predictions(other_path_, other, preprocess(other, raw, nullptr, executor), rows,
                             executor);
  }

  LabelledArguments arguments_;
  std::string output_, other_path_;
  ReportOptions options_;
};

}  // namespace

Verb report_verb() {
  return make_verb<Report>("report", "a page of HTML about a model on labelled rows");
}

}  // namespace margrove::cli
