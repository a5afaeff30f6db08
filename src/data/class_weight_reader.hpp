#pragma once
// Files with the weights of labels (docs/formats.md).

#include <string>
#include <string_view>
#include <vector>

#include "margrove/label_codec.hpp"

namespace margrove {

/// Reads lines `label weight` from a plain, gzip or zstd file: a weight for each label of `codec`,
/// 1 for those that the file does not name. Throws InvalidInput "file:line:column: ..." for a label
/// that `codec` lacks or that repeats, and for a weight that is not a number >= 0. O(bytes +
/// labels).
std::vector<double> read_class_weights(const std::string& path, const LabelCodec& codec);
/// The same from memory; `name` stands for the file in messages.
std::vector<double> parse_class_weights(std::string_view bytes, const std::string& name,
                                        const LabelCodec& codec);

}  // namespace margrove
