#include "outputs/chain/column_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include "base/number_text.hpp"
#include "data/float_parser.hpp"
#include "data/sentence_lines.hpp"

namespace margrove {
namespace {
using detail::Line;

constexpr std::string_view kDocumentStart = "-DOCSTART-";

bool looks_like_a_comment(std::string_view line) { return line == "#" || line.starts_with("# "); }

// The first word of a sentence of a CoNLL-U file: its number, UPOS and head are in columns 1, 4
// and 7 of ten.
bool is_of_conllu(std::span<const std::string_view> cells) {
  using namespace std::string_view_literals;
  static constexpr std::array kTags{"ADJ"sv,  "ADP"sv,  "ADV"sv,   "AUX"sv,   "CCONJ"sv, "DET"sv,
                                    "INTJ"sv, "NOUN"sv, "NUM"sv,   "PART"sv,  "PRON"sv,  "PROPN"sv,
                                    "SYM"sv,  "VERB"sv, "PUNCT"sv, "SCONJ"sv, "X"sv};
  return cells.size() == 10 && cells[0] == "1" &&
         std::find(kTags.begin(), kTags.end(), cells[3]) != kTags.end() &&
         read_number<int>(cells[6]).has_value();
}

class ColumnParser {
 public:
  explicit ColumnParser(const ColumnOptions& options) : options_(options) {
    if (options.tags != nullptr) corpus.tags = *options.tags;
  }

  void parse_line(const Line& line) {
    if (detail::is_blank_line(line.text) || line.text.starts_with(kDocumentStart))
      return end_sentence();
    detail::require_text(line);
    const bool looks_like_comment = sentence_.cells.empty() && looks_like_a_comment(line.text);
    if (looks_like_comment && options_.comments == ColumnComments::hash) return;
    cells_.clear();
    if (line.text.find('\t') != std::string_view::npos) {
      detail::split_at_tabs(line.text, cells_);
    } else {
      detail::split_at_blanks(line.text, cells_);
    }
    add(detail::TokenPlace(line), cells_, looks_like_comment);
    if (options_.has_tags && options_.comments == ColumnComments::automatic) {
      note(line.number, looks_like_comment);
    }
  }

  void add_token(const detail::TokenPlace& place, const std::vector<std::string_view>& cells) {
    add(place, cells, /*looks_like_comment=*/false);
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

  void add(const detail::TokenPlace& place, const std::vector<std::string_view>& cells,
           bool looks_like_comment) {
    detail::require_filled(place, cells);
    if (options_.has_tags && is_of_conllu(cells)) {
      place.fail_at_end(place.what(),
                        " is of a CoNLL-U file, whose last column has no tags; trees are for model "
                        "dependency, and part-of-speech tags need a file of columns 2 and 4");
    }
    const std::size_t num_tags = options_.has_tags ? 1 : 0;
    if (cells.size() <= num_tags) {
      place.fail_at_end(place.what(), " has one column, but must have a token and a tag");
    }
    if (first_.empty()) {
      first_ = place.name();
      first_is_comment_ = looks_like_comment;
      corpus.num_columns = cells.size() - num_tags;
    }
    if (cells.size() != corpus.num_columns + num_tags) {
      const bool may_be_comments = options_.comments == ColumnComments::automatic &&
                                   (looks_like_comment || first_is_comment_);
      place.fail_at_end(place.what(), " has ", cells.size(), " columns, but must have ",
                        corpus.num_columns + num_tags, " like ", first_,
                        may_be_comments ? kSkipComments : "");
    }
    for (std::size_t c = 1; c < corpus.num_columns; ++c) {
      const auto numeric = numeric_cell(cells[c]);
      if (numeric && !std::isfinite(numeric->value)) {
        place.fail(cells[c].data(), "column ", c + 1, " is ", detail::quoted(cells[c]),
                   ", but its number must be finite");
      }
    }
    for (std::size_t c = 0; c < corpus.num_columns; ++c) sentence_.cells.emplace_back(cells[c]);
    if (options_.has_tags) sentence_.tags.push_back(corpus.tags.add(cells.back()));
  }

  void note(std::int64_t line, bool looks_like_comment) {
    const LabelId tag = sentence_.tags.back();
    if (looks_like_comment) {
      if (!comment_) comment_ = Comment{line, tag};
      return;
    }
    has_other_hash_ = has_other_hash_ || cells_.front() == "#";
    if (tag >= is_of_token_.size()) is_of_token_.resize(tag + std::size_t{1});
    is_of_token_[tag] = true;
  }

  const ColumnOptions& options_;
  ColumnSentence sentence_;
  std::vector<std::string_view> cells_;
  std::string first_;  // the place of the first token
  bool first_is_comment_ = false;
  std::optional<Comment> comment_;  // the first line that looks like one
  bool has_other_hash_ = false;     // whether some token # stands elsewhere
  std::vector<bool> is_of_token_;   // whether a tag is of a line that looks like none
};

}  // namespace

bool is_between_tokens(std::string_view line, bool begins_sentence, bool has_comments) {
  return line.starts_with(kDocumentStart) ||
         (has_comments && begins_sentence && looks_like_a_comment(line));
}

std::optional<NumericCell> numeric_cell(std::string_view cell) {
  const auto colon = cell.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto text = cell.substr(colon + 1);
  auto value = read_number<float>(text);
  const bool is_too_large =
      !value && detail::parse_float(text).fault == detail::FloatFault::too_large;
  if (is_too_large) value = std::numeric_limits<float>::infinity();
  if (!value) return std::nullopt;
  return NumericCell{cell.substr(0, colon), *value};
}

ColumnCorpus read_columns(const ExampleSource& source, const ColumnOptions& options,
                          RunControl* control) {
  ColumnParser parser(options);
  ColumnCorpus corpus = detail::read_sentences(source, control, parser);
  parser.end(source.name(), corpus.tags);
  return corpus;
}

ColumnCorpus read_columns_part(const FilePart& part, const std::string& name,
                               const ColumnOptions& options) {
  return detail::read_part(part, name, ColumnParser(options));
}

ColumnCorpus parse_columns(std::string_view bytes, const std::string& name,
                           const ColumnOptions& options, RunControl* control) {
  return read_columns({bytes, name}, options, control);
}

}  // namespace margrove
