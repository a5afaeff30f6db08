#include "data/csv_reader.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "data/column_patterns.hpp"
#include "data/input_file.hpp"
#include "data/record_builder.hpp"
#include "data/row_parts.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {

/// A cell of the present record: bytes [begin, end) of its text.
struct Cell {
  std::size_t begin;
  std::size_t end;
  TextPlace place;
};

/// Splits a file into records and records into cells.
class CsvScanner {
 public:
  explicit CsvScanner(LineBlocks blocks) : blocks_(std::move(blocks)) {
    if (blocks_.next()) {
      detail::refuse_foreign(blocks_.text(), source(), detail::Wanted::rows);
      blocks_.stay();
    }
    skip_empty_lines();
  }

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

  const std::vector<Cell>& cells() const { return cells_; }
  std::string_view text(const Cell& cell) const {
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
  std::vector<Cell> cells_;
};

/// The delimiter with which the header has most of the fields; of equal ones that with most
/// columns.
char delimiter_of(std::string_view header, const std::vector<RecordField>& fields,
                  bool has_patterns, std::string_view delimiters) {
  char best = delimiters.front();
  std::pair<std::ptrdiff_t, std::size_t> most{-1, 0};
  for (const char delimiter : delimiters) {
    const std::vector<std::string> names = csv_cells(header, delimiter);
    const auto found = std::count_if(fields.begin(), fields.end(), [&](const RecordField& field) {
      return std::ranges::any_of(names, [&](const std::string& name) {
        return has_patterns ? fits_pattern(field.name, name) : name == field.name;
      });
    });
    if (const std::pair score{found, names.size()}; score > most) {
      most = score;
      best = delimiter;
    }
  }
  return best;
}

class CsvReader {
 public:
  CsvReader(LineBlocks blocks, const ReadOptions& options, std::string_view delimiters)
      : scanner_(std::move(blocks)), options_(options), builder_(scanner_.source(), options) {
    scanner_.set_delimiter(delimiter_of(scanner_.first_line(), builder_.fields(),
                                        options.patterns != nullptr, delimiters));
  }

  Examples read(RunControl* control) {
    constexpr std::size_t kRowsBetweenReports = 1024;
    read_header();
    builder_.count_with(scanner_.meter());
    return read_in_time(scanner_.source(), [&] {
      while (scanner_.next()) {
        add_record();
        const std::size_t rows = builder_.num_rows();
        if (rows % kRowsBetweenReports == 0 && !detail::report_rows(rows, control)) {
          return builder_.finish();
        }
      }
      require(builder_.num_rows() > 0, scanner_.source(),
              ": the file has no rows below its header, but must have at least one");
      return builder_.finish();
    });
  }

  /// The rows of a part, of which there may be none, after a header that ends `lines_before` them.
  Examples read_part(std::int64_t lines_of_header, std::int64_t lines_before) {
    scanner_.continue_after(lines_before - lines_of_header);
    read_header();
    while (scanner_.next()) add_record();
    return builder_.finish();
  }

 private:
  void read_header() {
    require(scanner_.next(), scanner_.source(),
            ": the file has no lines, but must have a header that names the columns");
    for (const Cell& cell : scanner_.cells()) {
      names_.emplace_back(detail::trimmed(scanner_.text(cell)));
    }
    num_columns_ = names_.size();
    if (options_.patterns != nullptr) {
      builder_ = RecordBuilder(
          scanner_.source(), options_,
          expand_patterns(*options_.selection, *options_.patterns, names_, scanner_.source()));
    }
    const auto places = places_of_names();
    for (const RecordField& field : builder_.fields()) columns_.push_back(column_of(field, places));
    record_.resize(columns_.size());
  }

  /// The columns of a name: the first one, and the second one if there are several.
  struct Places {
    std::size_t first;
    std::optional<std::size_t> second;
  };
  std::unordered_map<std::string_view, Places> places_of_names() const {
    std::unordered_map<std::string_view, Places> places;
    for (std::size_t c = 0; c < names_.size(); ++c) {
      const auto [place, is_new] = places.try_emplace(names_[c], Places{c, {}});
      if (!is_new && !place->second.second) place->second.second = c;
    }
    return places;
  }

  std::optional<std::size_t> column_of(
      const RecordField& field, const std::unordered_map<std::string_view, Places>& places) const {
    const std::vector<Cell>& cells = scanner_.cells();
    std::optional<std::size_t> column;
    if (const auto found = places.find(field.name); found != places.end()) {
      column = found->second.first;
      if (const auto second = found->second.second) {
        scanner_.fail(cells[*second].place, "the header has column '", field.name,
                      "' twice, but must have it once");
      }
    }
    if (!column && !field.is_optional) {
      scanner_.fail(cells.front().place, "the header has no column '", field.name,
                    "'; its columns are ", list_of_columns(names_));
    }
    return column;
  }

  void add_record() {
    const std::vector<Cell>& cells = scanner_.cells();
    if (cells.size() != num_columns_) {
      scanner_.fail_in_shape(
          cells.size() > num_columns_ ? cells[num_columns_].place : scanner_.end(), "the line has ",
          cells.size(), " cells, but must have ", num_columns_, " as the header");
    }
    for (std::size_t f = 0; f < columns_.size(); ++f) {
      record_[f].items.clear();
      if (!columns_[f]) continue;
      const Cell& cell = cells[*columns_[f]];
      record_[f].items.push_back({scanner_.text(cell), cell.place});
    }
    builder_.add(record_, cells.front().place);
  }

  CsvScanner scanner_;
  ReadOptions options_;
  RecordBuilder builder_;
  std::vector<std::string> names_;  // of the columns
  std::size_t num_columns_ = 0;
  std::vector<std::optional<std::size_t>> columns_;  // of each field
  std::vector<RecordValue> record_;
};

Examples read_part(const FilePart& part, const std::string& name, const ReadOptions& options,
                   std::string_view delimiters) {
  const std::string bytes = concat(part.header, part.rows);
  const auto lines_of_header =
      static_cast<std::int64_t>(std::count(part.header.begin(), part.header.end(), '\n'));
  return CsvReader(LineBlocks(open_memory(bytes, name), name), options, delimiters)
      .read_part(lines_of_header, part.lines_before);
}

std::size_t row_end(std::string_view text, std::string_view header, const ReadOptions& options,
                    std::string_view delimiters) {
  if (header.empty()) header = text;
  const char delimiter =
      delimiter_of(header.substr(0, header.find_first_of("\r\n")),
                   RecordBuilder("", options).fields(), options.patterns != nullptr, delimiters);
  bool starts_cell = true, in_quotes = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_quotes) {  // a doubled quote ends one stretch of quoted text and begins another
      in_quotes = c != '"';
    } else if (c == '"' && (starts_cell || (at > 0 && text[at - 1] == '"'))) {
      in_quotes = true;
    } else if (c == '\n') {
      return at + 1;
    }
    starts_cell = !in_quotes && c == delimiter;
  }
  return std::string_view::npos;
}

}  // namespace

Examples csv_part(const FilePart& part, const std::string& name, const ReadOptions& options) {
  return read_part(part, name, options, kCsvDelimiters);
}
Examples tsv_part(const FilePart& part, const std::string& name, const ReadOptions& options) {
  return read_part(part, name, options, "\t");
}
std::size_t csv_row_end(std::string_view text, std::string_view header,
                        const ReadOptions& options) {
  return row_end(text, header, options, kCsvDelimiters);
}
std::size_t tsv_row_end(std::string_view text, std::string_view header,
                        const ReadOptions& options) {
  return row_end(text, header, options, "\t");
}

Examples read_csv(const std::string& path, const ReadOptions& options, RunControl* control,
                  std::string_view delimiters) {
  return CsvReader(detail::row_blocks(open_file(path), path, control), options, delimiters)
      .read(control);
}

Examples parse_csv(std::string_view bytes, const std::string& name, const ReadOptions& options,
                   RunControl* control, std::string_view delimiters) {
  return CsvReader(detail::row_blocks(open_memory(bytes, name), name, control), options, delimiters)
      .read(control);
}

Examples csv_rows(const std::string& path, const ReadOptions& options, RunControl* control) {
  return read_csv(path, options, control);
}

Examples tsv_rows(const std::string& path, const ReadOptions& options, RunControl* control) {
  return read_csv(path, options, control, "\t");
}

std::vector<std::string> csv_cells(std::string_view line, char delimiter) {
  std::vector<std::string> cells;
  for (std::size_t at = 0;; ++at) {
    std::string cell;
    bool in_quotes = at < line.size() && line[at] == '"';
    for (at += in_quotes ? 1U : 0U; at < line.size(); ++at) {
      if (in_quotes && line[at] == '"') {
        in_quotes = line.substr(at + 1).starts_with('"');
        if (!in_quotes) continue;
        ++at;
      } else if (!in_quotes && line[at] == delimiter) {
        break;
      }
      cell += line[at];
    }
    cells.emplace_back(detail::trimmed(cell));
    if (at >= line.size()) return cells;
  }
}

}  // namespace margrove
