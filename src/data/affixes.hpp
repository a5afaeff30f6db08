#pragma once
// The beginnings and ends of words, from which features of tokens are made.

#include <string>
#include <string_view>

namespace margrove {

/// The text with small ASCII letters in place of capital ones; other characters stay.
inline std::string lower_ascii(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// The bytes of the first (or last) `count` characters; empty if the text is not longer.
inline std::string_view affix(std::string_view text, int count, bool from_end) {
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
