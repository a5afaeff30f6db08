#pragma once
// CSV and TSV with a header, as RFC 4180 says: cells in quotes may hold delimiters, line ends and
// doubled quotes.

#include <string>
#include <string_view>
#include <vector>

#include "data/records.hpp"
#include "data/row_formats.hpp"

namespace margrove {

/// Delimiters that a file may have.
inline constexpr std::string_view kCsvDelimiters = ",;\t";

/// Reads a plain, gzip or zstd file whose first line names the columns. The delimiter is the one of
/// `delimiters` with which the header has most of the selected columns. Throws InvalidInput
/// "file:line:column: ..." for a column that is missing or occurs twice, a line with another number
/// of cells, wrong quotes, and values that RecordBuilder refuses. When `control` asks to end,
/// returns the rows read so far. O(bytes); memory beyond the rows: a block and a line.
Examples read_csv(const std::string& path, const ReadOptions& options,
                  RunControl* control = nullptr, std::string_view delimiters = kCsvDelimiters);
/// The same from memory; `name` stands for the file in messages.
Examples parse_csv(std::string_view bytes, const std::string& name, const ReadOptions& options,
                   RunControl* control = nullptr, std::string_view delimiters = kCsvDelimiters);

/// The same as readers of a RowFormat: with any delimiter, and with tabs.
Examples csv_rows(const std::string& path, const ReadOptions& options, RunControl* control);
Examples tsv_rows(const std::string& path, const ReadOptions& options, RunControl* control);

/// The cells of one line, without quotes and blanks around each.
std::vector<std::string> csv_cells(std::string_view line, char delimiter);

}  // namespace margrove
