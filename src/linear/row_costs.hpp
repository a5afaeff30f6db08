#pragma once
// C_i = C * row_weights[i], or C if there are no row weights.

#include <cstddef>
#include <span>
#include <vector>

namespace margrove::detail {

inline double row_cost(double C, std::span<const double> row_weights, std::size_t i) {
  return row_weights.empty() ? C : C * row_weights[i];
}

/// Of all rows, in float32.
inline std::vector<float> row_costs(double C, std::span<const double> row_weights,
                                    std::size_t num_rows) {
  std::vector<float> costs(num_rows);
  for (std::size_t i = 0; i < num_rows; ++i) {
    costs[i] = static_cast<float>(row_cost(C, row_weights, i));
  }
  return costs;
}

}  // namespace margrove::detail
