#include "serve/request_body.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "data/json_text.hpp"
#include "data/text_scan.hpp"
#include "data/utf8.hpp"
#include "margrove/errors.hpp"

namespace margrove::serve {
namespace {

constexpr std::size_t kMaxKeys = 64;  // each is compared with all others

/// Takes rows and options out of a body.
class BodyEvents : public detail::JsonEvents {
 public:
  explicit BodyEvents(std::string_view text) : text_(text) {}

  RequestBody read() {
    parse(text_, *this);
    return std::move(body_);
  }

  bool null() { return scalar("null", /*may_be_option=*/false); }
  bool boolean(bool value) { return scalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) { return scalar(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) { return scalar(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) { return scalar(text); }
  bool string(string_t& text) {
    if (!at_row()) return scalar(text);
    body_.rows.push_back(slice_from(place_of_token()));
    return end_token();
  }

  bool start_object(std::size_t) {
    const char* place = place_of_token();
    if (at_row()) {
      row_begin_ = place;
    } else if (depth_ > 0 && row_begin_ == nullptr) {
      refuse_value(place, "an object");
    }
    return go_down(place);
  }
  bool end_object() { return go_up(); }
  bool start_array(std::size_t) {
    const char* place = place_of_token();
    if (depth_ == 0) fail(place, "the body is a list, but must be an object {...}");
    const bool is_list_of_rows = depth_ == 1 && key_ == "rows";
    if (at_row()) {
      row_begin_ = place;
    } else if (row_begin_ == nullptr && !is_list_of_rows) {
      refuse_value(place, "a list");
    }
    return go_down(place);
  }
  bool end_array() { return go_up(); }
  bool key(string_t& name) {
    if (depth_ == 1) begin_key(name);
    return end_token();
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::json::exception& error) {
    const std::size_t at = std::clamp<std::size_t>(position, 1, text_.size() + 1) - 1;
    fail(detail::is_large_number(error) ? place_of_token() : text_.data() + at,
         detail::json_fault("body", error));
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const char* at, const Parts&... parts) const {
    const std::string_view before(text_.data(), static_cast<std::size_t>(at - text_.data()));
    const auto line = std::count(before.begin(), before.end(), '\n') + 1;
    const std::size_t newline = before.rfind('\n');
    const std::size_t column =
        newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
    throw InvalidInput(concat("body:", line, ":", column + 1, ": ", parts...));
  }
  [[noreturn]] void refuse_value(const char* place, std::string_view what) const {
    if (key_ == "rows") {
      fail(place, depth_ == 1 ? "key 'rows' is " : "an element of 'rows' is ", what,
           depth_ == 1 ? ", but must be a list of rows"
                       : ", but must be a string, an object or a list");
    }
    fail(place, "key ", detail::quoted(key_), " is ", what,
         key_ == "row" ? ", but must be a string, an object or a list"
                       : ", but must be a text, a number, true or false");
  }

  std::string_view slice_from(const char* begin) const {
    return {begin, static_cast<std::size_t>(read_end() - begin)};
  }
  bool go_down(const char* place) {
    if (++depth_ > detail::kMaxJsonDepth) {
      fail(place, "the body is nested more than ", detail::kMaxJsonDepth, " levels deep");
    }
    return end_token();
  }
  bool go_up() {
    --depth_;
    if (row_begin_ != nullptr && depth_ == row_depth()) {
      body_.rows.push_back(slice_from(row_begin_));
      row_begin_ = nullptr;
    }
    return end_token();
  }
  /// The depth of the values that are rows.
  std::size_t row_depth() const { return key_ == "rows" ? 2 : 1; }
  /// Whether the present token is, or begins, a row.
  bool at_row() const {
    return (key_ == "row" || key_ == "rows") && row_begin_ == nullptr && depth_ == row_depth();
  }

  void begin_key(const std::string& name) {
    key_ = name;
    const auto is_same = [&](const auto& option) { return option.first == name; };
    const bool is_rows = name == "row" || name == "rows";
    if (is_rows && body_.has_rows) {
      fail(place_of_token(), "key ", detail::quoted(name),
           " is given beside another 'row' or 'rows'");
    }
    if (std::any_of(body_.options.begin(), body_.options.end(), is_same)) {
      fail(place_of_token(), "key ", detail::quoted(name), " is given twice");
    }
    body_.has_rows |= is_rows;
    if (++num_keys_ > kMaxKeys) {
      fail(place_of_token(), "the body has more than ", kMaxKeys, " keys");
    }
  }

  bool scalar(const std::string& text, bool may_be_option = true) {
    if (row_begin_ != nullptr) return end_token();  // inside a row
    const char* place = place_of_token();
    if (depth_ == 0) fail(place, "the body is a single value, but must be an object {...}");
    const bool is_rows = key_ == "row" || key_ == "rows";
    if (is_rows || !may_be_option) refuse_value(place, may_be_option ? "a single value" : "null");
    body_.options.emplace_back(key_, text);
    return end_token();
  }

  std::string_view text_;
  const char* row_begin_ = nullptr;  // inside a row that is an object or a list
  std::size_t depth_ = 0;
  std::string key_;  // of the body
  std::size_t num_keys_ = 0;
  RequestBody body_;
};

/// The text with %XX and + decoded; `source`: what it is a part of, for messages.
std::string decoded(std::string_view text, std::string_view source) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (text[k] != '%') {
      plain += text[k] == '+' ? ' ' : text[k];
      continue;
    }
    unsigned byte = 0;
    const char* digits = text.data() + k + 1;
    const bool is_whole = text.size() - k >= 3;
    const auto end = is_whole ? std::from_chars(digits, digits + 2, byte, 16).ptr : digits;
    require(end == digits + 2, source, ": ", detail::quoted(text.substr(k, 3)),
            " is not a percent sign and two hexadecimal digits");
    plain += static_cast<char>(byte);
    k += 2;
  }
  require(find_invalid_utf8(plain) == std::string_view::npos, source, ": ", detail::quoted(plain),
          " is not UTF-8");
  return plain;
}

/// Calls use(name, value) for the pairs of `NAME=VALUE&...`, decoded; `without`: the value of a
/// name alone.
template <class Use>
void for_pairs(std::string_view text, std::string_view source, std::string_view without,
               const Use& use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    const bool has_value = equals != std::string_view::npos;
    use(decoded(part.substr(0, equals), source),
        has_value ? decoded(part.substr(equals + 1), source) : std::string(without));
  }
}

/// Fields of a form that are options.
constexpr std::array<std::string_view, 4> kFormOptions{"limit", "min_confidence", "model",
                                                       "project"};

}  // namespace

RequestBody parse_request_body(std::string_view text) { return BodyEvents(text).read(); }

OptionValues parse_query(std::string_view query) {
  OptionValues values;
  for_pairs(query, "query", "true", [&](std::string name, std::string value) {
    values.emplace_back(std::move(name), std::move(value));
  });
  return values;
}

FormBody parse_form_body(std::string_view form) {
  FormBody body;
  for_pairs(form, "body", "", [&](const std::string& name, std::string value) {
    if (name == "text") {
      require(!body.text, "body: field 'text' is given twice");
      body.text = std::move(value);
    } else if (std::ranges::find(kFormOptions, name) != kFormOptions.end()) {
      const std::string_view option = name == "project" ? "model" : std::string_view(name);
      const auto is_same = [&](const auto& given) { return given.first == option; };
      require<InvalidOption>(std::none_of(body.options.begin(), body.options.end(), is_same),
                             "body: option ", option, " is given twice");
      body.options.emplace_back(option, std::move(value));
    }
  });
  return body;
}

}  // namespace margrove::serve
