#pragma once
// Draws from a distribution over 0, 1, ..., n - 1 in constant time.

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"

namespace margrove {

/// Walker's alias method: each number has a share of its own place and gives the rest of it to one
/// other number. 16 bytes a number.
class AliasTable {
 public:
  /// Weights are >= 0 and finite, with a positive sum; there are fewer than 2^32. O(n).
  explicit AliasTable(std::span<const double> weights);

  /// k with probability weights[k] / sum of the weights. O(1).
  std::uint32_t draw(Random& random) const {
    const auto place = static_cast<std::uint32_t>(random.below(places_.size()));
    const Place& drawn = places_[place];
    return random.uniform() < drawn.own_share ? place : drawn.other;
  }

 private:
  struct Place {
    double own_share = 1;
    std::uint32_t other = 0;
  };
  std::vector<Place> places_;
};

/// Zipf's law for `count` ranks: weight (r + 1)^-exponent of rank r = 0, 1, .... Exponent 0: all
/// the same.
AliasTable zipf_table(std::uint32_t count, double exponent);

}  // namespace margrove
