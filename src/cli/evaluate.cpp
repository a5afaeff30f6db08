// margrove evaluate

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/labelled_arguments.hpp"
#include "cli/verbs.hpp"
#include "data/input_file.hpp"
#include "eval/evaluation.hpp"
#include "eval/evaluation_tables.hpp"
#include "eval/named_metrics.hpp"

namespace margrove::cli {
namespace {

/// The lines of a file that are not empty.
std::vector<std::string> names_in(const std::string& path) {
  std::string text;
  LineBlocks lines(open_file(path), path);
  while (lines.next()) text += lines.text();
  std::vector<std::string> names;
  std::istringstream stream(text);
  for (std::string name; std::getline(stream, name);) {
    if (name.ends_with('\r')) name.pop_back();
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

/// The values with these names; all of them where there is no name or "all".
std::vector<NamedValue> chosen(const std::vector<NamedValue>& values,
                               const std::vector<std::string>& names) {
  if (names.empty() || std::ranges::find(names, "all") != names.end()) return values;
  for (const std::string& name : names) value_named(values, name, "all");
  std::vector<NamedValue> some;
  for (const NamedValue& each : values) {
    if (std::ranges::find(names, each.name) != names.end()) some.push_back(each);
  }
  return some;
}

class Evaluate final : public Command {
 public:
  explicit Evaluate(CLI::App& app) {
    arguments_.model.declare(app);
    app.add_flag("--json", json_, "one JSON object instead of lines");
    const std::size_t first_of_rows = app.get_options().size();
    arguments_.declare_labels(app);
    evaluation_.declare(app, "Options");
    app.add_option("--train", train_path_,
                   "rows that the model was trained on, for the propensities of labels")
        ->type_name("FILE");
    app.add_option("--per-label", per_label_path_, "CSV file to write with a line per label")
        ->type_name("FILE");
    app.add_option("--per-level", per_level_path_,
                   "CSV file to write with a line per level of the hierarchy")
        ->type_name("FILE");
    app.add_option("--per-frequency", per_frequency_path_,
                   "CSV file to write with the scores of labels by their number of training rows")
        ->type_name("FILE");
    app.add_option("--confusion", confusion_path_,
                   "CSV file to write with the confusions of siblings")
        ->type_name("FILE");
    of_rows_ = named_options(app, first_of_rows);
    std::erase(of_rows_, app.get_option("--metrics"));
  }

  int run() override {
    EvaluationOptions options = evaluation_.parse();
    std::vector<std::string> inputs = arguments_.input_paths();
    inputs.push_back(train_path_);
    for (const std::string& path :
         {per_label_path_, per_level_path_, per_frequency_path_, confusion_path_}) {
      require_result_writable(path, inputs);
    }
    CommandControl control = arguments_.model.control();
    const ModelParts model = arguments_.model.load();
    Executor executor(arguments_.model.threads);
    if (const FilePredictor* files = model.predictor->files()) {
      refuse_options_of_rows(of_rows_, model);
      const FileEvaluation found =
          files->evaluate_file(arguments_.model.examples_path(model), executor, control.run());
      const auto some = chosen(found.values, options.metrics.names);
      for (const std::string& message : found.warnings) warn(message);
      control.start_writing();
      print_values(some);
      return kOk;
    }
    const EvaluatedRows rows = arguments_.read(model, control, executor, train_path_).rows;
    control.end_progress();
    if (rows.num_rows_with_unknown > 0) {
      const bool may_be_alternative = model.has_hierarchy && model.labels.alternatives().empty() &&
                                      arguments_.hierarchy_path.empty();
      warn(fmt::format(
          "{} rows have labels that the model does not know ({} of them); they count "
          "as missed{}",
          rows.num_rows_with_unknown, rows.num_unknown_labels,
          may_be_alternative ? "; --hierarchy FILE.obo gives alternative ids their terms" : ""));
    }
    const std::string ignored = options.ignored_nodes.to_text();
    if (std::filesystem::is_regular_file(ignored)) options.ignored_nodes.names = names_in(ignored);
    options.node_scores = !per_label_path_.empty();
    const ModelEvaluation evaluation = evaluate_rows(model, rows, options, executor);
    control.start_writing();
    write_tables(rows, evaluation);
    if (json_) {
      print_json(rows, evaluation);
    } else {
      print_lines(rows, evaluation);
    }
    return kOk;
  }

 private:
  void write_tables(const EvaluatedRows& rows, const ModelEvaluation& evaluation) const {
    const PrecisionRecall* node_scores =
        evaluation.node_scores ? &*evaluation.node_scores : nullptr;
    if (!per_label_path_.empty()) write_result(per_label_path_, per_label_csv(rows, node_scores));
    if (!per_level_path_.empty()) write_result(per_level_path_, per_level_csv(rows));
    if (!per_frequency_path_.empty()) write_result(per_frequency_path_, per_frequency_csv(rows));
    if (!confusion_path_.empty()) write_result(confusion_path_, confusion_csv(rows));
  }

  void print_values(const std::vector<NamedValue>& values) const {
    nlohmann::ordered_json object;
    for (const auto& [name, value] : values) {
      if (json_) {
        object[name] = value;
      } else {
        std::cout << fmt::format("{:<24} {:.4f}\n", name, value);
      }
    }
    if (json_) std::cout << object.dump() << "\n";
  }

  static void print_json(const EvaluatedRows& rows, const ModelEvaluation& evaluation) {
    nlohmann::ordered_json object, intervals;
    object["examples"] = rows.truth.num_rows();
    for (const EvaluatedMetric& metric : evaluation.metrics) {
      object[metric.name] = metric.value;
      if (metric.interval) intervals[metric.name] = {metric.interval->low, metric.interval->high};
    }
    if (!intervals.empty()) object["intervals"] = intervals;
    if (!evaluation.left_out.empty()) object["left_out"] = evaluation.left_out;
    std::cout << object.dump() << "\n";
  }

  static void print_lines(const EvaluatedRows& rows, const ModelEvaluation& evaluation) {
    std::cout << fmt::format("{:<24} {}\n", "examples", rows.truth.num_rows());
    std::string group;
    for (const EvaluatedMetric& metric : evaluation.metrics) {
      if (metric.group != group) std::cout << fmt::format("\n{}\n", metric.group);
      group = metric.group;
      std::cout << fmt::format("{:<24} {:.4f}", metric.name, metric.value);
      if (metric.interval) {
        std::cout << fmt::format("  [{:.4f}, {:.4f}]", metric.interval->low, metric.interval->high);
      }
      std::cout << "\n";
    }
    for (const std::string& sentence : evaluation.left_out) std::cout << "\n" << sentence << "\n";
  }

  LabelledArguments arguments_;
  bool json_ = false;
  BoundOptions<EvaluationOptions> evaluation_;
  std::vector<const CLI::Option*> of_rows_;  // that other examples do not have
  std::string train_path_;
  std::string per_label_path_, per_level_path_, per_frequency_path_, confusion_path_;
};

}  // namespace

Verb evaluate_verb() {
  return make_verb<Evaluate>("evaluate", "metrics of a model on labelled rows");
}

}  // namespace margrove::cli
