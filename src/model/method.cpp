#include "model/method.hpp"

#include <set>

namespace margrove {

std::vector<std::string> limits_of(const Method& method) {
  std::vector<std::string> limits;
  if (method.read_examples) limits.emplace_back("examples in files of their own format");
  if (!method.label_sets) limits.emplace_back("one label per row");
  if (!method.row_weights) limits.emplace_back("no weights of rows");
  return limits;
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

}  // namespace margrove
