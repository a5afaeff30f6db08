#pragma once
// The id of a node that is its path: the names from the root down, with a separator between, so
// that equal names under different parents are different nodes. A backslash and the separator's
// first character other than a blank are written with a backslash before them where they occur in a
// name. Ids of different paths therefore differ.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace margrove {

/// Throws InvalidOption if the text cannot separate names: it is empty or has a backslash.
void require_path_separator(std::string_view separator);

/// The id of a path.
std::string join_path(std::span<const std::string> names, std::string_view separator);

/// The names of an id, without blanks around each. Also of paths that people wrote: what needs no
/// backslash may lack it, so that `A > B >=2` has the names `A` and `B >=2` with the separator
/// ` > `. A name may be empty, as in `A >  > B`.
std::vector<std::string> split_path(std::string_view id, std::string_view separator);

}  // namespace margrove
