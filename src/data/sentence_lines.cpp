#include "data/sentence_lines.hpp"

#include <algorithm>

#include "data/utf8.hpp"

namespace margrove::detail {
namespace {

/// Where the first sentence of `text` ends, after its blank line; npos if this is missing.
std::size_t sentence_end(std::string_view text, std::string_view, const ReadOptions&) {
  bool has_words = false;
  for (std::size_t begin = 0;;) {
    const std::size_t newline = text.find('\n', begin);
    if (newline == std::string_view::npos) return newline;
    std::string_view line = text.substr(begin, newline - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin = newline + 1;
    if (!is_blank_line(line)) {
      has_words = true;
    } else if (has_words) {
      return begin;
    }
  }
}

constexpr RowFormat kSentences{.kind = RowKind::documents,
                               .extension = {},
                               .read = nullptr,
                               .name = "sentences",
                               .row_end = sentence_end};

}  // namespace

const RowFormat& sentence_format() { return kSentences; }

std::string place_of(const FilePart& part, const std::string& name) {
  const std::size_t begin = std::min(part.rows.find_first_not_of(" \t\r\n"), part.rows.size());
  const auto blank = part.rows.substr(0, begin);
  return concat(name, ":", part.lines_before + 1 + std::count(blank.begin(), blank.end(), '\n'));
}

bool is_blank_line(std::string_view text) {
  return std::all_of(text.begin(), text.end(), is_blank);
}

void split_at_tabs(std::string_view text, std::vector<std::string_view>& cells) {
  for (;;) {
    const std::size_t tab = text.find('\t');
    cells.push_back(text.substr(0, tab));
    if (tab == std::string_view::npos) return;
    text.remove_prefix(tab + 1);
  }
}

void split_at_blanks(std::string_view text, std::vector<std::string_view>& cells) {
  for (;;) {
    const std::size_t start = text.find_first_not_of(' ');
    if (start == std::string_view::npos) return;
    text.remove_prefix(start);
    const std::size_t end = std::min(text.find(' '), text.size());
    cells.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

void require_filled(const TokenPlace& place, const std::vector<std::string_view>& cells) {
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (cells[c].empty()) place.fail(cells[c].data(), "column ", c + 1, " is empty");
  }
}

void cells_of(const Token& token, const TokenPlace& place, std::vector<std::string_view>& cells) {
  cells.assign(token.begin(), token.end());
  if (cells.empty()) place.fail_at_end("the token has no columns, but must have at least one");
  for (const std::string_view cell : cells) {
    const std::size_t at = cell.find_first_of(std::string_view("\t\n\r\0", 4));
    if (at != std::string_view::npos) {
      place.fail(cell.data(), "a column is ", quoted(cell),
                 ", but must be a text without tabs, line ends and NUL");
    }
    if (find_invalid_utf8(cell) != std::string_view::npos) {
      place.fail(cell.data(), "a column is ", quoted(cell), ", but must be valid UTF-8");
    }
  }
  require_filled(place, cells);
}

}  // namespace margrove::detail
