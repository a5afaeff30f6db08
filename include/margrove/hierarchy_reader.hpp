#pragma once
// Hierarchies as text: `parent child` on each line. docs/formats.md has the rules and their errors.

#include <string>
#include <string_view>

#include "margrove/api.hpp"
#include "margrove/dataset.hpp"

namespace margrove MARGROVE_API {

/// Reads a plain, gzip or zstd file of lines `parent child`, separated by blanks; `#` starts a
/// comment. Throws InvalidInput "file:line:column: ..." for a line that does not have two labels,
/// a self-edge, an edge that occurs twice (both lines are named) and a cycle (see
/// require_acyclic). O(bytes).
Hierarchy read_hierarchy(const std::string& path);
/// The same from memory; `name` stands for the file in messages.
Hierarchy parse_hierarchy(std::string_view bytes, const std::string& name);

}  // namespace margrove
