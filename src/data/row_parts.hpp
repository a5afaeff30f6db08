#pragma once
// Files of rows read in parts, as they come, and row by row where a part has an error.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "data/input_file.hpp"
#include "data/row_formats.hpp"
#include "data/text_scan.hpp"

namespace margrove {

/// Splits a source into parts of whole rows: each as many as have come without waiting for more, in
/// bounded memory beside the longest row.
class RowParts {
 public:
  /// Waits for the first line that is not blank. Throws InvalidInput if the format that `kind`, the
  /// name and this line give cannot be read in parts.
  RowParts(LineBlocks blocks, RowKind kind, const ReadOptions& options);
  /// Splits a source whose "rows" are those of `format`, which must outlive it. Where this has no
  /// read_part, parts cannot be read here.
  RowParts(LineBlocks blocks, const RowFormat& format);

  /// Moves to the next part; false at the end. Waits until there is a whole row.
  bool next();
  /// All rows of the source as one part, before the first call of next(). Throws InvalidInput if
  /// there are none.
  Examples read_all();
  /// The present part, valid until the next call of next(). At the end of the source its last row
  /// may be incomplete.
  FilePart part() const { return {rows_, header_, lines_before_}; }
  /// Splits the present part: its rows from byte `begin` on as a part, up to where the first of
  /// them ends.
  FilePart first_row(std::size_t begin) const;

  /// The rows of a part. Throws InvalidInput "name:line:column: ..." for errors in it.
  Examples read(const FilePart& part) const;
  /// From now on, parts may have labels alone, as files may if one of their rows has a feature.
  void allow_labels_alone() { options_.refuse_labels_alone = false; }
  const std::string& name() const { return blocks_.name(); }

 private:
  /// Where the rows of `text` that are complete end.
  std::size_t rows_end(std::string_view text) const;
  std::size_t row_end(std::string_view text) const;
  /// Reads up to the first line that is not blank; false if there is none.
  bool find_start();
  void take_header();
  /// Adds the present block to text_, which has no whole row.
  void extend();

  LineBlocks blocks_;
  ReadOptions options_;
  const RowFormat* format_ = nullptr;  // null: the source is blank
  std::string header_;
  std::string text_;       // read, but for earlier parts
  std::string_view rows_;  // the part, at the front of text_
  std::int64_t lines_before_ = 0;
};

/// Readers of parts for the registry of formats.
Examples svmlight_part(const FilePart& part, const std::string& name, const ReadOptions& options);
Examples text_part(const FilePart& part, const std::string& name, const ReadOptions& options);
Examples annif_part(const FilePart& part, const std::string& name, const ReadOptions& options);
Examples jsonl_part(const FilePart& part, const std::string& name, const ReadOptions& options);
Examples csv_part(const FilePart& part, const std::string& name, const ReadOptions& options);
Examples tsv_part(const FilePart& part, const std::string& name, const ReadOptions& options);
/// Headers and ends of rows for the registry.
bool is_svmlight_header(std::string_view line);
std::size_t csv_row_end(std::string_view text, std::string_view header, const ReadOptions& options);
std::size_t tsv_row_end(std::string_view text, std::string_view header, const ReadOptions& options);

namespace detail {
/// Calls visit(line) for every line of a part; CR LF ends a line too.
template <class Visit>
void for_each_line(const FilePart& part, const std::string& name, const Visit& visit) {
  std::int64_t number = part.lines_before;
  for (std::string_view rest = part.rows; !rest.empty();) {
    const std::size_t newline = std::min(rest.find('\n'), rest.size() - 1);
    std::string_view text = rest.substr(0, newline + 1);
    rest.remove_prefix(text.size());
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (text.ends_with('\r')) text.remove_suffix(1);
    visit(Line{name, ++number, text});
  }
}

/// The rows that a parser with parse_line(line) and finish() makes of a part.
template <class Parser>
Examples part_rows(const FilePart& part, const std::string& name, Parser parser) {
  for_each_line(part, name, [&](const Line& line) { parser.parse_line(line); });
  return parser.finish();
}
}  // namespace detail

}  // namespace margrove
