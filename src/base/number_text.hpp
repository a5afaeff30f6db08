#pragma once
// Numbers as text, in the C locale.

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace margrove {

/// Appends the shortest text that reads back equal.
template <class Number>
void append_number(std::string& text, Number number) {
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  text.append(digits.data(), end);
}

/// The whole text as a number; nothing if it is not one or is out of range.
template <class Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace margrove
