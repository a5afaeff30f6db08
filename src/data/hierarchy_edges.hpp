#pragma once
// The edges of a hierarchy file: their locations and cycles among them.

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "margrove/control.hpp"
#include "margrove/dataset.hpp"

namespace margrove {

struct HierarchyOptions {
  bool part_of = false;           // OBO: its edges too
  std::string language = {};      // SKOS: of the names; empty: any
  bool other_names = false;       // SKOS and OBO: Hierarchy::other_names, too
  RunControl* control = nullptr;  // asked while the file is read
};
/// Ids that an ontology no longer uses and that stand for no term.
struct FormerTerms {
  std::set<std::string> ambiguous;              // alternative ids of several terms
  std::map<std::string, std::string> obsolete;  // and what replaces them, or empty
  bool empty() const { return ambiguous.empty() && obsolete.empty(); }
};
/// As read_hierarchy(path). The former terms of OBO are written to `former`, unless that is null.
/// Throws InvalidOption for an option that serves another format than that of the file, and
/// OutOfTimeLimit where the control asks to end.
Hierarchy read_hierarchy(const std::string& path, const HierarchyOptions& options,
                         FormerTerms* former = nullptr);

/// Adds a name to Hierarchy::other_names of a node.
inline void add_line(std::string& names, std::string_view name) {
  if (!names.empty()) names += '\n';
  names += name;
}

/// "file:line" of an edge, or its two names if the hierarchy did not come from a file.
std::string edge_location(const Hierarchy& hierarchy, std::size_t edge);

/// Throws InvalidInput naming the last edge (by line) of some cycle, and the nodes on it.
/// O(nodes + edges).
void require_acyclic(const Hierarchy& hierarchy);

}  // namespace margrove
