#include "data/csv_reader.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "data/column_patterns.hpp"
#include "data/csv_scanner.hpp"
#include "data/input_file.hpp"
#include "data/record_builder.hpp"
#include "data/row_parts.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {

/// The blocks, unless the file is of another form than rows.
LineBlocks of_rows(LineBlocks blocks) {
  if (blocks.next()) {
    detail::refuse_foreign(blocks.text(), blocks.name(), detail::Wanted::rows);
    blocks.stay();
  }
  return blocks;
}

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
      : scanner_(of_rows(std::move(blocks))),
        options_(options),
        builder_(scanner_.source(), options) {
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
    for (const CsvCell& cell : scanner_.cells()) {
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
    const std::vector<CsvCell>& cells = scanner_.cells();
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
    const std::vector<CsvCell>& cells = scanner_.cells();
    if (cells.size() != num_columns_) {
      scanner_.fail_in_shape(
          cells.size() > num_columns_ ? cells[num_columns_].place : scanner_.end(), "the line has ",
          cells.size(), " cells, but must have ", num_columns_, " as the header");
    }
    for (std::size_t f = 0; f < columns_.size(); ++f) {
      record_[f].items.clear();
      if (!columns_[f]) continue;
      const CsvCell& cell = cells[*columns_[f]];
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
