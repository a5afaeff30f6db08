#pragma once
// Numbers as text, in the C locale.

#include <array>
#include <charconv>
#include <cstdint>
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

/// The shortest spelling of a whole number that may be written with a sign, a fraction of 0 or an
/// exponent: "1" for "+1", "1.0" and "1e0". Nothing if the text is something else, or beyond the
/// numbers that a double has exactly.
inline std::optional<std::string> whole_number_text(std::string_view text) {
  constexpr double kLargest = 9007199254740992;  // 2^53
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const auto number = read_number<double>(text);
  if (!number || !(*number >= -kLargest && *number <= kLargest)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(*number);
  if (static_cast<double>(whole) != *number) return std::nullopt;
  std::string shortest;
  append_number(shortest, whole);
  return shortest;
}

}  // namespace margrove
