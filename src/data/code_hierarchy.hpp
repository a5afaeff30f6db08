#pragma once
// Hierarchies of codes that say where they belong by what they begin with: Dewey, UDC, ICD, HS,
// NACE, CPC.

#include <span>
#include <string>

#include "margrove/dataset.hpp"

namespace margrove {

/// The forest of the codes and of the beginnings at which two of them part: the parent of a node is
/// the longest other node that it begins with. A beginning is cut before punctuation and blanks at
/// its end, so that `A01.1` and `A01.2` part at `A01`. Codes are UTF-8. O(bytes + codes log codes).
Hierarchy hierarchy_of_codes(std::span<const std::string> codes, std::string source);

}  // namespace margrove
