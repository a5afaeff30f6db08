#pragma once
// The texts of options that are a number or `auto`, which is no number.

#include <optional>
#include <string>
#include <string_view>

#include "base/number_text.hpp"

namespace margrove {

inline constexpr std::string_view kAutomatic = "auto";

template <class Number>
std::string automatic_number_text(const std::optional<Number>& number) {
  if (!number) return std::string(kAutomatic);
  std::string text;
  append_number(text, *number);
  return text;
}

}  // namespace margrove
