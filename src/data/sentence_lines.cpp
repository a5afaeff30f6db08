#include "data/sentence_lines.hpp"

#include <algorithm>

namespace margrove::detail {

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

void require_filled(const Line& line, const std::vector<std::string_view>& cells) {
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (cells[c].empty()) line.fail(cells[c].data(), "column ", c + 1, " is empty");
  }
}

}  // namespace margrove::detail
