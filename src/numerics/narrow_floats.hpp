#pragma once
// Numbers of 16 and 8 bits.

#include <bit>
#include <cstdint>

namespace margrove::detail {

/// The sign, the exponent and seven bits of the mantissa of a float32.
struct BFloat16 {
  std::uint16_t bits = 0;
};
inline float wide(BFloat16 x) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16);
}
/// Rounds to the nearest; x must be finite.
inline BFloat16 narrow(float x) {
  return {static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(x) + 0x8000U) >> 16)};
}
/// A float32 from its two halves; the inverse of split().
inline float join(BFloat16 high, BFloat16 low) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(high.bits) << 16 | low.bits);
}
inline void split(float x, BFloat16& high, BFloat16& low) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  high.bits = static_cast<std::uint16_t>(bits >> 16);
  low.bits = static_cast<std::uint16_t>(bits & 0xffffU);
}

/// A number >= 0 with three bits of its mantissa, relative to a largest number. Numbers below 2^-31
/// times the largest become 0.
struct Float8 {
  std::uint8_t bits = 0;
};
/// The exponent and three bits of the mantissa of x >= 0, rounded to the nearest.
inline std::int32_t leading_bits(float x) {
  return std::bit_cast<std::int32_t>(std::bit_cast<std::uint32_t>(x) + 0x80000U) >> 20;
}
/// The argument `base` of encode() and decode() for this largest number.
inline std::int32_t float8_base(float largest) { return leading_bits(largest) - 255; }
inline Float8 encode(float x, std::int32_t base) {
  const std::int32_t code = leading_bits(x) - base;
  return {static_cast<std::uint8_t>(code < 0 ? 0 : (code > 255 ? 255 : code))};
}
inline float decode(Float8 x, std::int32_t base) {
  const std::int32_t code = x.bits;
  return std::bit_cast<float>(code == 0 ? 0 : (code + base) << 20);
}

}  // namespace margrove::detail
