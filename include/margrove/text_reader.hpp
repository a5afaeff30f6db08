#pragma once
// Documents as text: `label[,label]<TAB>text` on each line. docs/formats.md has the rules
// and their errors.

#include <string>
#include <string_view>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/control.hpp"
#include "margrove/dataset.hpp"

namespace margrove MARGROVE_API {

/// Documents and their labels, one document per row.
struct TextDataset {
  std::vector<std::string> documents;  // valid UTF-8
  LabelSets labels;
  LabelCodec codec;
};

struct TextOptions {
  /// Labels get the ids of this codec, and new ones the ids after it; without it, ids follow the
  /// order of appearance.
  const LabelCodec* codec = nullptr;
  /// A label that `codec` lacks is an error.
  bool known_labels_only = false;
};

/// Reads a plain, gzip or zstd file. A row without labels starts with the tab. Throws InvalidInput
/// "file:line:column: ..." for a line without a tab, an empty or unknown label, or text that is not
/// UTF-8. When `control` asks to end, returns the rows read so far. O(bytes).
TextDataset read_text(const std::string& path, const TextOptions& options = {},
                      RunControl* control = nullptr);
/// The same from memory; `name` stands for the file in messages.
TextDataset parse_text(std::string_view bytes, const std::string& name,
                       const TextOptions& options = {}, RunControl* control = nullptr);

}  // namespace margrove
