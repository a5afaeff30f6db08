#pragma once
// Coefficients that a solver of linear programmes takes.

#include <algorithm>
#include <cmath>
#include <span>

namespace margrove {

/// What to divide the objective of a linear programme by: CLP and CBC end the program by an
/// assertion where a coefficient reaches 1e25. 1 where all are below 1e20, otherwise the largest
/// absolute value.
inline double coefficient_scale(std::span<const double> coefficients) {
  constexpr double kLargest = 1e20;
  double largest = 0;
  for (const double value : coefficients) largest = std::max(largest, std::fabs(value));
  return largest < kLargest ? 1.0 : largest;
}

}  // namespace margrove
