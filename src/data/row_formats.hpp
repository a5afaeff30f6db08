#pragma once
// The formats of files of rows. docs/adding_a_format.md says how to add one.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "data/records.hpp"
#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/text_reader.hpp"

namespace margrove {

/// Rows of numbers are a Dataset, documents a TextDataset, rows with named fields a RecordDataset.
enum class RowKind : std::uint8_t { numbers, documents, records };
using ReadRows = std::variant<Dataset, TextDataset, RecordDataset>;

struct ReadOptions {
  const LabelCodec* codec = nullptr;  // labels get its ids, and new ones the ids after it
  bool known_labels_only = false;     // a label that `codec` lacks is an error
  bool refuse_labels_alone = false;   // a file of labels alone, without any feature, is an error
  const RecordSelection* selection = nullptr;  // of records, which need it
  bool labels_optional = false;                // records may lack the selected labels
  std::string_view format = {};                // its name; empty: by kind, extension and content
};

/// One format. `read` returns rows of `kind`; it throws InvalidInput "file:line:column: ..." for
/// errors in the file, and returns the rows read so far when `control`, which may be null, asks to
/// end.
struct RowFormat {
  RowKind kind;
  std::string_view extension;  // ".tsv"; empty: any
  ReadRows (*read)(const std::string& path, const ReadOptions& options, RunControl* control);
  std::string_view name = {};  // of --format
  /// Whether a file that begins with `start` is of this format; null: yes.
  bool (*claims)(std::string_view start) = nullptr;
};

/// The registry, in which formats with an extension come first.
std::span<const RowFormat> row_formats();

/// The format of the given name or, if it is empty, the first one of the kind that claims the file
/// by its extension (apart from ".gz" and ".zst") and its first bytes. Throws InvalidInput if these
/// must be read but cannot.
const RowFormat& row_format_of(std::span<const RowFormat> formats, std::string_view path,
                               RowKind kind, std::string_view name = {});

}  // namespace margrove
