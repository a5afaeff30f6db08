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
    const bool looks_like_comment =
        sentence_.cells.empty() && (line.text == "#" || line.text.starts_with("# "));
    if (looks_like_comment && options_.comments == ColumnComments::hash) return;
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
      first_is_comment_ = looks_like_comment;
      corpus.num_columns = cells_.size() - num_tags;
    }
    if (cells_.size() != corpus.num_columns + num_tags) {
      line.fail(line.end(), "the line has ", cells_.size(), " columns, but must have ",
                corpus.num_columns + num_tags, " like line ", first_line_,
                looks_like_comment || first_is_comment_ ? kSkipComments : "");
    }
    for (std::size_t c = 1; c < corpus.num_columns; ++c) {
      const auto numeric = numeric_cell(cells_[c]);
      if (numeric && !std::isfinite(numeric->value)) {
        line.fail(cells_[c].data(), "column ", c + 1, " is ", detail::quoted(cells_[c]),
                  ", but its number must be finite");
      }
    }
    for (std::size_t c = 0; c < corpus.num_columns; ++c) sentence_.cells.emplace_back(cells_[c]);
    if (!options_.has_tags) return;
    sentence_.tags.push_back(corpus.tags.add(cells_.back()));
    if (options_.comments == ColumnComments::automatic) note(line, looks_like_comment);
  }

  /// Throws InvalidInput if the lines that look like comments are likely to be ones.
  void end(const std::string& source, const LabelCodec& tags) const {
    if (!comment_ || has_other_hash_) return;
    if (comment_->tag < is_of_token_.size() && is_of_token_[comment_->tag]) return;
    throw InvalidInput(concat(source, ":", comment_->line,
                              ":1: the line begins with '#', and its "
                              "tag ",
                              detail::quoted(tags.name(comment_->tag)),
                              " is of no other token, but comments must be left out", kSkipComments,
                              "; --comments none takes them for tokens"));
  }

  void end_sentence() {
    if (sentence_.cells.empty()) return;
    corpus.sentences.push_back(std::move(sentence_));
    sentence_ = {};
  }

  ColumnCorpus corpus;

 private:
  static constexpr std::string_view kSkipComments =
      "; --comments hash leaves out lines that begin with '#' and a blank before a sentence";

  struct Comment {
    std::int64_t line;
    LabelId tag;
  };

  void note(const Line& line, bool looks_like_comment) {
    const LabelId tag = sentence_.tags.back();
    if (looks_like_comment) {
      if (!comment_) comment_ = Comment{line.number, tag};
      return;
    }
    has_other_hash_ = has_other_hash_ || cells_.front() == "#";
    if (tag >= is_of_token_.size()) is_of_token_.resize(tag + std::size_t{1});
    is_of_token_[tag] = true;
  }

  const ColumnOptions& options_;
  ColumnSentence sentence_;
  std::vector<std::string_view> cells_;
  std::int64_t first_line_ = 0;
  bool first_is_comment_ = false;
  std::optional<Comment> comment_;  // the first line that looks like one
  bool has_other_hash_ = false;     // whether some token # stands elsewhere
  std::vector<bool> is_of_token_;   // whether a tag is of a line that looks like none
};

ColumnCorpus read(LineBlocks blocks, const ColumnOptions& options) {
  const std::string source = blocks.name();
  ColumnParser parser(options);
  ColumnCorpus corpus = detail::read_sentences(std::move(blocks), parser);
  parser.end(source, corpus.tags);
  return corpus;
}

}  // namespace

std::optional<NumericCell> numeric_cell(std::string_view cell) {
  const auto colon = cell.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto text = cell.substr(colon + 1);
  const auto value = read_number<float>(text);
  if (!value) return std::nullopt;
  return NumericCell{cell.substr(0, colon), *value};
}

ColumnCorpus read_columns(const TextSource& source, const ColumnOptions& options,
                          RunControl* control) {
  return read(detail::row_blocks(source.open(), source.name(), control), options);
}

ColumnCorpus read_columns_part(const FilePart& part, const std::string& name,
                               const ColumnOptions& options) {
  return detail::read_part(part, name, ColumnParser(options));
}

ColumnCorpus parse_columns(std::string_view bytes, const std::string& name,
                           const ColumnOptions& options, RunControl* control) {
  return read(detail::row_blocks(open_memory(bytes, name), name, control), options);
}

}  // namespace margrove
