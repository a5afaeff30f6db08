#include "data/column_patterns.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "data/text_scan.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr std::string_view kAllOthers = "*";

/// One kind of features of a selection.
struct Kind {
  std::string_view option;
  std::vector<std::string> RecordSelection::*names;
};
constexpr std::array kKinds{Kind{"text_column", &RecordSelection::text},
                            Kind{"numeric_columns", &RecordSelection::numeric},
                            Kind{"categorical_columns", &RecordSelection::categorical},
                            Kind{"vector_columns", &RecordSelection::vectors}};

/// Gives each column of a header to the pattern that takes it.
class Expansion {
 public:
  Expansion(const RecordSelection& given, const ColumnPatterns& patterns,
            std::span<const std::string> columns, const std::string& source)
      : given_(given),
        patterns_(patterns),
        columns_(columns),
        source_(source),
        present_(columns.begin(), columns.end()) {
    collect_names();
    std::set<std::string> seen;
    for (const std::string& column : columns_) {
      if (!column.empty() && !named_.contains(column) && seen.insert(column).second) give(column);
    }
  }

  RecordSelection result() const {
    RecordSelection selection = given_;
    for (std::size_t k = 0; k < kKinds.size(); ++k) {
      std::vector<std::string>& names = selection.*kKinds[k].names;
      names.clear();
      for (const std::string& name : given_.*kKinds[k].names) {
        if (!is_pattern(name)) {
          names.push_back(name);
          continue;
        }
        const auto taken = taken_.find({k, name});
        require(taken != taken_.end(), source_, ": no column is left for ", detail::quoted(name),
                " of option ", kKinds[k].option, "; the columns are ", list_of_columns(columns_));
        names.insert(names.end(), taken->second.begin(), taken->second.end());
      }
    }
    return selection;
  }

 private:
  bool is_pattern(const std::string& name) const {
    return is_column_pattern(name) && !present_.contains(name);
  }

  void collect_names() {
    for (const Kind& kind : kKinds) {
      for (const std::string& name : given_.*kind.names) named_.insert(name);
    }
    named_.insert(given_.path_levels.begin(), given_.path_levels.end());
    named_.insert({given_.label, given_.path});
    for (const std::string& name : patterns_.ignored) {
      if (is_pattern(name)) continue;
      require(present_.contains(name), source_, ": no column is called ", detail::quoted(name),
              ", which option ignore_columns names; the columns are ", list_of_columns(columns_));
      named_.insert(name);
    }
  }

  void give(const std::string& column) {
    const auto fits = [&](const std::string& name) {
      return is_pattern(name) && fits_pattern(name, column);
    };
    if (std::ranges::any_of(patterns_.ignored, fits)) return;
    for (const bool of_others : {false, true}) {
      std::vector<std::pair<std::size_t, std::string>> takers;  // at most one of each kind
      for (std::size_t k = 0; k < kKinds.size(); ++k) {
        const auto& names = given_.*kKinds[k].names;
        const auto first = std::ranges::find_if(names, [&](const std::string& name) {
          return (name == kAllOthers) == of_others && fits(name);
        });
        if (first != names.end()) takers.emplace_back(k, *first);
      }
      if (takers.empty()) continue;
      if (takers.size() > 1) refuse(column, takers[0], takers[1]);
      taken_[takers[0]].push_back(column);
      return;
    }
  }

  [[noreturn]] void refuse(const std::string& column, const std::pair<std::size_t, std::string>& a,
                           const std::pair<std::size_t, std::string>& b) const {
    throw InvalidInput(concat(
        source_, ": column ", detail::quoted(column), " fits ", detail::quoted(a.second),
        " of option ", kKinds[a.first].option, " and ", detail::quoted(b.second), " of option ",
        kKinds[b.first].option, ", but must fit one; name it in one of them"));
  }

  const RecordSelection& given_;
  const ColumnPatterns& patterns_;
  std::span<const std::string> columns_;
  const std::string& source_;
  std::set<std::string> present_, named_;
  std::map<std::pair<std::size_t, std::string>, std::vector<std::string>> taken_;
};

}  // namespace

bool is_column_pattern(std::string_view name) { return name.find('*') != std::string_view::npos; }

bool fits_pattern(std::string_view pattern, std::string_view name) {
  std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  name.remove_prefix(star);
  for (;;) {
    pattern.remove_prefix(star + 1);
    star = pattern.find('*');
    if (star == std::string_view::npos) return name.ends_with(pattern);
    const std::size_t at = name.find(pattern.substr(0, star));
    if (at == std::string_view::npos) return false;
    name.remove_prefix(at + star);
  }
}

RecordSelection expand_patterns(const RecordSelection& given, const ColumnPatterns& patterns,
                                std::span<const std::string> columns, const std::string& source) {
  return Expansion(given, patterns, columns, source).result();
}

std::string list_of_columns(std::span<const std::string> columns) {
  constexpr std::size_t kMaxNames = 20;
  std::string names;
  for (const std::string& name : columns.first(std::min(columns.size(), kMaxNames))) {
    names += concat(names.empty() ? "" : ", ", detail::quoted(name));
  }
  return columns.size() > kMaxNames ? names + ", ..." : names;
}

void check_patterns(const RecordSelection& selection, const ColumnPatterns& patterns) {
  if (patterns.ignored.empty()) return;
  bool has_pattern = false;
  for (const auto* names :
       {&selection.text, &selection.numeric, &selection.categorical, &selection.vectors}) {
    for (const std::string& name : *names) {
      has_pattern = has_pattern || is_column_pattern(name);
      require<InvalidOption>(std::ranges::count(patterns.ignored, name) == 0,
                             "option ignore_columns has '", name,
                             "', which is selected, but no column may be both");
    }
  }
  require<InvalidOption>(has_pattern,
                         "option ignore_columns is given, but the selected columns are named one "
                         "by one, without a pattern such as '*'");
}

}  // namespace margrove
