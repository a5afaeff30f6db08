#include "data/path_list_parser.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "data/path_ids.hpp"

namespace margrove::detail {
namespace {

constexpr std::string_view kSeparator = " > ";

/// The number before ` - ` at the start of a line; empty if there is none.
std::string_view number_of(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  const bool has_number = end != std::string_view::npos && end > 0 &&
                          text.substr(end).starts_with(" - ") &&
                          !trimmed(text.substr(end + 3)).empty();
  return has_number ? text.substr(0, end) : std::string_view();
}
std::string_view after_number(std::string_view text) {
  const std::size_t size = number_of(text).size();
  return size == 0 ? text : trimmed(text.substr(size + 3));
}

}  // namespace

bool PathListParser::begins_with(std::string_view start) {
  std::set<std::string_view> roots;
  while (!start.empty()) {
    const std::size_t newline = start.find('\n');
    std::string_view line = start.substr(0, newline);
    start.remove_prefix(newline == std::string_view::npos ? start.size() : newline + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trimmed(line);
    if (line.empty() || line.starts_with('#')) continue;
    if (line.find('\t') != std::string_view::npos) return false;
    const std::string_view path = after_number(line);
    const std::size_t separator = path.find(kSeparator);
    if (separator != std::string_view::npos) {
      return roots.empty() || roots.contains(trimmed(path.substr(0, separator)));
    }
    roots.insert(path);
  }
  return false;
}

void PathListParser::parse_line(const Line& line) {
  const std::string_view text = trimmed(line.text);
  if (text.empty() || text.starts_with('#')) return;
  const std::string_view number = number_of(text);
  if (hierarchy_.names.empty()) has_ids_ = !number.empty();
  if (has_ids_ && number.empty()) {
    line.fail(text.data(), "the path has no number, but must be like the first one, '123 - A > B'");
  }
  const std::string_view path = has_ids_ ? after_number(text) : text;
  // With numbers, the path is no label but has to be bounded, too.
  line.require_name(path);
  const std::vector<std::string> names = split_path(path, kSeparator);
  if (std::ranges::any_of(names, [](const std::string& name) { return name.empty(); })) {
    line.fail(path.data(), "the path ", quoted(path), " has an empty name");
  }
  const std::string id = join_path(names, kSeparator);
  if (const std::int64_t known = line_of(id); known > 0) {
    line.fail(path.data(), "path ", quoted(path), " is on line ", known,
              " already, but must occur once");
  }
  if (!has_ids_) {
    add_path(line, names);
    return;
  }
  if (hierarchy_.codec.find(number)) {
    line.fail(number.data(), "number ", quoted(number), " is that of another path already");
  }
  const LabelId node = add_node(number, names.back());
  places_.insert_or_assign(id, Place{node, line.number});
  if (names.size() > 1) {
    children_.push_back(
        {node, join_path(std::span(names).first(names.size() - 1), kSeparator), line.number});
  }
}

std::int64_t PathListParser::line_of(const std::string& path) const {
  if (has_ids_) {
    const auto known = places_.find(path);
    return known == places_.end() ? 0 : known->second.line;
  }
  const auto node = hierarchy_.codec.find(path);
  return node ? lines_[*node] : 0;
}

LabelId PathListParser::add_node(std::string_view id, const std::string& name) {
  hierarchy_.names.push_back(name);
  return hierarchy_.codec.add(id);
}

/// Adds the nodes of a path without a number.
void PathListParser::add_path(const Line& line, const std::vector<std::string>& names) {
  std::string id;
  LabelId parent = 0;
  for (std::size_t level = 0; level < names.size(); ++level) {
    if (level > 0) id += kSeparator;
    id += join_path({&names[level], 1}, kSeparator);
    std::optional<LabelId> node = hierarchy_.codec.find(id);
    if (!node) {
      // With its backslashes, it may be longer than in the file.
      if (const std::string fault = name_fault(id); !fault.empty()) {
        line.fail(line.text.data(), "path ", fault);
      }
      if (line.meter != nullptr) line.meter->add(id.size());
      node = add_node(id, names[level]);
      lines_.push_back(0);
      if (level > 0) {
        hierarchy_.edges.push_back({parent, *node});
        hierarchy_.lines.push_back(line.number);
      }
    }
    parent = *node;
  }
  lines_[parent] = line.number;
}

Hierarchy PathListParser::finish() {
  for (const Child& child : children_) {
    const auto parent = places_.find(child.parent);
    require(parent != places_.end(), hierarchy_.source, ":", child.line, ":1: the path above it, ",
            quoted(child.parent), ", has no line, which must tell its number");
    hierarchy_.edges.push_back({parent->second.node, child.node});
    hierarchy_.lines.push_back(child.line);
  }
  require(!hierarchy_.edges.empty(), hierarchy_.source,
          ": the file has no edge, but must have a path of two names");
  return std::move(hierarchy_);
}

}  // namespace margrove::detail
