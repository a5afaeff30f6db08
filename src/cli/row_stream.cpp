#include "cli/row_stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "data/utf8.hpp"

namespace margrove::cli {
namespace {

/// " of lines 3 to 7", without blank lines before or after.
std::string lines_of(const FilePart& row) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = row.rows.find_first_not_of(kBlanks);
  const std::size_t end = row.rows.find_last_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  const auto lines_in = [](std::string_view text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  const auto first = row.lines_before + 1 + lines_in(row.rows.substr(0, begin));
  const auto last = first + lines_in(row.rows.substr(begin, end - begin));
  return first == last ? fmt::format(" of line {}", first)
                       : fmt::format(" of lines {} to {}", first, last);
}

}  // namespace

void RowStream::answer_all(RowParts parts, const Answer& answer, const Write& write) {
  for (bool goes_on = true; goes_on && parts.next();) {
    std::string lines;
    std::size_t num_rows = 0;
    try {
      num_rows = answer(parts, parts.part(), lines);
    } catch (const InvalidInput&) {  // of some row
      answer_rows(parts, answer, write, goes_on);
      continue;
    }
    num_answered_ += num_rows;
    if (num_rows > 0) parts.allow_labels_alone();
    if (!lines.empty()) goes_on = write(lines);
  }
  require(num_answered_ + num_skipped_ > 0, parts.name(), ": the file has no ", unit_,
          "s, but must have at least one");
  require(num_answered_ > 0, parts.name(), ": none of its ", num_skipped_, " ", unit_,
          "s can be read");
  if (num_skipped_ > 0) {
    warn(fmt::format("{}: {} of {} {}s have errors; their answers are empty", parts.name(),
                     num_skipped_, num_answered_ + num_skipped_, unit_));
  }
}

void RowStream::answer_rows(RowParts& parts, const Answer& answer, const Write& write,
                            bool& goes_on) {
  const std::size_t size = parts.part().rows.size();
  for (std::size_t begin = 0; begin < size && goes_on;) {
    const FilePart row = parts.first_row(begin);
    begin += row.rows.size();
    std::string lines;
    try {
      const std::size_t num_rows = answer(parts, row, lines);
      num_answered_ += num_rows;
      if (num_rows > 0) parts.allow_labels_alone();
    } catch (const LostRows&) {
      throw;
    } catch (const InvalidInput& error) {
      if (!skips_) throw;
      skip(parts, row, error);
      lines = of_skipped_;
    }
    if (!lines.empty()) goes_on = write(lines);
  }
}

void RowStream::skip(const RowParts& parts, const FilePart& row, const InvalidInput& error) {
  ++num_skipped_;
  std::string message = error.what();
  if (!message.starts_with(parts.name())) {  // of preprocessing, which knows no lines
    message = concat(parts.name(), ":", row.lines_before + 1, ": ", message);
  }
  print_error(
      fmt::format("margrove: {}; the {}{} is skipped\n", printable(message), unit_, lines_of(row)));
}

}  // namespace margrove::cli
