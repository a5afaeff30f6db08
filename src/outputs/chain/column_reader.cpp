#include "outputs/chain/column_reader.hpp"

#include <cmath>

#include "base/number_text.hpp"
#include "data/sentence_lines.hpp"

namespace margrove {
namespace {
using detail::Line;

class ColumnParser {
 public:
  explicit ColumnParser(const ColumnOptions& options) : options_(options) {
    if (options.tags != nullptr) corpus.tags = *options.tags;
  }

  void parse_line(const Line& line) {
    if (detail::is_blank_line(line.text) || line.text.starts_with("-DOCSTART-"))
      return end_sentence();
    detail::require_text(line);
    cells_.clear();
    if (line.text.find('\t') != std::string_view::npos) {
      detail::split_at_tabs(line.text, cells_);
    } else {
      detail::split_at_blanks(line.text, cells_);
    }
    detail::require_filled(line, cells_);
    const std::size_t num_tags = options_.has_tags ? 1 : 0;
    if (cells_.size() <= num_tags) {
      line.fail(line.end(), "the line has one column, but must have a token and a tag");
    }
    if (first_line_ == 0) {
      first_line_ = line.number;
      corpus.num_columns = cells_.size() - num_tags;
    }
    if (cells_.size() != corpus.num_columns + num_tags) {
      line.fail(line.end(), "the line has ", cells_.size(), " columns, but must have ",
                corpus.num_columns + num_tags, " like line ", first_line_);
    }
    for (std::size_t c = 1; c < corpus.num_columns; ++c) {
      const auto numeric = numeric_cell(cells_[c]);
      if (numeric && !std::isfinite(numeric->value)) {
        line.fail(cells_[c].data(), "column ", c + 1, " is ", detail::quoted(cells_[c]),
                  ", but its number must be finite");
      }
    }
    for (std::size_t c = 0; c < corpus.num_columns; ++c) sentence_.cells.emplace_back(cells_[c]);
    if (options_.has_tags) sentence_.tags.push_back(corpus.tags.add(cells_.back()));
  }

  void end_sentence() {
    if (sentence_.cells.empty()) return;
    corpus.sentences.push_back(std::move(sentence_));
    sentence_ = {};
  }

  ColumnCorpus corpus;

 private:
  const ColumnOptions& options_;
  ColumnSentence sentence_;
  std::vector<std::string_view> cells_;
  std::int64_t first_line_ = 0;
};

}  // namespace

std::optional<NumericCell> numeric_cell(std::string_view cell) {
  const auto colon = cell.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto text = cell.substr(colon + 1);
  const auto value = read_number<float>(text);
  if (!value) return std::nullopt;
  return NumericCell{cell.substr(0, colon), *value};
}

ColumnCorpus read_columns(const std::string& path, const ColumnOptions& options) {
  return detail::read_sentences(LineBlocks(open_file(path), path), ColumnParser(options));
}

ColumnCorpus read_columns_part(const FilePart& part, const std::string& name,
                               const ColumnOptions& options) {
  return detail::read_part(part, name, ColumnParser(options));
}

ColumnCorpus parse_columns(std::string_view bytes, const std::string& name,
                           const ColumnOptions& options) {
  return detail::read_sentences(LineBlocks(open_memory(bytes, name), name), ColumnParser(options));
}

}  // namespace margrove
