#include "base/alias_table.hpp"

#include <cmath>
#include <numeric>

namespace margrove {

AliasTable::AliasTable(std::span<const double> weights) : places_(weights.size()) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::uint32_t> poor, rich;  // with less than the mean weight left, or more
  for (std::uint32_t k = 0; k < weights.size(); ++k) {
    const double share = weights[k] / sum * static_cast<double>(weights.size());
    places_[k] = {share, k};
    (share < 1 ? poor : rich).push_back(k);
  }
  while (!poor.empty() && !rich.empty()) {
    const std::uint32_t taker = poor.back(), giver = rich.back();
    poor.pop_back();
    places_[taker].other = giver;
    double& left = places_[giver].own_share;
    left -= 1 - places_[taker].own_share;
    if (left < 1) {
      rich.pop_back();
      poor.push_back(giver);
    }
  }
  // What is left of either kind differs from 1 by rounding only, and is its own `other`.
}

AliasTable zipf_table(std::uint32_t count, double exponent) {
  std::vector<double> weights(count);
  for (std::uint32_t r = 0; r < count; ++r) weights[r] = std::pow(r + 1.0, -exponent);
  return AliasTable(weights);
}

}  // namespace margrove
