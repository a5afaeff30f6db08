#pragma once
// Decimal text to the nearest float32, faster than std::from_chars on the numbers of data files.

#include <cstdint>
#include <string_view>

namespace margrove::detail {

enum class FloatFault { none, malformed, too_large };
struct ParsedFloat {
  float value;
  FloatFault fault;
};

/// Reads all of `text` as a number: an optional sign, decimal digits with an optional point, an
/// optional exponent. Refuses NaN, infinity, hexadecimal and blanks. Numbers that are too small
/// become zero.
ParsedFloat parse_float(std::string_view text);

/// What follows a value of a feature that is refused, in rows of all origins.
inline constexpr std::string_view kWantedFeatureValue =
    ", but must be a number that fits a 32-bit float, not NaN or infinity";

/// Tries the common case: at most 19 digits and a small exponent, followed by any other character.
/// On success returns the end of the number and sets `value` to exactly what parse_float() gives;
/// otherwise returns nullptr. Reads up to and including the first byte that cannot belong to the
/// number, so the text must end with such a byte (a line end).
const char* parse_float_fast(const char* text, float& value);

}  // namespace margrove::detail
