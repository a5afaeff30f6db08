// margrove explain

#include <fmt/format.h>

#include <span>

#include "base/similar_names.hpp"
#include "cli/help.hpp"
#include "cli/model_arguments.hpp"
#include "cli/verbs.hpp"
#include "data/prediction_lines.hpp"
#include "margrove/writers.hpp"
#include "model/answers.hpp"
#include "model/finite_scores.hpp"
#include "model/kernel_predictor.hpp"
#include "model/sentence_predictor.hpp"

namespace margrove::cli {
namespace {

void print(const std::vector<Explanation::Source>& sources) {
  for (const auto& source : sources) {
    print_text(fmt::format("  {}: {:+.6g}\n", source.name, source.score));
    for (const auto& path : source.strongest) {
      print_text(
          fmt::format("    {:+.6g}  {}, weight {:.6g}\n", path.score, path.name, path.weight));
    }
  }
}

void print(const ModelParts& model, const Explanation& explanation) {
  print_text(fmt::format("label {}: score {:.6g}\n", model.labels.name(explanation.label),
                         explanation.score));
  for (const auto& node : explanation.nodes) {
    print_text(fmt::format("  {}{}: {:+.6g}\n", model.labels.name(node.label),
                           node.is_spawned ? " (itself)" : "", node.score));
    for (const auto& part : node.strongest) {
      const std::string centre =
          part.centre != 0 ? fmt::format(" (centre {:.6g})", part.centre) : std::string();
      print_text(fmt::format("    {:+.6g}  {} = {:.6g}{}, weight {:+.6g}\n", part.score,
                             model.feature_name(part.feature), part.value, centre, part.weight));
    }
  }
  print(explanation.sources);
}

class Explain final : public Command {
 public:
  explicit Explain(CLI::App& app) {
    arguments_.declare(app, /*needs_data=*/false);
    app.add_option("--row", row_, "number of the row, or of the sentence of a parser, from 1")
        ->type_name("I")
        ->check(number_from(1));
    explanation_.declare(app, "Options");
    app.add_option("--svg", svg_path_, "kernel models: draw the network with its weights")
        ->type_name("FILE");
    app.add_option("--dot", dot_path_, "the same as Graphviz source")->type_name("FILE");
  }

  int run() override {
    options_ = explanation_.parse();
    require_result_writable(svg_path_, arguments_.input_paths());
    require_result_writable(dot_path_, arguments_.input_paths());
    CommandControl control = arguments_.control();
    const ModelParts model = arguments_.load();
    if (model.predictor->sentences() != nullptr) explained_sentences_of(model);
    require_row_and_data();
    if (row_ > 0) model.require_explained_features(num_features());
    const bool draws = !svg_path_.empty() || !dot_path_.empty();
    if (draws) control.start_writing();
    if (draws || row_ == 0) show_network(model, draws);
    if (row_ > 0) explain_row(model, control);
    return kOk;
  }

 private:
  void require_row_and_data() const {
    const bool has_data = !arguments_.data_path.empty();
    require<InvalidOption>(!has_data || row_ > 0,
                           "DATA is given, but not which of its rows to explain: --row I, from 1");
    require<InvalidOption>(has_data || row_ == 0, "option row is ", row_,
                           ", but DATA, the file of the rows, is missing");
    require<InvalidOption>(has_data || options_.label.empty(),
                           "option label is given, but the row whose score it explains is not: "
                           "DATA and --row I");
  }

  std::size_t num_features() const { return static_cast<std::size_t>(options_.features); }

  /// The label to explain. Throws InvalidOption unless the model predicts it.
  LabelId asked_label(const ModelParts& model, const CsrMatrix& X) const {
    const auto id = model.labels.find(options_.label);
    if (!id) {
      const std::span<const std::string> names = model.labels.names();
      throw InvalidOption(concat("option label is '", options_.label,
                                 "', but must be a label of the model",
                                 did_you_mean(options_.label, {names.begin(), names.end()})));
    }
    require_explainable(model, X, *id);
    return *id;
  }

  void show_network(const ModelParts& model, bool draws) const {
    const KernelPredictor* kernels = model.predictor->kernels();
    require<InvalidOption>(kernels != nullptr, "explain: a model of method ", model.method,
                           " has no network of kernels to show, so DATA and option row must be "
                           "given, and svg and dot must not");
    if (!svg_path_.empty()) write_result(svg_path_, kernels->svg());
    if (!dot_path_.empty()) write_result(dot_path_, kernels->dot());
    if (draws) return;
    for (const std::string& line : kernels->lines()) print_text(line + "\n");
  }

  void explain_row(const ModelParts& model, CommandControl& control) const {
    const SentencePredictor* sentences = model.predictor->sentences();
    if (sentences != nullptr) {  // run() has refused those without explanations
      require_no_label(model, options_);
      print_text(explanation_text(sentences->explain_sentence(arguments_.examples_path(model), row_,
                                                              num_features(), control.run())));
      return;
    }
    const Examples raw = arguments_.read(model, control, /*needs_labels=*/false);
    require<InvalidOption>(row_ <= raw.num_rows(), "option row is ", row_,
                           ", but the data have only ", raw.num_rows(), " rows");
    const auto row = static_cast<std::uint32_t>(row_ - 1);
    const Examples one = select_rows(raw, std::span(&row, 1));
    const CsrMatrix X = preprocess(model, one);
    Executor executor(1);
    const auto [predicted, explained] =
        naming_rows([&](std::size_t) { return concat(raw.source, ": row ", row_); },
                    [&] {
                      LabelSets sets = model.rows().predict(X, executor);
                      std::vector<LabelId> labels(sets[0].begin(), sets[0].end());
                      if (!options_.label.empty()) labels = {asked_label(model, X)};
                      return std::pair(std::move(sets), std::move(labels));
                    });
    control.end_progress();
    std::string line = "row " + std::to_string(row_) + ": predicted ";
    append_labels(line, predicted[0], model.labels.names());
    line += "; labels in the data: ";
    append_labels(line, one.labels[0], one.codec.names());
    print_text(line + "\n");
    for (const LabelId label : explained) {
      print(model, model.explain(X.row(0), label, num_features()));
    }
  }

  ModelArguments arguments_;
  std::uint64_t row_ = 0;
  BoundOptions<ExplainOptions> explanation_;
  ExplainOptions options_;  // those of explanation_
  std::string svg_path_, dot_path_;
};

}  // namespace

Verb explain_verb() {
  return make_verb<Explain>("explain",
                            "the parts of a row's score, or the network of a kernel model");
}

}  // namespace margrove::cli
