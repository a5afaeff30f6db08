// margrove report

#include "eval/report.hpp"

#include "cli/annotation_arguments.hpp"
#include "cli/model_arguments.hpp"
#include "cli/verbs.hpp"
#include "io/model_file.hpp"
#include "model/training_set.hpp"

namespace margrove::cli {
namespace {

class Report final : public Command {
 public:
  explicit Report(CLI::App& app) {
    arguments_.declare(app);
    annotations_.declare(app);
    app.add_option("--output", output_, "page to write")->required()->type_name("FILE");
    app.add_option("--title", options_.title, "heading of the page")->capture_default_str();
    app.add_option("--examples", options_.num_examples, "explained rows, half of them wrong")
        ->type_name("N")
        ->capture_default_str()
        ->check(number_from(0));
  }

  int run() override {
    std::vector<std::string> inputs = arguments_.input_paths();
    inputs.push_back(annotations_.path());
    require_result_writable(output_, inputs);
    CommandControl control = arguments_.control();
    const ModelParts model = load_model(arguments_.model_path);
    Executor executor(arguments_.threads);
    RawRows raw = arguments_.read(model, control, /*needs_labels=*/true);
    if (annotations_.is_given()) annotations_.apply(raw);
    const CsrMatrix X = preprocess(model, raw);
    const TranslatedLabels truth = translate_labels(raw.labels, raw.codec, model.labels);
    const std::string page = report_html(model, X, truth.labels, options_, executor);
    control.start_writing();
    write_result(output_, page);
    return kOk;
  }

 private:
  ModelArguments arguments_;
  AnnotationArguments annotations_;
  std::string output_;
  ReportOptions options_;
};

}  // namespace

Verb report_verb() {
  return make_verb<Report>("report", "a page of HTML about a model on labelled rows");
}

}  // namespace margrove::cli
