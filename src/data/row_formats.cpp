#include "data/row_formats.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "margrove/svmlight_reader.hpp"

namespace margrove {
namespace {

ReadRows svmlight_rows(const std::string& path, const ReadOptions& options, RunControl* control) {
  return read_svmlight(path,
                       {.codec = options.codec,
                        .known_labels_only = options.known_labels_only,
                        .refuse_labels_alone = options.refuse_labels_alone},
                       control);
}

ReadRows text_rows(const std::string& path, const ReadOptions& options, RunControl* control) {
  return read_text(path, {options.codec, options.known_labels_only}, control);
}

// One line for each format.
constexpr std::array kFormats{
    RowFormat{RowKind::numbers, "", svmlight_rows},
    RowFormat{RowKind::documents, "", text_rows},
};

}  // namespace

std::span<const RowFormat> row_formats() { return kFormats; }

const RowFormat& row_format_of(std::span<const RowFormat> formats, std::string_view path,
                               RowKind kind) {
  for (const std::string_view compressed : {".gz", ".zst"}) {
    if (path.ends_with(compressed)) path.remove_suffix(compressed.size());
  }
  const auto found = std::find_if(formats.begin(), formats.end(), [&](const RowFormat& format) {
    return format.kind == kind && path.ends_with(format.extension);
  });
  if (found == formats.end()) throw std::logic_error("no row format claims every file");
  return *found;
}

}  // namespace margrove
