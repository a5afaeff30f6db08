#pragma once
// The kinds of rows, and the formats of their files. docs/adding_a_kind_of_rows.md and
// docs/adding_a_format.md say how to add one.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/records.hpp"
#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/errors.hpp"
#include "margrove/text_reader.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {

struct ReadOptions {
  const LabelCodec* codec = nullptr;  // labels get its ids, and new ones the ids after it
  bool known_labels_only = false;     // a label that `codec` lacks is an error
  bool refuse_labels_alone = false;   // a file of labels alone, without any feature, is an error
  const RecordSelection* selection = nullptr;     // of records, which need it
  const ColumnPatterns* patterns = nullptr;       // null: names of features with * are columns, too
  bool labels_optional = false;                   // records may lack the selected labels
  std::string_view format = {};                   // its name; empty: by kind, extension and content
  std::optional<std::uint32_t> first_index = {};  // SvmlightOptions::first_index
  /// Of each column of vectors the numbers that a row must have; empty: as many as the first row.
  std::span<const std::uint32_t> vector_widths = {};
  /// Where the vectors of rows are that `selection` does not name: an array (data/vector_file.hpp);
  /// empty: there are none.
  std::string_view vector_file = {};
  bool may_need_vector_file = false;  // for messages: one that is not given
};

/// Rows of a request to a model with these options and views (empty: one source).
struct JsonRows {
  std::span<const std::string_view> texts;
  const std::string& source;
  std::int64_t first;  // the number of the first row in messages
  const ReadOptions& options;
  std::span<const View> views;
};

struct RecordFeatures;
struct FittedRecords;

/// What front ends and trainings ask of a kind of rows.
struct RowKindInfo {
  std::string_view name;  // as messages name the rows, in the plural
  /// The numbers that a model with these features (of kinds with `fit`, otherwise null) and this
  /// preprocessing takes. Throws OutOfTime where `control`, which may be null, asks to end.
  CsrMatrix (*apply)(const RecordFeatures* features, const Preprocessing& preprocessing,
                     const Rows& rows, RunControl* control);
  Examples (*read_json)(const JsonRows& rows);  // data/json_rows.hpp
  /// Features that are fitted before the preprocessing, which is then that of numbers, and what
  /// they make of the rows; null: none.
  FittedRecords (*fit)(const Examples& rows, const TfidfOptions& terms,
                       RunControl* control) = nullptr;
  /// Of kinds with `fit`: which rows cannot have the options text and tfidf, for a message.
  std::string_view without_terms = {};
  bool are_texts = false;  // the preprocessing takes their terms
  /// They are a matrix: columns have indices, may stay as they are, and further views may follow.
  bool are_matrix = false;
};
const RowKindInfo& info_of(RowKind kind);
/// The kind of rows that options ask for: columns are selected, the rows are texts, or their format
/// has this name (empty: any).
RowKind row_kind(bool selects_columns, bool are_texts, std::string_view format = {});
/// The kind of rows that a model with these features (null: none) and this preprocessing takes.
RowKind row_kind(const RecordFeatures* features, const Preprocessing& preprocessing);

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
  Examples (*read)(const std::string& path, const ReadOptions& options, RunControl* control);
  std::string_view name = {};  // of --format
  /// Whether a file that begins with `start` is of this format; null: yes.
  bool (*claims)(std::string_view start) = nullptr;
  /// The rows of a part, perhaps none; messages call the file `name`. Throws LostRows for errors
  /// after which the end of a row is not sure. Null: the format cannot be
  /// read in parts.
  Examples (*read_part)(const FilePart& part, const std::string& name,
                        const ReadOptions& options) = nullptr;
  /// Whether the first line that is not blank is a header; null: there are none.
  bool (*is_header)(std::string_view line) = nullptr;
  /// Where the first row of `text` ends, after its line end; npos if it is not complete. Null: each
  /// line is a row, or none.
  std::size_t (*row_end)(std::string_view text, std::string_view header,
                         const ReadOptions& options) = nullptr;
  bool reads_folders = false;  // `read` takes folders, too, which need no claim
  bool holds_lists = false;    // a cell may be a list of numbers
};

/// The registry, in which formats with an extension come first.
std::span<const RowFormat> row_formats();
/// "auto" and the names of all formats, in the order of help pages.
std::vector<std::string> format_choices();

/// The format of the given name or, if it is empty, the first one of the kind that claims the file
/// by its extension (apart from ".gz" and ".zst") and its first bytes. Throws InvalidInput if these
/// must be read but cannot.
const RowFormat& row_format_of(std::span<const RowFormat> formats, std::string_view path,
                               RowKind kind, std::string_view name = {});
/// The same for rows that begin with `start` and are no file with an extension.
const RowFormat& row_format_starting(std::span<const RowFormat> formats, RowKind kind,
                                     std::string_view start, std::string_view name = {});

}  // namespace margrove
