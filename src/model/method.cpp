#include "model/method.hpp"

#include <algorithm>
#include <set>

namespace margrove {
namespace {

/// As on a command line: "--multiclass crammer-singer", "--partial-labels".
std::string as_typed(const std::pair<std::string, std::string>& option) {
  std::string name = option.first;
  std::ranges::replace(name, '_', '-');
  return concat("--", name, option.second == "true" ? "" : " " + option.second);
}

/// The first of the values that its option has; null if none has.
const OptionValues::value_type* first_present(const OptionValues& values,
                                              const OptionTable& options) {
  const auto found = std::ranges::find_if(
      values, [&](const auto& option) { return options.get(option.first) == option.second; });
  return found == values.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> limits_of(const Method& method) {
  std::vector<std::string> limits;
  if (method.read_examples) limits.emplace_back("examples in files of their own format");
  if (!method.label_sets) limits.emplace_back("one label per row");
  if (!method.row_weights) limits.emplace_back("no weights of rows");
  if (!method.kernel_features) limits.emplace_back("no kernel features");
  if (method.label_sets && !method.empty_sets) limits.emplace_back("no rows without a label");
  if (!method.no_empty_sets_with.empty()) {
    std::vector<std::string> options;
    for (const auto& option : method.no_empty_sets_with) {
      options.push_back(concat("`", as_typed(option), "`"));
    }
    limits.push_back("no rows without a label with " + detail::join(options, " or "));
  }
  return limits;
}

std::string obstacle_of_empty_sets(const Method& method, const OptionTable& options) {
  if (!method.empty_sets) return "takes no rows without a label";
  const auto* obstacle = first_present(method.no_empty_sets_with, options);
  if (obstacle == nullptr) return {};
  return concat("takes no rows without a label where ", obstacle->first, " is ", obstacle->second);
}

void require_empty_sets(const Method& method, const OptionTable& options,
                        LabelSets::Unlabelled meaning) {
  if (meaning != LabelSets::Unlabelled::keep) return;
  std::vector<std::string> others;
  for (const Method& each : methods()) {
    if (each.empty_sets && each.name != method.name) others.push_back(each.name);
  }
  const std::string obstacle = obstacle_of_empty_sets(method, options);
  require<InvalidOption>(obstacle.empty(), "option unlabelled is keep, but method ", method.name,
                         " ", obstacle, "; methods that do: ", detail::join(others, ", "));
}

bool has_warm_starts(const Method& method, const OptionTable& options) {
  return method.warm_starts && first_present(method.no_warm_starts_with, options) == nullptr;
}

bool needs_hierarchy(const Method& method, const OptionTable& options) {
  const std::string& substitute = method.hierarchy_substitute;
  return method.needs_hierarchy && (substitute.empty() || options.get(substitute).empty());
}

void set_options(OptionTable& table, const OptionValues& values) {
  std::set<std::string_view> given;
  for (const auto& [name, value] : values) {
    require<InvalidOption>(given.insert(name).second, "option ", name, " is given twice");
    table.set(name, value);
  }
  require<InvalidOption>(!(given.contains("C") && given.contains("lambda")),
                         "options C and lambda are both given, but each determines the other: "
                         "C = 1 / (2 lambda)");
}

OptionValues option_values(const OptionTable& table) {
  OptionValues values;
  for (const OptionInfo& info : table.list()) values.emplace_back(info.name, table.get(info.name));
  return values;
}

OptionValues option_values(const OptionTable& table, const OptionValues& settled) {
  OptionValues values = option_values(table);
  for (auto& [name, value] : values) {
    for (const auto& [settled_name, text] : settled) {
      if (name == settled_name) value = text;
    }
  }
  return values;
}

}  // namespace margrove
