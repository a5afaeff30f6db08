#include "data/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace margrove {

CodePoint decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  std::size_t size = 0;
  char32_t value = 0;
  char32_t smallest = 0;
  if (lead >= 0xC2 && lead < 0xE0) {
    size = 2, value = lead & 0x1FU, smallest = 0x80;
  } else if (lead >= 0xE0 && lead < 0xF0) {
    size = 3, value = lead & 0x0FU, smallest = 0x800;
  } else if (lead >= 0xF0 && lead < 0xF5) {
    size = 4, value = lead & 0x07U, smallest = 0x10000;
  } else {
    return {0, 0};
  }
  if (text.size() < size) return {0, 0};
  for (std::size_t k = 1; k < size; ++k) {
    if ((byte(k) & 0xC0U) != 0x80U) return {0, 0};
    value = (value << 6U) | (byte(k) & 0x3FU);
  }
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (value < smallest || surrogate || value > 0x10FFFF) return {0, 0};
  return {value, size};
}

void append_utf8(std::string& text, char32_t c) {
  const auto tail = [](char32_t bits) { return static_cast<char>(0x80U | (bits & 0x3FU)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xC0U | (c >> 6U));
    text += tail(c);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xE0U | (c >> 12U));
    text += tail(c >> 6U);
    text += tail(c);
  } else {
    text += static_cast<char>(0xF0U | (c >> 18U));
    text += tail(c >> 12U);
    text += tail(c >> 6U);
    text += tail(c);
  }
}

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    std::uint64_t eight = 0;
    if (text.size() - at >= sizeof(eight)) {
      std::memcpy(&eight, text.data() + at, sizeof(eight));
      if ((eight & 0x8080808080808080ULL) == 0) {
        at += sizeof(eight);
        continue;
      }
    }
    const CodePoint c = decode_utf8(text.substr(at));
    if (c.size == 0) return at;
    at += c.size;
  }
  return std::string_view::npos;
}

void append_hexadecimal(std::string& text, char byte) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  text += {'\\', 'x', kDigits[value >> 4U], kDigits[value & 15U]};
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint c = decode_utf8(text.substr(at));
    const bool is_control = c.value < 0x20 || (c.value >= 0x7F && c.value < 0xA0);
    if (c.size > 0 && (!is_control || c.value == '\n' || c.value == '\t')) {
      result += text.substr(at, c.size);
      at += c.size;
      continue;
    }
    append_hexadecimal(result, text[at]);
    ++at;
  }
  return result;
}

}  // namespace margrove
