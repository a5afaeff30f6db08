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

std::string domain(const OptionInfo& info) {
  if (info.range.empty()) return info.type;
  if (info.type != "integer") return info.range;
  constexpr std::string_view kAutoOr = "auto or ";
  std::string text = info.range;
  return text.insert(text.starts_with(kAutoOr) ? kAutoOr.size() : 0, "integer ");
}

void print_table(const std::vector<OptionInfo>& infos) {
  std::cout << "| Option | Value | Default | |\n|---|---|---|---|\n";
  for (const OptionInfo& info : infos) {
    std::cout << fmt::format("| `{}` | {} | `{}` | {} |\n", option_name(info.name),
                             escaped(domain(info)), info.default_value, escaped(info.help));
  }
  std::cout << "\n";
}

void print_section(std::string_view title, const std::vector<OptionInfo>& infos) {
  std::cout << "## " << title << "\n\n";
  print_table(infos);
}

template <class Struct>
void print_section(std::string_view title) {
  Struct options;
  print_section(title, shown_options(OptionTable(options)));
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
  print_section("Columns of CSV, TSV and JSON lines (kept in the model)", record_option_infos());
  print_section<AnnotationOptions>("Labels of rows from annotations");
  print_section<PreprocessingOptions>("Preprocessing (kept in the model)");
  print_section<KernelModelOptions>("Learned kernels (kept in the model)");
  print_section<RowWeightOptions>("Weights of rows");
  print_section<RunOptions>("Run");
  print_section<AnswerOptions>("Answers of `predict` and of `/predict` (`serve`)");
  print_section<ExplainOptions>("Explanations of `explain` and of `/explain` (`serve`)");
  print_section<EvaluationOptions>("Metrics of `evaluate`");
  return kOk;
}

}  // namespace margrove::cli
