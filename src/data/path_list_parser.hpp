#pragma once
// Hierarchies that are lists of paths, `A > B > C` on each line, as shops publish them.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/text_scan.hpp"
#include "margrove/dataset.hpp"

namespace margrove::detail {

/// Parses lines `A > B > C` or `123 - A > B > C`; a line that begins with `#` is a comment. Nodes
/// are the numbers, if the first path has one, or else the paths, as join_path() writes them; they
/// are called by the last names of their paths. Paths above others need no line unless there are
/// numbers.
class PathListParser {
 public:
  explicit PathListParser(std::string source) { hierarchy_.source = std::move(source); }

  /// Whether the first lines are paths: the first one, or one whose root is a line before it. Lines
  /// with tabs are none.
  static bool begins_with(std::string_view start);

  /// Throws InvalidInput "file:line:column: ..." for a path that occurs twice, lacks its number or
  /// has an empty name, and for what cannot be a label.
  void parse_line(const Line& line);
  /// Throws InvalidInput for a parent without a number, and for a file without edges.
  Hierarchy finish();

 private:
  struct Place {
    LabelId node;
    std::int64_t line;
  };
  /// A path whose parent is looked up after the last line.
  struct Child {
    LabelId node;
    std::string parent;
    std::int64_t line;
  };
  LabelId add_node(std::string_view id, const std::string& name);
  void add_path(const Line& line, const std::vector<std::string>& names);
  /// 0: the path has no line so far.
  std::int64_t line_of(const std::string& path) const;

  bool has_ids_ = false;
  std::unordered_map<std::string, Place> places_;  // of paths with numbers
  std::vector<Child> children_;                    // with numbers
  std::vector<std::int64_t> lines_;                // of nodes without numbers; 0: none so far
  Hierarchy hierarchy_;
};

}  // namespace margrove::detail
