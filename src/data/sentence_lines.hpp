#pragma once
// What the readers of sentences share: one token per line in columns, blank lines between
// sentences.

#include <string_view>
#include <utility>
#include <vector>

#include "data/text_scan.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {

bool is_blank_line(std::string_view text);
/// Throws InvalidInput naming the first empty cell of the line.
void require_filled(const Line& line, const std::vector<std::string_view>& cells);

/// Both append the cells of a line.
void split_at_tabs(std::string_view text, std::vector<std::string_view>& cells);
void split_at_blanks(std::string_view text, std::vector<std::string_view>& cells);

/// Calls parser.parse_line(line) for each line and parser.end_sentence() at the end. Returns
/// parser.corpus; throws InvalidInput if it has no sentence.
template <class Parser>
auto read_sentences(LineBlocks blocks, Parser parser) {
  for_each_line(blocks, [&](const Line& line) { parser.parse_line(line); });
  parser.end_sentence();
  require(!parser.corpus.sentences.empty(), blocks.name(),
          ": the file has no sentence, but must have at least one");
  return std::move(parser.corpus);
}

}  // namespace margrove::detail
