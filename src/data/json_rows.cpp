#include "data/json_rows.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/number_text.hpp"
#include "data/json_text.hpp"
#include "data/jsonl_reader.hpp"
#include "data/text_scan.hpp"
#include "data/token_features.hpp"
#include "data/views.hpp"
#include "margrove/svmlight_reader.hpp"

namespace margrove {
namespace {

/// One row of a request, and its place in messages.
struct RowText {
  std::string_view json;
  const std::string& source;
  std::int64_t number;

  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    throw InvalidInput(concat(source, ":", number, ": ", parts...));
  }
  nlohmann::json value() const {
    try {
      return nlohmann::json::parse(json);
    } catch (const nlohmann::json::exception& error) {
      fail(detail::json_fault("row", error));
    }
  }
};

/// Calls read(row) for each row.
template <class Read>
void for_each_row(const JsonRows& rows, const Read& read) {
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    read(RowText{rows.texts[i], rows.source, rows.first + static_cast<std::int64_t>(i)});
  }
}

std::string document_of(const RowText& row) {
  nlohmann::json value = row.value();
  if (value.is_object()) {
    if (value.size() != 1 || !value.contains("text")) {
      row.fail("the row has other keys than the one it must have, 'text'");
    }
    value = nlohmann::json(std::move(value["text"]));
  }
  if (!value.is_string()) {
    row.fail("the row is not a text, but must be a string or {\"text\": string}");
  }
  auto text = value.get<std::string>();
  detail::require_text({row.source, row.number, text}, text, "text");
  return text;
}

/// Receives the parser's events of {"features": {index: number}} and keeps numbers as they are
/// written, so that they become the same floats as in a file.
class FeatureEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  FeatureEvents(const RowText& row, std::uint32_t first_index)
      : row_(row), first_index_(first_index) {}
  bool null() override { return refuse(); }
  bool boolean(bool) override { return refuse(); }
  bool string(string_t&) override { return refuse(); }
  bool binary(binary_t&) override { return refuse(); }
  bool number_integer(number_integer_t value) override { return add(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return add(text); }
  bool start_object(std::size_t) override { return ++depth_ <= 2 || refuse(); }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t) override { return refuse(); }
  bool end_array() override { return true; }
  bool key(string_t& name) override {
    if (depth_ == 1) {
      if (name != "features" || has_features_) {
        row_.fail("key is ", detail::quoted(name), ", but must be 'features', once");
      }
      has_features_ = true;
      return true;
    }
    const auto index = read_number<std::uint32_t>(name);
    if (!index || *index < first_index_ || concat(*index) != name) {
      row_.fail("index is ", detail::quoted(name), ", but must be a whole number from ",
                first_index_);
    }
    index_ = *index;
    if (values_.contains(index_)) row_.fail("index ", index_, " is given twice");
    return true;
  }
  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::json::exception& error) override {
    row_.fail(detail::json_fault("row", error));
  }
  /// A line of SVMlight without labels.
  std::string line() const {
    if (!has_features_) row_.fail("the row has no key 'features'");
    std::string text = " ";
    for (const auto& [index, value] : values_) text += concat(index, ":", value, " ");
    return text;
  }

 private:
  bool refuse() const {
    if (depth_ < 2) row_.fail("key 'features' must be an object {index: number}");
    row_.fail("the value of feature ", index_, " is not a number");
  }
  bool add(std::string text) {
    if (depth_ < 2) return refuse();
    values_.emplace(index_, std::move(text));
    return true;
  }

  const RowText& row_;
  std::uint32_t first_index_;
  int depth_ = 0;
  bool has_features_ = false;
  std::uint32_t index_ = 0;
  std::map<std::uint32_t, std::string> values_;
};

/// The row as a line of SVMlight.
std::string line_of(const RowText& row, std::uint32_t first_index) {
  if (row.json.starts_with('{')) {
    FeatureEvents events(row, first_index);
    nlohmann::json::sax_parse(row.json, &events);
    return events.line();
  }
  const nlohmann::json value = row.value();
  if (!value.is_string()) {
    row.fail("the row is neither a line of SVMlight nor {\"features\": {index: number}}");
  }
  auto line = value.get<std::string>();
  if (line.empty() || line.front() == '#') line.insert(line.begin(), ' ');
  if (line.find_first_of("\r\n") != std::string::npos) {
    row.fail("the row has a line end, but must be one line");
  }
  // Rows of requests seldom have labels: 1:x is a feature whose value is wrong, and no label.
  const std::size_t index_end = line.find_first_not_of("0123456789");
  const bool begins_with_feature =
      index_end > 0 && index_end != std::string::npos && line[index_end] == ':';
  if (begins_with_feature) line.insert(line.begin(), ' ');
  return line;
}

/// Takes the rows of all views out of {"views": {name: row}}.
class ViewEvents : public detail::JsonEvents {
 public:
  explicit ViewEvents(const RowText& row) : row_(row) {}
  std::map<std::string, std::string_view> read() {
    parse(row_.json, *this);
    if (!has_views_) refuse();
    return std::move(rows_);
  }

  bool null() { return scalar(); }
  bool boolean(bool) { return scalar(); }
  bool number_integer(number_integer_t) { return scalar(); }
  bool number_unsigned(number_unsigned_t) { return scalar(); }
  bool number_float(number_float_t, const string_t&) { return scalar(); }
  bool string(string_t&) {
    if (depth_ < kDepth) refuse();
    if (depth_ == kDepth) take(place_of_token());
    return end_token();
  }
  bool start_object(std::size_t) { return go_down(depth_ == 0 || (depth_ == 1 && has_views_)); }
  bool start_array(std::size_t) { return go_down(false); }
  bool end_object() { return go_up(); }
  bool end_array() { return go_up(); }
  bool key(string_t& name) {
    if (depth_ == 1) {
      if (name != "views" || has_views_) refuse();
      has_views_ = true;
    } else if (depth_ == kDepth) {
      name_ = name;
      if (rows_.contains(name)) row_.fail("view ", detail::quoted(name), " is given twice");
    }
    return end_token();
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    row_.fail(detail::json_fault("row", error));
  }

 private:
  static constexpr std::size_t kDepth = 2;  // of the rows

  [[noreturn]] void refuse() const {
    row_.fail(R"(the row is of several views, so it must be {"views": {name: row, ...}})");
  }
  void take(const char* begin) {
    rows_[name_] = {begin, static_cast<std::size_t>(read_end() - begin)};
  }
  bool scalar() {
    if (depth_ < kDepth) refuse();
    if (depth_ == kDepth) {
      row_.fail("the row of view ", detail::quoted(name_), " must be a string or an object");
    }
    return end_token();
  }
  bool go_down(bool is_frame) {
    if (depth_ < kDepth && !is_frame) refuse();
    if (depth_ == kDepth) begin_ = place_of_token();
    if (++depth_ > detail::kMaxJsonDepth) row_.fail("the row is nested too deeply");
    return end_token();
  }
  bool go_up() {
    if (--depth_ == kDepth) take(begin_);
    return end_token();
  }

  const RowText& row_;
  std::size_t depth_ = 0;
  bool has_views_ = false;
  std::string name_;             // of the present view
  const char* begin_ = nullptr;  // of its row
  std::map<std::string, std::string_view> rows_;
};

/// The rows of all views, in the order of the model's.
std::vector<std::string_view> rows_of_views(const RowText& row, std::span<const View> views) {
  const auto given = ViewEvents(row).read();
  std::vector<std::string> names;
  std::vector<std::string_view> rows;
  for (const View& view : views) names.push_back(view.name);
  for (const auto& [name, json] : given) {
    if (std::ranges::find(names, name) == names.end()) {
      row.fail("view is ", detail::quoted(name), ", but must be one of ",
               detail::join(names, ", "));
    }
  }
  for (const std::string& name : names) {
    const auto found = given.find(name);
    if (found == given.end()) {
      row.fail("the row has no view '", name, "', but must have ", detail::join(names, ", "));
    }
    rows.push_back(found->second);
  }
  return rows;
}

/// The row as a line of JSON lines: line ends between its tokens become blanks.
std::string record_of(const RowText& row) {
  if (!row.json.starts_with('{')) row.fail("the row is not an object {...}, but must be one");
  std::string line(row.json);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

/// What parse(lines) makes of the lines. Only where it refuses them, they are read again behind as
/// many empty lines as there were rows before, so that the message names the right one.
template <class Parse>
auto with_places(const std::string& lines, std::int64_t first, const Parse& parse) {
  try {
    return parse(lines);
  } catch (const InvalidInput&) {
    if (first == 1) throw;
    return parse(std::string(static_cast<std::size_t>(first - 1), '\n') + lines);
  }
}

Dataset numbers_of(const JsonRows& rows, const std::string& lines) {
  return with_places(lines, rows.first, [&](const std::string& text) {
    return parse_svmlight(text, rows.source,
                          {.refuse_labels_alone = true, .first_index = rows.options.first_index});
  });
}

/// The tokens of a sentence: texts, lists of texts, or objects of features.
class TokenReader {
 public:
  TokenReader(const RowText& row, const std::optional<std::vector<std::string>>& keys)
      : row_(row), keys_(keys) {}

  Token read(nlohmann::json& value, std::size_t number) const {
    if (value.is_string()) return {std::move(value.get_ref<std::string&>())};
    if (value.is_object()) return of_features(value, number);
    if (!value.is_array()) refuse(number);
    Token token;
    for (nlohmann::json& cell : value) {
      if (!cell.is_string()) refuse(number);
      token.push_back(std::move(cell.get_ref<std::string&>()));
    }
    return token;
  }

 private:
  [[noreturn]] void refuse(std::size_t number) const {
    row_.fail("token ", number, " is neither a text nor a list of texts, but must be one");
  }

  Token of_features(nlohmann::json& value, std::size_t number) const {
    if (!keys_) {
      row_.fail("token ", number,
                " is an object, but must be a text or a list of texts, as in training");
    }
    TokenFeatures features;
    for (auto& [key, feature] : value.items()) {
      if (feature.is_string()) {
        features.emplace(key, std::move(feature.get_ref<std::string&>()));
      } else if (feature.is_boolean()) {
        features.emplace(key, feature.get<bool>() ? 1.0 : 0.0);
      } else if (!feature.is_null()) {
        const bool fits = feature.is_number() && std::abs(feature.get<double>()) <=
                                                     double{std::numeric_limits<float>::max()};
        if (!fits) {
          row_.fail("token ", number, ": feature ", detail::quoted(key), " is ",
                    detail::quoted(feature.dump()),
                    ", but must be a text, a finite number, a bool or null");
        }
        features.emplace(key, feature.get<double>());
      }
    }
    return token_of(features, *keys_);
  }

  const RowText& row_;
  const std::optional<std::vector<std::string>>& keys_;
};

}  // namespace

Examples json_numbers(const JsonRows& rows) {
  const std::uint32_t first_index = rows.options.first_index.value_or(1);
  std::vector<std::string> lines(std::max<std::size_t>(rows.views.size(), 1));
  for_each_row(rows, [&](const RowText& row) {
    const auto of_views =
        rows.views.empty() ? std::vector{row.json} : rows_of_views(row, rows.views);
    for (std::size_t k = 0; k < lines.size(); ++k) {
      lines[k] += line_of({of_views[k], row.source, row.number}, first_index);
      lines[k] += '\n';
    }
  });
  if (rows.views.empty()) return numbers_of(rows, lines[0]);
  std::vector<Dataset> parts;
  for (const std::string& text : lines) parts.push_back(numbers_of(rows, text));
  std::vector<ViewRows> views;
  for (const Dataset& part : parts) views.emplace_back(part.X.view());
  CsrMatrix X = side_by_side(views, rows.views);
  Examples examples = std::move(parts.front());
  examples.X = std::move(X);
  examples.views.assign(rows.views.begin(), rows.views.end());
  return examples;
}

Examples json_texts(const JsonRows& rows) {
  TextDataset texts;
  for_each_row(rows, [&](const RowText& row) {
    texts.documents.push_back(document_of(row));
    texts.labels.append({});
  });
  return texts;
}

Examples json_records(const JsonRows& rows) {
  std::string lines;
  for_each_row(rows, [&](const RowText& row) { lines += record_of(row) + "\n"; });
  return with_places(lines, rows.first, [&](const std::string& text) {
    return parse_jsonl(text, rows.source,
                       {.selection = rows.options.selection,
                        .labels_optional = true,
                        .vector_widths = rows.options.vector_widths});
  });
}

Examples read_request_rows(RowKind kind, const JsonRows& rows) {
  require(!rows.texts.empty(), rows.source, ": there are no rows, but there must be at least one");
  Examples examples = info_of(kind).read_json(rows);
  require(examples.num_rows() == rows.texts.size(), rows.source, ": only ", examples.num_rows(),
          " of ", rows.texts.size(), " rows could be read");
  examples.source = rows.source;
  return examples;
}

Sentence read_request_sentence(std::string_view json, const std::string& source,
                               std::int64_t number,
                               const std::optional<std::vector<std::string>>& keys) {
  const RowText row{json, source, number};
  if (!json.starts_with('[')) {
    row.fail("the row is not a sentence, but must be a list of tokens: ",
             keys ? "objects of features" : "texts, or lists of texts");
  }
  nlohmann::json tokens = row.value();
  const TokenReader reader(row, keys);
  Sentence sentence;
  for (nlohmann::json& token : tokens) {
    sentence.push_back(reader.read(token, sentence.size() + 1));
  }
  return sentence;
}

}  // namespace margrove
