#pragma once
// CSV as RFC 4180 has it: records, which are lines unless a quoted cell has line ends, and cells.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/input_file.hpp"
#include "data/record_builder.hpp"
#include "data/row_formats.hpp"
#include "data/text_scan.hpp"

namespace margrove {

/// A cell of the present record: bytes [begin, end) of its text.
struct CsvCell {
  std::size_t begin;
  std::size_t end;
  TextPlace place;
};

/// Splits a file into records and records into cells.
class CsvScanner {
 public:
  explicit CsvScanner(LineBlocks blocks) : blocks_(std::move(blocks)) { skip_empty_lines(); }

  /// The line that the first record begins with.
  std::string_view first_line() const { return rest_.substr(0, rest_.find_first_of("\r\n")); }
  void set_delimiter(char delimiter) { delimiter_ = delimiter; }
  /// Counts lines as if `num_lines` came before the next one.
  void continue_after(std::int64_t num_lines) { line_number_ = num_lines; }

  /// Moves to the next record; false at the end. Empty lines are no records.
  bool next() {
    cells_.clear();
    text_.clear();
    do {
      if (!next_line()) return false;
    } while (line_.empty());
    for (std::size_t at = 0;; ++at) {
      at = read_cell(at);
      if (at == line_.size()) return true;
    }
  }

  const std::vector<CsvCell>& cells() const { return cells_; }
  std::string_view text(const CsvCell& cell) const {
    return std::string_view(text_).substr(cell.begin, cell.end - cell.begin);
  }
  /// Where the present record ends.
  TextPlace end() const { return place(line_.size()); }
  const std::string& source() const { return blocks_.name(); }
  WorkMeter& meter() { return blocks_.meter(); }

  template <class Error = InvalidInput, class... Parts>
  [[noreturn]] void fail(TextPlace place, const Parts&... parts) const {
    throw Error(concat(source(), ":", place.line, ":", place.column, ": ", parts...));
  }
  /// The same for a record whose cells are wrong. One of several lines probably lacks a closing
  /// quote, so that its later lines are rows of their own.
  template <class... Parts>
  [[noreturn]] void fail_in_shape(TextPlace place, const Parts&... parts) const {
    const std::int64_t first = cells_.front().place.line;
    if (line_number_ == first) fail(place, parts...);
    fail<LostRows>(place, parts..., "; the row begins on line ", first,
                   ", and may lack a closing quote");
  }

 private:
  TextPlace place(std::size_t at) const {
    return {line_number_, static_cast<std::int64_t>(at) + 1};
  }

  void skip_empty_lines() {
    while (!rest_.empty() || blocks_.next()) {
      if (rest_.empty()) rest_ = blocks_.text();
      const std::size_t line_end = rest_.starts_with("\r\n") ? 2 : 1;
      if (line_end == 1 && rest_.front() != '\n') return;
      rest_.remove_prefix(line_end);
      ++line_number_;
    }
  }

  bool next_line() {
    if (rest_.empty()) {
      if (!blocks_.next()) return false;
      rest_ = blocks_.text();
    }
    const std::size_t newline = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, newline);
    rest_.remove_prefix(std::min(newline + 1, rest_.size()));
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    ++line_number_;
    return true;
  }

  /// Returns where the cell ends: at a delimiter, or at the end of the present line.
  std::size_t read_cell(std::size_t at) {
    cells_.push_back({text_.size(), text_.size(), place(at)});
    if (at < line_.size() && line_[at] == '"') {
      at = read_quoted(at + 1);
    } else {
      const std::size_t end = std::min(line_.find(delimiter_, at), line_.size());
      text_.append(line_, at, end - at);
      at = end;
    }
    cells_.back().end = text_.size();
    return at;
  }

  /// `at` follows the opening quote.
  std::size_t read_quoted(std::size_t at) {
    for (;;) {
      const std::size_t quote = line_.find('"', at);
      text_.append(line_, at, quote == std::string_view::npos ? quote : quote - at);
      if (quote == std::string_view::npos) {
        text_ += '\n';
        at = 0;
        blocks_.require_held(text_.size(), cells_.front().place.line, "the row");
        if (next_line()) continue;
        fail<LostRows>(cells_.back().place, "the quoted cell has no closing quote");
      }
      at = quote + 1;
      if (at == line_.size() || line_[at] == delimiter_) return at;
      if (line_[at] != '"') {
        fail_in_shape(
            place(at), "the closing quote is followed by ", detail::quoted(line_.substr(at, 1)),
            ", but must be by a delimiter or the line's end; a quote within a cell is doubled");
      }
      text_ += '"';
      ++at;
    }
  }

  LineBlocks blocks_;
  std::string_view rest_;  // of the block
  std::string_view line_;
  std::int64_t line_number_ = 0;
  char delimiter_ = ',';
  std::string text_;  // of all cells of the record
  std::vector<CsvCell> cells_;
};

}  // namespace margrove
