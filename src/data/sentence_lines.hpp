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

/// Where a token stands: on a line of a file, or in a sentence in memory.
class TokenPlace {
 public:
  explicit TokenPlace(const Line& line) : line_(&line) {}
  TokenPlace(const ExampleSource& source, std::size_t sentence, std::size_t token)
      : source_(&source), sentence_(sentence), token_(token) {}

  /// `at` points into the line: at the cell that is wrong.
  template <class... Parts>
  [[noreturn]] void fail(const char* at, const Parts&... parts) const {
    throw InvalidInput(concat(text(at), ": ", parts...));
  }
  /// At the end, which is the place of what is missing.
  template <class... Parts>
  [[noreturn]] void fail_at_end(const Parts&... parts) const {
    fail(line_ != nullptr ? line_->end() : nullptr, parts...);
  }
  std::string text(const char* at) const {
    return line_ != nullptr ? line_->place(at) : concat(source_->name(), ": ", name());
  }
  /// "the line", as what has the cells.
  std::string_view what() const { return line_ != nullptr ? "the line" : "it"; }
  /// "line 3", for messages about other tokens.
  std::string name() const {
    return line_ != nullptr ? concat("line ", line_->number)
                            : source_->token_name(sentence_, token_);
  }

 private:
  const Line* line_ = nullptr;
  const ExampleSource* source_ = nullptr;  // where there is no line
  std::size_t sentence_ = 0, token_ = 0;
};

/// Throws InvalidInput naming the first empty cell.
void require_filled(const TokenPlace& place, const std::vector<std::string_view>& cells);
/// The cells of a token in memory. Throws InvalidInput where there are none, and for what a line of
/// a file could not have.
void cells_of(const Token& token, const TokenPlace& place, std::vector<std::string_view>& cells);

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

/// Calls parser.parse_line(line) for each line of a file or text, or parser.add_token(place, cells)
/// for each token of sentences in memory, and parser.end_sentence() after each sentence. Returns
/// parser.corpus; throws InvalidInput if it has no sentence, and OutOfTimeLimit where `control`,
/// which may be null, asks to end.
template <class Parser>
auto read_sentences(const ExampleSource& source, RunControl* control, Parser&& parser) {
  if (const auto sentences = source.sentences()) {
    std::vector<std::string_view> cells;
    for (std::size_t i = 0; i < sentences->size(); ++i) {
      constexpr std::size_t kBetweenQuestions = 256;
      if (i % kBetweenQuestions == 0 && control != nullptr && !control->proceed()) {
        end_reading(source.name());
      }
      require(!(*sentences)[i].empty(), source.name(), ": ", source.sentence_name(i),
              " has no tokens, but must have at least one");
      for (std::size_t k = 0; k < (*sentences)[i].size(); ++k) {
        const TokenPlace place(source, i, k);
        cells_of((*sentences)[i][k], place, cells);
        parser.add_token(place, cells);
      }
      parser.end_sentence();
    }
  } else {
    LineBlocks blocks = row_blocks(source.open(), source.name(), control);
    for_each_line(blocks, [&](const Line& line) { parser.parse_line(line); });
    parser.end_sentence();
  }
  require(!parser.corpus.sentences.empty(), source.name(), ": ",
          source.sentences() ? "there is no sentence, but there" : "the file has no sentence, but",
          " must ", source.sentences() ? "be" : "have", " at least one");
  return std::move(parser.corpus);
}

}  // namespace margrove::detail
