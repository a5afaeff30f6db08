#include "data/text_scan.hpp"

#include <algorithm>

#include "data/float_parser.hpp"
#include "data/utf8.hpp"

namespace margrove::detail {
namespace {
constexpr std::size_t kMaxQuotedBytes = 40;

void append_escaped(std::string& text, unsigned char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  text += "\\x";
  text += kDigits[byte >> 4U];
  text += kDigits[byte & 15U];
}
}  // namespace

std::string quoted(std::string_view token) {
  std::string text(1, '\'');
  std::size_t at = 0;
  while (at < token.size() && at < kMaxQuotedBytes) {
    const CodePoint c = decode_utf8(token.substr(at));
    if (c.size == 0 || c.value < 0x20 || c.value == 0x7F) {
      append_escaped(text, static_cast<unsigned char>(token[at]));
      ++at;
    } else {
      text += token.substr(at, c.size);
      at += c.size;
    }
  }
  if (at < token.size()) text += "...";
  text += '\'';
  return text;
}

std::string label_fault(std::string_view name) {
  if (name.empty()) return "is empty, but must have at least one character";
  if (name.size() > kMaxLabelBytes) {
    return concat("has ", name.size(), " bytes, but must have at most ", kMaxLabelBytes);
  }
  for (const char c : name) {
    if (c == ',' || static_cast<unsigned char>(c) <= 0x20 || c == 0x7F) {
      return concat("is ", quoted(name),
                    ", but must not contain blanks, commas or control characters");
    }
  }
  if (name.front() == '#') {
    return concat("is ", quoted(name), ", but must not start with '#', which starts comments");
  }
  if (find_invalid_utf8(name) != std::string_view::npos) {
    return concat("is ", quoted(name), ", but must be valid UTF-8");
  }
  return {};
}

bool looks_like_feature(std::string_view token) {
  const std::size_t colon = token.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  return std::all_of(token.begin(), token.begin() + static_cast<std::ptrdiff_t>(colon),
                     [](char c) { return c >= '0' && c <= '9'; }) &&
         parse_float(token.substr(colon + 1)).fault == FloatFault::none;
}

LineFields split_fields(const Line& line) {
  LineFields fields;
  std::size_t p = 0;
  while (fields.count < fields.at.size()) {
    while (p < line.text.size() && is_blank(line.text[p])) ++p;
    if (p == line.text.size() || line.text[p] == '#') break;
    const std::size_t start = p;
    while (p < line.text.size() && !is_blank(line.text[p])) ++p;
    fields.at[fields.count++] = line.text.substr(start, p - start);
  }
  return fields;
}

}  // namespace margrove::detail
