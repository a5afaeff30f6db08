#pragma once
// Ridge regression whose strength is chosen by leave-one-out error.

#include <span>
#include <vector>

namespace margrove::detail {

/// min_{c, b} sum_i (t_i - b - c.z_i)^2 + strength sum_j (c_j sd_j)^2, where sd_j is the standard
/// deviation of column j. Strengths from 1e-6 to 10 times the number of rows are tried.
struct RidgeFit {
  std::vector<double> coefficients;
  double intercept = 0;
  std::vector<double> left_out;  // one per row: its prediction by a fit without it
};

/// features: one row of `width` numbers per target. There must be a target. O(rows width^2).
RidgeFit ridge_regression(std::span<const double> features, std::size_t width,
                          std::span<const double> targets);

}  // namespace margrove::detail
