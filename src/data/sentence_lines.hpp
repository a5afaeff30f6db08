#pragma once
// What the readers of sentences share: one token per line in columns, sentences apart by blank
// lines.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "data/input_file.hpp"
#include "data/text_scan.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {

bool is_blank_line(std::string_view text);
/// Throws InvalidInput "file:line:column: ..." unless the line is UTF-8 without NUL bytes.
void require_text(const Line& line);
/// Throws InvalidInput naming the first empty cell of the line.
void require_filled(const Line& line, const std::vector<std::string_view>& cells);

/// Both append the cells of a line.
void split_at_tabs(std::string_view text, std::vector<std::string_view>& cells);
void split_at_blanks(std::string_view text, std::vector<std::string_view>& cells);

/// Calls parser.parse_line(line) for each line and parser.end_sentence() at the end. Returns
/// parser.corpus; throws InvalidInput if it has no sentence.
template <class Parser>
auto read_sentences(LineBlocks blocks, Parser parser) {
  std::int64_t line_number = 0;
  while (blocks.next()) {
    for_each_line(blocks.name(), blocks.text(), line_number,
                  [&](const Line& line) { parser.parse_line(line); });
  }
  parser.end_sentence();
  require(!parser.corpus.sentences.empty(), blocks.name(),
          ": the file has no sentence, but must have at least one");
  return std::move(parser.corpus);
}

}  // namespace margrove::detail
