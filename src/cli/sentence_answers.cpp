#include "cli/sentence_answers.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "data/input_file.hpp"
#include "margrove/errors.hpp"

namespace margrove::cli {
namespace {

/// Removes the first line from `text` and returns it without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

/// Whether a line that is not blank has a token that is answered.
bool is_token(std::string_view line, bool is_conllu) {
  if (!is_conllu) return !line.starts_with("-DOCSTART-");
  // Not a comment, a range of words or an empty node.
  return line.substr(0, line.find('\t')).find_first_not_of("0123456789") == std::string_view::npos;
}

/// The ten columns of a word with its head and relation.
std::string word_with(std::string_view line, std::string_view head_and_relation) {
  constexpr std::size_t kHead = 6, kMisc = 9;
  std::array<std::size_t, kMisc> tabs{};
  std::size_t at = 0;
  for (std::size_t& tab : tabs) {
    tab = line.find('\t', at);
    at = tab + 1;
  }
  std::string word(line.substr(0, tabs[kHead - 1] + 1));
  return word.append(head_and_relation).append("\t_").append(line.substr(tabs[kMisc - 1]));
}

}  // namespace

std::string with_answers(const std::string& path, bool is_conllu, std::string_view answers) {
  std::string lines;
  LineBlocks blocks(open_file(path), path);
  while (blocks.next()) {
    for (std::string_view rest = blocks.text(); !rest.empty();) {
      const std::string_view line = take_line(rest);
      if (is_blank(line) || !is_token(line, is_conllu)) {
        lines.append(line).append("\n");
        continue;
      }
      std::string_view answer;
      while (answer.empty() && !answers.empty()) answer = take_line(answers);
      if (is_conllu) {
        lines += word_with(line, answer);
      } else {
        const bool has_tabs = line.find('\t') != std::string_view::npos;
        require(
            has_tabs || answer.find(' ') == std::string_view::npos, path, ": tag '", answer,
            "' has a blank, but blanks separate the columns of the file; separate them by tabs");
        lines.append(line).append(has_tabs ? "\t" : " ").append(answer);
      }
      lines += '\n';
    }
  }
  return lines;
}

}  // namespace margrove::cli
