#include "data/float_parser.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <charconv>
#include <string>

#include "base/random.hpp"

namespace margrove::detail {
namespace {

std::uint32_t bits_by_library(const std::string& text) {
  float value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return std::bit_cast<std::uint32_t>(value);
}

void expect_exact(const std::string& text) {
  const ParsedFloat parsed = parse_float(text);
  ASSERT_EQ(parsed.fault, FloatFault::none) << text;
  EXPECT_EQ(std::bit_cast<std::uint32_t>(parsed.value), bits_by_library(text)) << text;
  const std::string line = text + "\n";
  float fast = 0;
  if (const char* end = parse_float_fast(line.c_str(), fast)) {
    EXPECT_EQ(end, line.c_str() + text.size()) << text;
    EXPECT_EQ(std::bit_cast<std::uint32_t>(fast), bits_by_library(text)) << text;
  }
}

TEST(FloatParser, equals_the_library_on_random_decimals) {
  Random random(1);
  for (int i = 0; i < 300000; ++i) {
    std::string text = random.below(2) == 0 ? "" : "-";
    const std::uint64_t whole = random.below(4);
    for (std::uint64_t k = 0; k < whole + 1; ++k) text += static_cast<char>('0' + random.below(10));
    text += '.';
    const std::uint64_t digits = random.below(18);
    for (std::uint64_t k = 0; k < digits; ++k) text += static_cast<char>('0' + random.below(10));
    if (random.below(2) == 0) {
      text += 'e';
      text += std::to_string(static_cast<int>(random.below(50)) - 25);
    }
    expect_exact(text);
  }
}

/// The decimals where rounding twice would go wrong: next to the middle of two floats.
TEST(FloatParser, rounds_once_near_ties) {
  Random random(2);
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t mantissa = (1U << 23U) + random.below(1U << 23U);
    const std::uint64_t middle = 2 * mantissa + 1;
    for (const char* tail : {"", ".0", ".00000000001", ".0000000000000001"}) {
      expect_exact(std::to_string(middle) + tail);
    }
    expect_exact(std::to_string(middle - 1) + ".9999999999");
  }
}

TEST(FloatParser, shortest_text_of_any_float_reads_back) {
  Random random(3);
  for (int i = 0; i < 300000; ++i) {
    const auto bits = static_cast<std::uint32_t>(random.next());
    const auto value = std::bit_cast<float>(bits);
    if (!(value - value == 0)) continue;
    std::array<char, 32> digits{};
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    const ParsedFloat parsed = parse_float({digits.data(), end});
    ASSERT_EQ(std::bit_cast<std::uint32_t>(parsed.value), bits) << digits.data();
  }
}

TEST(FloatParser, the_fast_way_takes_what_data_files_hold) {
  for (const char* text : {"0.2357\n", "-1.014731\n", "1\n", "1e-05\n", "123456.789012\n", "0\n"}) {
    float value = 0;
    EXPECT_NE(parse_float_fast(text, value), nullptr) << text;
  }
}

TEST(FloatParser, too_small_becomes_zero_and_too_large_is_a_fault) {
  EXPECT_EQ(parse_float("1e-60").value, 0.0F);
  EXPECT_EQ(parse_float("0.000e99999999999999999999").value, 0.0F);
  EXPECT_EQ(parse_float("1e-99999999999999999999").fault, FloatFault::none);
  EXPECT_EQ(parse_float(std::string("0.").append(400, '0') + "1").value, 0.0F);
  EXPECT_EQ(parse_float(std::string("1").append(400, '0')).fault, FloatFault::too_large);
  EXPECT_EQ(parse_float(std::string("1").append(400, '0') + "e-400").value, 1.0F);
  EXPECT_EQ(parse_float("3.5e38").fault, FloatFault::too_large);
  EXPECT_EQ(parse_float("-1e99999999999999999999").fault, FloatFault::too_large);
  EXPECT_EQ(parse_float("10e9223372036854775807").fault, FloatFault::too_large);
  EXPECT_NE(parse_float("1e-45").value, 0.0F);
}

TEST(FloatParser, refuses_what_is_not_a_decimal_number) {
  for (const char* text : {"", "+", "-", ".", "e5", "1e", "1e+", "nan", "inf", "0x10", "1 ", " 1",
                           "--1", "+-1", "1,5"}) {
    EXPECT_EQ(parse_float(text).fault, FloatFault::malformed) << text;
    const std::string line = std::string(text) + "\n";
    float value = 0;
    const char* end = parse_float_fast(line.c_str(), value);
    EXPECT_TRUE(end == nullptr || end != line.c_str() + line.size() - 1) << text;
  }
}

}  // namespace
}  // namespace margrove::detail
