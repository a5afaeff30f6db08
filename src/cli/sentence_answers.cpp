#include "cli/sentence_answers.hpp"

#include <array>
#include <cstddef>

#include "data/input_file.hpp"
#include "data/text_scan.hpp"
#include "margrove/errors.hpp"

namespace margrove::cli {
namespace {

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
      const std::string_view line = detail::take_line(rest);
      if (is_blank(line) || !is_token(line, is_conllu)) {
        lines.append(line).append("\n");
        continue;
      }
      std::string_view answer;
      while (answer.empty() && !answers.empty()) answer = detail::take_line(answers);
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
