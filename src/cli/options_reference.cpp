#include "cli/options_reference.hpp"

#include "cli/annotation_arguments.hpp"
#include "cli/record_arguments.hpp"
#include "eval/evaluation.hpp"
#include "model/answers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>

namespace margrove::cli {
namespace {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

void print_table(const std::vector<OptionInfo>& infos) {
  std::cout << "| Option | Value | Default | |\n|---|---|---|---|\n";
  for (const OptionInfo& info : infos) {
    const std::string value =
        info.range.empty() ? info.type : (info.type == "integer" ? "integer " : "") + info.range;
    std::cout << fmt::format("| `{}` | {} | `{}` | {} |\n", option_name(info.name), escaped(value),
                             info.default_value, escaped(info.help));
  }
  std::cout << "\n";
}

template <class Struct>
std::vector<OptionInfo> infos_of() {
  Struct options;
  return shown_options(OptionTable(options));
}

}  // namespace

bool asks_for_reference(const std::vector<std::string>& arguments) {
  return std::find(arguments.begin(), arguments.end(), "--options-reference") != arguments.end();
}

OptionsReference::OptionsReference(CLI::App& app) { app.add_flag("--options-reference"); }

int OptionsReference::run() {
  std::cout << "# Options\n\n"
               "Made by `margrove train --options-reference`; a test keeps this page and the "
               "program alike.\nIn C++ and Python names have underscores instead of dashes. "
               "Switches take no value on the\ncommand line; `--name=false` turns one off.\n\n";
  for (const Method& method : methods()) {
    std::string needs = method.needs_hierarchy ? "; needs `--hierarchy`" : "";
    if (!method.hierarchy_substitute.empty()) {
      needs += fmt::format(" or `{}`", option_name(method.hierarchy_substitute));
    }
    std::cout << fmt::format("## {}\n\n{}{}.\n\n", method.name, method.summary, needs);
    if (const auto limits = limits_of(method); !limits.empty()) {
      std::cout << fmt::format("Limits: {}.\n\n", fmt::join(limits, "; "));
    }
    print_table(method.start()->options().list());
  }
  std::cout << "## Columns of CSV, TSV and JSON lines (kept in the model)\n\n";
  print_table(record_option_infos());
  std::cout << "## Labels of rows from annotations\n\n";
  print_table(infos_of<AnnotationOptions>());
  std::cout << "## Preprocessing (kept in the model)\n\n";
  print_table(infos_of<PreprocessingOptions>());
  std::cout << "## Weights of rows\n\n";
  print_table(infos_of<RowWeightOptions>());
  std::cout << "## Run\n\n";
  print_table(infos_of<RunOptions>());
  std::cout << "## Answers of `predict` and of `/predict` (`serve`)\n\n";
  print_table(infos_of<AnswerOptions>());
  std::cout << "## Explanations of `explain` and of `/explain` (`serve`)\n\n";
  print_table(infos_of<ExplainOptions>());
  std::cout << "## Metrics of `evaluate`\n\n";
  print_table(infos_of<EvaluationOptions>());
  return kOk;
}

}  // namespace margrove::cli
