#pragma once
// The edges of a hierarchy file: their places in it, and whether they form a cycle.

#include <string>

#include "margrove/dataset.hpp"

namespace margrove {

/// read_hierarchy(), in which an OBO file also has the edges of part_of. Throws InvalidOption for a
/// file of another format.
Hierarchy read_hierarchy_with_parts(const std::string& path);

/// "file:line" of an edge, or its two names if the hierarchy did not come from a file.
std::string edge_location(const Hierarchy& hierarchy, std::size_t edge);

/// Throws InvalidInput naming the last edge (by line) of some cycle, and the nodes on it.
/// O(nodes + edges).
void require_acyclic(const Hierarchy& hierarchy);

}  // namespace margrove
