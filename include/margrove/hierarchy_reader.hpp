#pragma once
// Hierarchies as text: `parent child` on each line, OBO, or SKOS in Turtle, N-Triples or RDF/XML.
// docs/formats.md has the rules and their errors.

#include <string>
#include <string_view>

#include "margrove/api.hpp"
#include "margrove/dataset.hpp"

namespace margrove MARGROVE_API {

/// Reads a plain, gzip or zstd file of lines `parent child`, separated by tabs or blanks; `#`
/// starts a comment. A file that begins with `format-version:` is OBO: its nodes are the ids of the
/// terms that are not obsolete, its edges those of is_a. A file that begins as Turtle or N-Triples
/// is SKOS: its nodes are the URIs of the concepts that are not deprecated, its edges those of
/// broader and narrower. Throws InvalidInput "file:line:column: ..." for a line that does not have
/// two labels, a self-edge, an edge that occurs twice (both lines are named) and a cycle. O(bytes).
Hierarchy read_hierarchy(const std::string& path);
/// The same with the names in a language of SKOS (empty: any), and with Hierarchy::other_names if
/// `with_other_names`. Throws InvalidOption for a language where the file is not SKOS.
Hierarchy read_hierarchy(const std::string& path, const std::string& language,
                         bool with_other_names);
/// The same from memory; `name` stands for the file in messages.
Hierarchy parse_hierarchy(std::string_view bytes, const std::string& name);

}  // namespace margrove
