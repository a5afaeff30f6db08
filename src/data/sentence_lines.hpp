#pragma once
// What the readers of sentences share: one token per line in columns, blank lines between
// sentences.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/row_parts.hpp"
#include "data/text_scan.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {

bool is_blank_line(std::string_view text);
/// Throws InvalidInput naming the first empty cell of the line.
void require_filled(const Line& line, const std::vector<std::string_view>& cells);

/// Both append the cells of a line.
void split_at_tabs(std::string_view text, std::vector<std::string_view>& cells);
void split_at_blanks(std::string_view text, std::vector<std::string_view>& cells);

/// Sentences as the "rows" of a format by which RowParts splits a source; it does not read them.
const RowFormat& sentence_format();

/// "name:line" of the first line of a part that is not blank.
std::string place_of(const FilePart& part, const std::string& name);

/// The corpus of some sentences of a file, which may have none.
template <class Parser>
auto read_part(const FilePart& part, const std::string& name, Parser parser) {
  for_each_line(part, name, [&](const Line& line) { parser.parse_line(line); });
  parser.end_sentence();
  return std::move(parser.corpus);
}

/// Calls parser.parse_line(line) for each line and parser.end_sentence() at the end. Returns
/// parser.corpus; throws InvalidInput if it has no sentence.
template <class Parser>
auto read_sentences(LineBlocks blocks, Parser&& parser) {
  for_each_line(blocks, [&](const Line& line) { parser.parse_line(line); });
  parser.end_sentence();
  require(!parser.corpus.sentences.empty(), blocks.name(),
          ": the file has no sentence, but must have at least one");
  return std::move(parser.corpus);
}

}  // namespace margrove::detail
