#pragma once
// Hierarchies of codes whose prefixes are their ancestors: Dewey, UDC, ICD, HS, NACE, CPC.

#include <span>
#include <string>

#include "margrove/dataset.hpp"

namespace margrove {

/// The forest of the codes and of the longest common prefixes of two of them. The parent of a node
/// is the longest other node that is a prefix of it. Punctuation and blanks at the end of a common
/// prefix are cut off, so that `A01.1` and `A01.2` have the parent `A01`. Codes are UTF-8. O(bytes
/// + codes log codes).
Hierarchy hierarchy_of_codes(std::span<const std::string> codes, std::string source);

}  // namespace margrove
