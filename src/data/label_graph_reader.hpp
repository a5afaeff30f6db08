#pragma once
// Undirected label graphs as text: a pair of labels on each line. docs/formats.md has the rules and
// their errors.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/label_codec.hpp"

namespace margrove {

/// Two labels that are alike.
struct LabelPair {
  LabelId first;
  LabelId second;
};

/// Reads a plain, gzip or zstd file of lines `label label`, separated by blanks; `#` starts a
/// comment. Pairs come in the order of the file. Throws InvalidInput "file:line:column: ..." for a
/// line that does not have two labels, a label that `codec` lacks, a label paired with itself and a
/// pair that occurs twice in whichever order (both lines are named), and naming the file if it has
/// no pair. O(bytes).
std::vector<LabelPair> read_label_graph(const std::string& path, const LabelCodec& codec);
/// The same from memory; `name` stands for the file in messages.
std::vector<LabelPair> parse_label_graph(std::string_view bytes, const std::string& name,
                                         const LabelCodec& codec);

}  // namespace margrove
