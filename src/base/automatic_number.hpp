#pragma once
// The texts of options that are a number or `auto`, which is no number.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/number_text.hpp"
#include "margrove/errors.hpp"
#include "margrove/options.hpp"

namespace margrove {

inline constexpr std::string_view kAutomatic = "auto";

template <class Number>
std::string automatic_number_text(const std::optional<Number>& number) {
  if (!number) return std::string(kAutomatic);
  std::string text;
  append_number(text, *number);
  return text;
}

/// The value of a text that is `auto` or a whole number. Throws InvalidOption if it is neither, or
/// less than `least`.
inline std::optional<int> automatic_or_count(std::string_view option, std::string_view text,
                                             int least) {
  if (text == kAutomatic) return std::nullopt;
  const std::int64_t number = detail::parse_integer(option, text);
  require<InvalidOption>(number >= least && std::in_range<int>(number), "option ", option, " is ",
                         text, ", but must be auto or >= ", least);
  return static_cast<int>(number);
}

/// The value of a text that is `auto` or a number. Throws InvalidOption if it is neither, or not in
/// the range.
inline std::optional<double> automatic_or_number(std::string_view option, std::string_view text,
                                                 const Range& range) {
  if (text == kAutomatic) return std::nullopt;
  const double number = detail::parse_number(option, text);
  require<InvalidOption>(range.holds(number), "option ", option, " is ", text,
                         ", but must be auto or ", range.text);
  return number;
}

}  // namespace margrove
