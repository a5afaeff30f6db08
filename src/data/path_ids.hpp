#pragma once
// Ids of nodes that are paths: the names from the root down, joined by a separator, so that equal
// names under different parents are different nodes. In names, a backslash and the separator's
// first character other than a blank are escaped by a backslash, so that ids of different paths
// differ.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace margrove {

/// Throws InvalidOption if the text cannot separate names: it is empty or has a backslash.
void require_path_separator(std::string_view separator);

/// The id of a path.
std::string join_path(std::span<const std::string> names, std::string_view separator);

/// The names of an id, without blanks around each. Paths written by hand may omit backslashes where
/// nothing is ambiguous: with the separator ` > `, `A > B >=2` has the names `A` and `B >=2`. A
/// name may be empty, as in `A >  > B`.
std::vector<std::string> split_path(std::string_view id, std::string_view separator);

}  // namespace margrove
