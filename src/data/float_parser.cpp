#include "data/float_parser.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <system_error>

#include "data/text_scan.hpp"

namespace margrove::detail {
namespace {
constexpr int kLargestExactPower = 22;  // 10^22 is the last power of ten that a double holds
constexpr std::array<double, kLargestExactPower + 1> kPowersOfTen = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/// Rounding to double and then to float differs from rounding once only where the double lies
/// exactly between two floats.
bool lies_between_floats(double x) {
  constexpr std::uint64_t kDropped = (1ULL << 29U) - 1;
  return (std::bit_cast<std::uint64_t>(x) & kDropped) == 1ULL << 28U;
}

/// Whether the first significant digit stands before the point, which distinguishes overflow from
/// underflow.
bool is_at_least_one(std::string_view unsigned_number) {
  long long exponent = 0;
  const std::size_t e = unsigned_number.find_first_of("eE");
  if (e != std::string_view::npos) {
    std::string_view text = unsigned_number.substr(e + 1);
    const bool negative = text.starts_with('-');
    if (text.starts_with('+')) text.remove_prefix(1);
    if (std::from_chars(text.data(), text.data() + text.size(), exponent).ec != std::errc{}) {
      return !negative;  // the exponent alone overflows
    }
  }
  const std::string_view digits = unsigned_number.substr(0, e);
  const std::size_t point = std::min(digits.find('.'), digits.size());
  const std::size_t first = digits.find_first_not_of("0.");
  if (first == std::string_view::npos) return false;
  const long long place = first < point ? static_cast<long long>(point - first) - 1
                                        : -static_cast<long long>(first - point);
  return exponent >= -place;
}
}  // namespace

const char* parse_float_fast(const char* p, float& value) {
  const bool negative = *p == '-';
  if (negative || *p == '+') ++p;
  std::uint64_t digits = 0;
  const char* start = p;
  while (is_digit(*p)) digits = 10 * digits + static_cast<std::uint64_t>(*p++ - '0');
  std::ptrdiff_t num_digits = p - start;
  int exponent = 0;
  if (*p == '.') {
    start = ++p;
    while (is_digit(*p)) digits = 10 * digits + static_cast<std::uint64_t>(*p++ - '0');
    num_digits += p - start;
    if (num_digits > 19) return nullptr;
    exponent = static_cast<int>(start - p);
  }
  if (num_digits == 0 || num_digits > 19 || digits > (1ULL << 53U)) return nullptr;
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool small = *p == '-';
    if (small || *p == '+') ++p;
    start = p;
    int written = 0;
    while (is_digit(*p) && p - start < 4) written = 10 * written + (*p++ - '0');
    if (p == start || p - start == 4) return nullptr;
    exponent += small ? -written : written;
  }
  if (exponent < -kLargestExactPower || exponent > kLargestExactPower) return nullptr;
  auto x = static_cast<double>(digits);  // exact, so that the next line rounds once
  x = exponent < 0 ? x / kPowersOfTen[static_cast<std::size_t>(-exponent)]
                   : x * kPowersOfTen[static_cast<std::size_t>(exponent)];
  // 1e-22 is far above float's smallest normal number; 1e38 is below its largest.
  if (lies_between_floats(x) || x > 1e38) return nullptr;
  value = static_cast<float>(negative ? -x : x);
  return p;
}

ParsedFloat parse_float(std::string_view text) {
  std::string_view number = text;
  const bool negative = number.starts_with('-');
  if (negative || number.starts_with('+')) number.remove_prefix(1);
  // from_chars also takes a second sign, "inf" and "nan".
  if (number.empty() || !(is_digit(number[0]) || number[0] == '.')) {
    return {0, FloatFault::malformed};
  }
  float value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error == std::errc::invalid_argument || end != number.data() + number.size()) {
    return {0, FloatFault::malformed};
  }
  if (error == std::errc::result_out_of_range) {
    if (is_at_least_one(number)) return {0, FloatFault::too_large};
    value = 0;
  }
  if (!std::isfinite(value)) return {0, FloatFault::too_large};
  return {negative ? -value : value, FloatFault::none};
}

}  // namespace margrove::detail
