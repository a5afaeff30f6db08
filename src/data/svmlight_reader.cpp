#include "margrove/svmlight_reader.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "data/float_parser.hpp"
#include "data/row_parts.hpp"
#include "data/text_scan.hpp"

namespace margrove {
namespace {
using detail::all_digits;
using detail::FloatFault;
using detail::is_blank;
using detail::is_digit;
using detail::Line;
using detail::quoted;

constexpr std::uint64_t kLargestIndex = std::numeric_limits<std::int32_t>::max();

constexpr std::string_view kOtherFormats =
    "; rows must be `label,label index:value ...`, separated by blanks. For CSV or JSON lines name "
    "the columns, with --format csv, --text-column, --label-column and so on";

constexpr std::string_view kDocuments =
    "; if rows are lines label<TAB>text, train with option text (--text)";

bool ends_token(char c) { return is_blank(c) || c == '\n' || c == '\r'; }

/// Reads a whole number; all numbers that are too large give kLargestIndex + 1.
std::uint64_t capped_number(std::string_view digits) {
  std::uint64_t number = 0;
  for (const char c : digits) {
    number = std::min(10 * number + static_cast<std::uint64_t>(c - '0'), kLargestIndex + 1);
  }
  return number;
}

struct Header {
  std::uint64_t num_rows;
  std::uint64_t num_features;
  std::uint64_t num_labels;
  std::int64_t line_number;
};

class SvmlightParser {
 public:
  /// `meter` may be null.
  SvmlightParser(std::string name, const SvmlightOptions& options, WorkMeter* meter = nullptr)
      : name_(std::move(name)), options_(options), meter_(meter), X_(options.num_features) {
    if (options.codec != nullptr) codec_ = *options.codec;
    if (options.first_index) first_index_ = *options.first_index;
  }

  /// `text` ends, or is followed, by '\n'.
  void parse(std::string_view text) {
    const char* p = text.data();
    begin_ = p;
    end_ = p + text.size();
    while (p < end_) p = parse_line(p) + 1;
  }

  std::size_t num_rows() const { return X_.num_rows(); }

  Dataset finish(bool complete) {
    if (complete) {
      if (header_ && header_->num_rows != num_rows()) {
        throw InvalidInput(concat(name_, ":", header_->line_number, ":1: the header says ",
                                  header_->num_rows, " rows, but the file has ", num_rows()));
      }
      require(num_rows() > 0, name_, ": the file has no rows, but must have at least one");
      require_features();
    }
    return {std::move(X_), std::move(labels_), std::move(codec_), first_index_};
  }
  /// The rows of a part, of which there may be none.
  Dataset finish_part() {
    if (num_rows() > 0) require_features();
    return finish(false);
  }
  /// Counts lines as if `num_lines` came before the next one.
  void continue_after(std::int64_t num_lines) { line_number_ = num_lines; }

 private:
  void require_features() const {
    require(!options_.refuse_labels_alone || !labels_alone_ || header_, name_, ":", first_row_,
            ":1: the row has no index:value, and no other row has one", kOtherFormats);
  }

  /// Returns the line's '\n'.
  const char* parse_line(const char* line) {
    ++line_number_;
    line_ = line;
    const char* p = line;
    if (*p == '\n') return p;
    if (*p == '\r' && p[1] == '\n') return p + 1;
    if (*p == '#') return skip_comment(p);
    if (!header_ && num_rows() == 0) {
      if (const char* rest = parse_header(p)) return rest;
    }
    if (num_rows() == 0) first_row_ = line_number_;
    row_labels_.clear();
    columns_.clear();
    values_.clear();
    if (!is_blank(*p)) p = parse_labels(p);
    labels_alone_ = labels_alone_ && !is_blank(*p);
    p = parse_features(skip_query_id(p));
    labels_.append(row_labels_);
    X_.append_row(columns_, values_);
    return p;
  }

  const char* skip_comment(const char* p) const {
    const char* newline = std::find(p, end_, '\n');  // or end_, which points at one
    if (const void* nul = std::memchr(p, 0, static_cast<std::size_t>(newline - p))) {
      line().fail(static_cast<const char*>(nul), "the comment has a NUL byte, but must be text");
    }
    return newline;
  }

  /// `rows features labels`: no row looks like that, because features have colons.
  const char* parse_header(const char* p) {
    std::array<std::string_view, 3> fields;
    std::array<std::uint64_t, 3> numbers{};
    for (std::size_t k = 0; k < fields.size(); ++k) {
      while (k > 0 && is_blank(*p)) ++p;
      const char* start = p;
      while (is_digit(*p)) ++p;
      if (p == start || !ends_token(*p)) return nullptr;
      fields[k] = {start, static_cast<std::size_t>(p - start)};
      numbers[k] = capped_number(fields[k]);
    }
    while (is_blank(*p)) ++p;
    if (*p == '\r' && p[1] == '\n') ++p;
    if (*p != '\n') return nullptr;
    for (std::size_t k = 0; k < fields.size(); ++k) {
      if (numbers[k] > kLargestIndex) {
        line().fail(fields[k].data(), "the header's number of ",
                    std::array{"rows", "features", "labels"}[k], " is ", fields[k],
                    ", but must be at most ", kLargestIndex);
      }
    }
    header_ = Header{numbers[0], numbers[1], numbers[2], line_number_};
    if (!options_.first_index) first_index_ = 0;
    const auto width = static_cast<std::uint32_t>(numbers[1]);
    X_.set_num_columns(std::max(X_.num_columns(), width));
    return p;
  }

  const char* parse_labels(const char* p) {
    const char* start = p;
    while (!ends_token(*p)) ++p;
    std::string_view rest(start, static_cast<std::size_t>(p - start));
    if (detail::looks_like_feature(rest)) {
      line().fail(start, "label is ", quoted(rest),
                  ", which is a feature; a row without labels must start with a blank");
    }
    for (;;) {
      const std::size_t comma = rest.find(',');
      add_label(rest.substr(0, comma));
      if (comma == std::string_view::npos) return p;
      rest.remove_prefix(comma + 1);
    }
  }

  void add_label(std::string_view name) {
    if (name.empty()) {  // as in many lines of CSV
      line().fail(name.data(), detail::label_fault(name).insert(0, "label "), other_formats());
    }
    if (header_ && (!all_digits(name) || capped_number(name) >= header_->num_labels)) {
      line().fail(name.data(), "label is ", quoted(name), ", but must be a whole number below ",
                  header_->num_labels, ", the header's number of labels");
    }
    row_labels_.push_back(detail::label_id(line(), name, codec_, options_.known_labels_only));
  }

  /// SVMlight's ranking files put `qid:number` before the features; it is not used.
  const char* skip_query_id(const char* p) const {
    const char* start = p;
    while (is_blank(*start)) ++start;
    if (std::strncmp(start, "qid:", 4) != 0) return p;
    const char* number = start + 4;
    const char* end = number;
    while (is_digit(*end)) ++end;
    if (end == number || !ends_token(*end)) {
      line().fail(start, "query is ", quoted(token_at(start)), ", but must be qid:number");
    }
    return end;
  }

  /// Returns the line's '\n'.
  const char* parse_features(const char* p) {
    const std::uint64_t first = first_index_;
    const std::uint64_t limit = index_limit();
    std::uint64_t smallest = first;  // index that may follow
    for (;;) {
      while (is_blank(*p)) ++p;
      if (*p == '\n') return p;
      if (*p == '\r' && p[1] == '\n') return p + 1;
      if (*p == '#') return skip_comment(p);
      const char* token = p;
      std::uint64_t index = 0;
      while (is_digit(*p)) index = 10 * index + static_cast<std::uint64_t>(*p++ - '0');
      const bool plain_index = p != token && p - token <= 10 && *p == ':';
      float value = 0;
      const char* end = plain_index ? detail::parse_float_fast(p + 1, value) : nullptr;
      if (end == nullptr || !ends_token(*end) || index < smallest || index >= limit) {
        end = parse_feature_slowly(token, value);
      }
      p = end;
      columns_.push_back(static_cast<FeatureId>(index - first));
      values_.push_back(value);
      smallest = index + 1;
    }
  }

  /// What indices are below.
  std::uint64_t index_limit() const {
    return header_ ? header_->num_features + first_index_ : kLargestIndex + 1;
  }

  /// Returns the token's end, or says what is wrong with it. Sets the value only, as the caller has
  /// read the index.
  const char* parse_feature_slowly(const char* start, float& value) const {
    const std::string_view token = token_at(start);
    const std::size_t colon = token.find(':');
    if (colon == std::string_view::npos || !all_digits(token.substr(0, colon))) {
      line().fail(start, "feature is ", quoted(token), ", but must be index:value",
                  is_document()                     ? documents()
                  : colon == std::string_view::npos ? other_formats()
                                                    : std::string());
    }
    check_index(token.substr(0, colon));
    const std::string_view index = token.substr(0, colon);
    const std::string_view text = value_text(token.substr(colon + 1));
    if (text.empty()) {
      line().fail(text.data(), "value of feature ", index, " is missing, but must be a number");
    }
    const auto parsed = detail::parse_float(text);
    if (parsed.fault != FloatFault::none) {
      line().fail(text.data(), "value of feature ", index, " is ", quoted(text),
                  detail::kWantedFeatureValue);
    }
    value = parsed.value;
    return text.data() + text.size();
  }

  /// What follows the colon; like LIBSVM, also after blanks. It is no value if it is a feature.
  static std::string_view value_text(std::string_view after_colon) {
    if (!after_colon.empty()) return after_colon;
    const char* next = after_colon.data();
    while (is_blank(*next)) ++next;
    const std::string_view text = token_at(next);
    const bool is_value = text.find(':') == std::string_view::npos && !text.starts_with('#');
    return is_value ? text : after_colon;
  }

  /// What the file may be. Sentences fail at their first row.
  std::string other_formats() const {
    std::string sentences;
    if (num_rows() == 0) sentences = detail::hint_for_sentences(block());
    return sentences.empty() ? std::string(kOtherFormats) : sentences;
  }
  /// The same where a line is like label<TAB>text, as one with a token and a tag may be, too.
  std::string documents() const {
    return num_rows() == 0 ? concat(detail::hint_for_sentences(block()), kDocuments)
                           : std::string(kDocuments);
  }
  std::string_view block() const { return {begin_, static_cast<std::size_t>(end_ - begin_)}; }

  /// Whether the present line may be label<TAB>text. A line of numbers may have tabs, too, but then
  /// between all of its tokens, or before a feature.
  bool is_document() const {
    const std::string_view text(line_,
                                static_cast<std::size_t>(std::find(line_, end_, '\n') - line_));
    const std::size_t tab = text.find('\t');
    return tab != std::string_view::npos && text.find('\t', tab + 1) == std::string_view::npos &&
           !detail::looks_like_feature(token_at(text.data() + tab + 1));
  }

  void check_index(std::string_view text) const {
    const std::uint64_t index = capped_number(text);
    if (index > kLargestIndex || text.size() > 10) {
      line().fail(text.data(), "feature index is ", quoted(text), ", but must be at most ",
                  kLargestIndex);
    }
    if (header_ && index >= index_limit()) {
      line().fail(text.data(), "feature index is ", index, ", but must be ",
                  first_index_ == 0 ? "below " : "at most ", header_->num_features,
                  ", the header's number of features");
    }
    if (index < first_index_) {
      line().fail(text.data(),
                  "feature index is 0, but must be at least 1; for a file whose "
                  "indices count from 0, train with option index_base 0 (--index-base 0), which "
                  "the model keeps");
    }
    if (columns_.empty()) return;
    const std::uint64_t before = columns_.back() + first_index_;
    if (index <= before) {
      line().fail(text.data(), "feature index is ", index, " after ", before,
                  ", but indices must increase");
    }
  }

  static std::string_view token_at(const char* start) {
    const char* end = start;
    while (!is_blank(*end) && *end != '\n' && !(*end == '\r' && end[1] == '\n')) ++end;
    return {start, static_cast<std::size_t>(end - start)};
  }

  Line line() const { return {name_, line_number_, {line_, 0}, meter_}; }

  std::string name_;
  const SvmlightOptions& options_;
  WorkMeter* meter_;
  std::optional<Header> header_;
  std::uint32_t first_index_ = 1;
  const char *begin_ = nullptr, *end_ = nullptr;  // of the block
  const char* line_ = nullptr;
  std::int64_t line_number_ = 0;
  bool labels_alone_ = true;    // in every row so far
  std::int64_t first_row_ = 0;  // its line
  std::vector<LabelId> row_labels_;
  std::vector<FeatureId> columns_;
  std::vector<float> values_;
  CsrMatrix X_;
  LabelSets labels_;
  LabelCodec codec_;
};

Dataset read(LineBlocks blocks, const SvmlightOptions& options, RunControl* control) {
  SvmlightParser parser(blocks.name(), options, &blocks.meter());
  return read_in_time(blocks.name(), [&] {
    while (blocks.next()) {
      parser.parse(blocks.text());
      if (!detail::report_rows(parser.num_rows(), control)) return parser.finish(false);
    }
    return parser.finish(true);
  });
}
}  // namespace

bool is_svmlight_header(std::string_view line) {
  std::size_t count = 0;
  for (std::string_view rest = detail::trimmed(line); !rest.empty(); ++count) {
    const std::size_t size = std::min(rest.find_first_of(" \t"), rest.size());
    std::string_view field = rest.substr(0, size);
    rest = detail::trimmed(rest.substr(size));
    if (rest.empty() && field.ends_with('\r')) field.remove_suffix(1);
    if (!all_digits(field)) return false;
  }
  return count == 3;
}

Examples svmlight_part(const FilePart& part, const std::string& name, const ReadOptions& options) {
  const SvmlightOptions given{.codec = options.codec,
                              .known_labels_only = options.known_labels_only,
                              .refuse_labels_alone = options.refuse_labels_alone,
                              .first_index = options.first_index};
  SvmlightParser parser(name, given);
  if (!part.header.empty()) parser.parse(part.header);
  parser.continue_after(part.lines_before);
  parser.parse(part.rows);
  return parser.finish_part();
}

Dataset read_svmlight(const std::string& path, const SvmlightOptions& options,
                      RunControl* control) {
  return read(detail::row_blocks(open_file(path), path, control), options, control);
}

Dataset parse_svmlight(std::string_view bytes, const std::string& name,
                       const SvmlightOptions& options, RunControl* control) {
  return read(detail::row_blocks(open_memory(bytes, name), name, control), options, control);
}

}  // namespace margrove
