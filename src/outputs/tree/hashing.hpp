#pragma once
// Hashes of words and of pairs of words, from which the features of arcs are made.

#include <cstddef>
#include <cstdint>

namespace margrove::hashing {

/// The values of a feature at the root and beyond the ends of a sentence.
inline constexpr std::uint64_t kRoot = 1, kEdge = 2;

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x =
      (a ^ (b + 0x9E3779B97F4A7C15ULL + (a << 6U) + (a >> 2U))) * 0xFF51AFD7ED558CCDULL;
  return x ^ (x >> 32U);
}

/// The class of the distance (1, 2, 3, 4, 5-9, 10 and more) together with the direction.
constexpr std::uint64_t distance_class(std::size_t head, std::size_t word) {
  const std::size_t d = head < word ? word - head : head - word;
  const std::uint64_t size = d < 5 ? d : d < 10 ? 5 : 6;
  return 2 * size + (head < word ? 1 : 0);
}

}  // namespace margrove::hashing
