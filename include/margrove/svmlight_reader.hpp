#pragma once
// SVMlight / LIBSVM text with one or many labels per row, and the files of the Extreme
// Classification repository. docs/formats.md has the rules and their errors.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "margrove/api.hpp"
#include "margrove/control.hpp"
#include "margrove/dataset.hpp"

namespace margrove MARGROVE_API {

struct SvmlightOptions {
  /// The least number of columns of X.
  std::uint32_t num_features = 0;
  /// Labels get the ids of this codec, and new ones the ids after it; without it, ids follow the
  /// order of appearance.
  const LabelCodec* codec = nullptr;
  /// A label that `codec` lacks is an error.
  bool known_labels_only = false;
  /// A file without a header whose rows have labels and nothing after them, not even a blank, is an
  /// error, because it is likely to be of another format, such as CSV.
  bool refuse_labels_alone = false;
  /// The index of column 0 in the file, 0 or 1. Without it, it is 0 in files with a header and 1 in
  /// others, which must not have index 0.
  std::optional<std::uint32_t> first_index = {};
};

/// Reads `l1,l2 index:value ...` from a plain, gzip or zstd file; column j of X is index j + 1, or
/// index j if the file starts with the repository's line `rows features labels` or the options say
/// so. Rows without labels start with a blank. Throws InvalidInput "file:line:column: what is
/// value, but must be
/// ..." on anything else. When `control` asks to end, returns the rows read so far (see its
/// stop_reason()). O(bytes).
Dataset read_svmlight(const std::string& path, const SvmlightOptions& options = {},
                      RunControl* control = nullptr);
/// The same from memory; `name` stands for the file in messages.
Dataset parse_svmlight(std::string_view bytes, const std::string& name,
                       const SvmlightOptions& options = {}, RunControl* control = nullptr);

}  // namespace margrove
