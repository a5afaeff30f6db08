#pragma once
// Sentences of a CoNLL column file with one token per line. docs/formats.md has the rules and
// errors.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/input_file.hpp"
#include "data/row_formats.hpp"
#include "margrove/control.hpp"
#include "margrove/label_codec.hpp"
#include "margrove/options.hpp"

namespace margrove {

/// A sentence of a column file: the token and its features as text, and its tag.
struct ColumnSentence {
  std::vector<std::string> cells;  // num_tokens x num_columns, row by row; column 0 is the token
  std::vector<LabelId> tags;       // one per token; empty if the file has none
};
struct ColumnCorpus {
  std::vector<ColumnSentence> sentences;
  std::size_t num_columns = 0;  // without the tag
  LabelCodec tags;              // the given ones, then new ones in order of first appearance

  std::size_t size() const { return sentences.size(); }
  const LabelCodec& labels() const { return tags; }
  std::size_t num_tokens(std::size_t sentence) const {
    return sentences[sentence].cells.size() / num_columns;
  }
  const std::string& cell(std::size_t sentence, std::size_t token, std::size_t column) const {
    return sentences[sentence].cells[token * num_columns + column];
  }
};

/// A cell of the form name:number; the number may be infinite or NaN.
struct NumericCell {
  std::string_view name;
  float value;
};
std::optional<NumericCell> numeric_cell(std::string_view cell);

/// What lines before the first token of a sentence are that consist of "#" or begin with "# ".
enum class ColumnComments {
  automatic,  // tokens; but where every token # is such a line and its tag is of no other token, an
              // error
  none,       // tokens
  hash,       // comments
};
template <>
inline constexpr auto kEnumNames<ColumnComments> =
    std::array{EnumName{ColumnComments::automatic, "auto"}, EnumName{ColumnComments::none, "none"},
               EnumName{ColumnComments::hash, "hash"}};

/// Whether a line has no token: -DOCSTART-, or a comment, which begins_sentence allows if there
/// are any. A blank line has none either.
bool is_between_tokens(std::string_view line, bool begins_sentence, bool has_comments);

struct ColumnOptions {
  /// Whether the last column is the tag. If not, every column is a feature.
  bool has_tags = true;
  /// Tags get the ids of this codec, and new tags the ids after them. Null: an empty codec.
  const LabelCodec* tags = nullptr;
  ColumnComments comments = ColumnComments::none;
};

/// Reads a CoNLL column file (plain, gzip or zstd). The columns of a line are the token, its
/// features and its tag. A blank line ends a sentence, and lines that start with -DOCSTART- are
/// left out. A line with a tab is split at tabs, any other line at blanks. Throws InvalidInput
/// "file:line:column: ..." on lines of different length, empty cells, numbers that are not finite,
/// text that is not UTF-8, and lines that look like comments where options.comments is automatic;
/// OutOfTimeLimit where `control`, whose memory limit bounds lines, asks to end. O(bytes).
ColumnCorpus read_columns(const ExampleSource& source, const ColumnOptions& options = {},
                          RunControl* control = nullptr);
/// The sentences of a part of such a file, perhaps none.
ColumnCorpus read_columns_part(const FilePart& part, const std::string& name,
                               const ColumnOptions& options = {});
ColumnCorpus parse_columns(std::string_view bytes, const std::string& name,
                           const ColumnOptions& options = {}, RunControl* control = nullptr);

}  // namespace margrove
