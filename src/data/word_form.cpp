#include "data/word_form.hpp"

#include <optional>

#include "data/unicode.hpp"
#include "data/utf8.hpp"

namespace margrove {
namespace {

bool is_ascii(char32_t c) { return c < 0x80; }

char32_t lower_of(char32_t c) {
  if (is_ascii(c)) return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
  return to_lower(c);
}

/// Calls visit(character, bytes) for each character of the alphabet, and visit(nothing, byte) for
/// each byte between these.
template <class Visit>
void for_characters(std::string_view text, Alphabet alphabet, const Visit& visit) {
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text.front());
    CodePoint point{first, is_ascii(first) ? std::size_t{1} : std::size_t{0}};
    if (point.size == 0 && alphabet == Alphabet::unicode) point = decode_utf8(text);
    if (point.size == 0) {
      visit(std::nullopt, text.substr(0, 1));
      text.remove_prefix(1);
    } else {
      visit(std::optional(point.value), text.substr(0, point.size));
      text.remove_prefix(point.size);
    }
  }
}

/// What stands for a character in a shape.
char kind_of(char32_t c) {
  if (is_ascii(c)) {
    if (c >= '0' && c <= '9') return '9';
    if (c >= 'a' && c <= 'z') return 'x';
    return c >= 'A' && c <= 'Z' ? 'X' : static_cast<char>(c);
  }
  const CharacterUse use = use_of(c);
  if ((use & kDigit) != 0) return '9';
  if ((use & kLetter) == 0 || (use & (kAlone | kKatakana)) != 0) return 'u';
  return to_lower(c) != c ? 'X' : 'x';
}

void append_lower(std::string& lower, std::optional<char32_t> c, std::string_view bytes) {
  if (c && lower_of(*c) != *c) {
    append_utf8(lower, lower_of(*c));
  } else {
    lower += bytes;
  }
}

bool is_mark(char32_t c) { return !is_ascii(c) && (use_of(c) & (kMark | kUnseen)) != 0; }

}  // namespace

std::string lower_case(std::string_view text, Alphabet alphabet) {
  std::string lower;
  for_characters(text, alphabet, [&](std::optional<char32_t> c, std::string_view bytes) {
    append_lower(lower, c, bytes);
  });
  return lower;
}

WordForm word_form(std::string_view word, Alphabet alphabet) {
  WordForm form;
  bool has_others = false;
  for_characters(word, alphabet, [&](std::optional<char32_t> c, std::string_view bytes) {
    append_lower(form.lower, c, bytes);
    if (c && is_mark(*c)) return;
    const char kind = c ? kind_of(*c) : 'u';
    const bool is_upper = c && lower_of(*c) != *c;
    if (bytes.data() == word.data()) form.starts_upper = is_upper;
    has_others |= !is_upper;
    form.has_digit |= kind == '9';
    const std::size_t n = form.shape.size();
    if (n < 2 || form.shape[n - 1] != kind || form.shape[n - 2] != kind) form.shape += kind;
  });
  form.is_upper = !has_others;
  return form;
}

std::string_view affix(std::string_view text, int count, bool from_end) {
  const auto starts = [&](std::size_t k) { return (text[k] & 0xC0) != 0x80; };
  if (from_end) {
    std::size_t k = text.size();
    while (k > 0) {
      --k;
      if (starts(k) && --count == 0) return k > 0 ? text.substr(k) : std::string_view{};
    }
    return {};
  }
  for (std::size_t k = 0; k < text.size(); ++k) {
    if (starts(k) && count-- == 0) return text.substr(0, k);
  }
  return {};
}

}  // namespace margrove
