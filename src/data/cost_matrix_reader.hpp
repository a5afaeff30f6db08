#pragma once
// Files with the costs of predicting one label for another (docs/formats.md).

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "margrove/label_codec.hpp"

namespace margrove {

/// Costs between labels of a codec.
struct CostMatrix {
  std::string source;           // for messages
  std::vector<LabelId> labels;  // distinct, in the order of the columns
  std::vector<double> costs;    // one row per true label, one column per predicted label

  /// The costs between `wanted`, in their order: wanted x wanted. Throws InvalidInput naming the
  /// first of them that the matrix lacks. `codec` gives its name.
  std::vector<double> among(std::span<const LabelId> wanted, const LabelCodec& codec) const;
};

/// Reads CSV from a plain, gzip or zstd file. The first line names the predicted labels, and its
/// first cell is ignored; the first cell of every other line names the true label. Rows and columns
/// may have different orders. Throws InvalidInput "file:line:column: ..." on labels that `codec`
/// lacks, that repeat or are missing, on costs that are not finite numbers >= 0, and on a cost
/// other than 0 of the true label itself. O(bytes).
CostMatrix read_cost_matrix(const std::string& path, const LabelCodec& codec);
/// The same from memory; `name` stands for the file in messages.
CostMatrix parse_cost_matrix(std::string_view bytes, const std::string& name,
                             const LabelCodec& codec);

}  // namespace margrove
