#pragma once
// Predicted label sets, as `margrove predict` writes them: a line per row, labels separated by
// commas or tabs.

#include <string>
#include <string_view>

#include "margrove/dataset.hpp"

namespace margrove {

/// Reads a plain, gzip or zstd file; an empty line is an empty set. Labels get the ids of `codec`,
/// to which new ones are added. Throws InvalidInput "file:line:column: ..." for a name that is no
/// label, and naming the file if it has no line. O(bytes).
LabelSets read_predictions(const std::string& path, LabelCodec& codec);
/// The same from memory; `name` stands for the file in messages.
LabelSets parse_predictions(std::string_view bytes, const std::string& name, LabelCodec& codec);

}  // namespace margrove
