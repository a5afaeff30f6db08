#pragma once
// The formats of files of rows. docs/adding_a_format.md says how to add one.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "data/records.hpp"
#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/errors.hpp"
#include "margrove/text_reader.hpp"

namespace margrove {

/// Rows of numbers are a Dataset, documents a TextDataset, rows with named fields a RecordDataset.
using ReadRows = std::variant<Dataset, TextDataset, RecordDataset>;

struct ReadOptions {
  const LabelCodec* codec = nullptr;  // labels get its ids, and new ones the ids after it
  bool known_labels_only = false;     // a label that `codec` lacks is an error
  bool refuse_labels_alone = false;   // a file of labels alone, without any feature, is an error
  const RecordSelection* selection = nullptr;     // of records, which need it
  const ColumnPatterns* patterns = nullptr;       // null: names of features with * are columns, too
  bool labels_optional = false;                   // records may lack the selected labels
  std::string_view format = {};                   // its name; empty: by kind, extension and content
  std::optional<std::uint32_t> first_index = {};  // SvmlightOptions::first_index
};

/// An error after which nothing says where the next row begins, so that rows after it cannot be
/// read even where rows with errors are left out.
class LostRows : public InvalidInput {
 public:
  using InvalidInput::InvalidInput;
};

/// Whole rows from the middle of a file, whose header, if it has one, was read before.
struct FilePart {
  std::string_view rows;
  std::string_view header = {};   // with its line end; empty: there is none
  std::int64_t lines_before = 0;  // of the file before `rows`, those of the header included
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
  /// The rows of a part, perhaps none; messages call the file `name`. Throws LostRows for errors
  /// after which the end of a row is not sure. Null: the format cannot be
  /// read in parts.
  ReadRows (*read_part)(const FilePart& part, const std::string& name,
                        const ReadOptions& options) = nullptr;
  /// Whether the first line that is not blank is a header; null: there are none.
  bool (*is_header)(std::string_view line) = nullptr;
  /// Where the first row of `text` ends, after its line end; npos if it is not complete. Null: each
  /// line is a row, or none.
  std::size_t (*row_end)(std::string_view text, std::string_view header,
                         const ReadOptions& options) = nullptr;
  bool reads_folders = false;  // `read` takes folders, too, which need no claim
};

/// The registry, in which formats with an extension come first.
std::span<const RowFormat> row_formats();

/// The format of the given name or, if it is empty, the first one of the kind that claims the file
/// by its extension (apart from ".gz" and ".zst") and its first bytes. Throws InvalidInput if these
/// must be read but cannot.
const RowFormat& row_format_of(std::span<const RowFormat> formats, std::string_view path,
                               RowKind kind, std::string_view name = {});
/// The same for rows that begin with `start` and are no file with an extension.
const RowFormat& row_format_starting(std::span<const RowFormat> formats, RowKind kind,
                                     std::string_view start, std::string_view name = {});

}  // namespace margrove
