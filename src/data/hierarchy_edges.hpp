#pragma once
// The edges of a hierarchy file: their locations and cycles among them.

#include <string>

#include "margrove/dataset.hpp"

namespace margrove {

struct HierarchyOptions {
  bool part_of = false;       // OBO: its edges too
  std::string language = {};  // SKOS: of the names; empty: any
};
/// As read_hierarchy(path). Throws InvalidOption for an option that serves another format than that
/// of the file.
Hierarchy read_hierarchy(const std::string& path, const HierarchyOptions& options);

/// "file:line" of an edge, or its two names if the hierarchy did not come from a file.
std::string edge_location(const Hierarchy& hierarchy, std::size_t edge);

/// Throws InvalidInput naming the last edge (by line) of some cycle, and the nodes on it.
/// O(nodes + edges).
void require_acyclic(const Hierarchy& hierarchy);

}  // namespace margrove
