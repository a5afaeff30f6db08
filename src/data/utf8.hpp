#pragma once
// Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF.

#include <cstddef>
#include <string>
#include <string_view>

namespace margrove {

struct CodePoint {
  char32_t value;
  std::size_t size;  // bytes; 0 when the text does not start with a valid sequence
};
/// The first character of a non-empty text.
CodePoint decode_utf8(std::string_view text);
void append_utf8(std::string& text, char32_t character);
/// Where the first invalid sequence starts; npos if there is none.
std::size_t find_invalid_utf8(std::string_view text);
/// Appends \xNN.
void append_hexadecimal(std::string& text, char byte);
/// The text with control characters, which a terminal would execute, and invalid bytes as \xNN;
/// line ends and tabs stay.
std::string printable(std::string_view text);

}  // namespace margrove
