#pragma once
// Ridge regression whose strength is chosen by leave-one-out error. Private to model/.

#include <span>
#include <vector>

namespace margrove::detail {

/// min_{c, b} sum_i (t_i - b - c.z_i)^2 + strength sum_j (c_j sd_j)^2, sd_j the standard deviation
/// of column j; strengths from 1e-6 to 10 times the number of rows are tried.
struct RidgeFit {
  std::vector<double> coefficients;
  double intercept = 0;
  std::vector<double> left_out;  // of each row: its prediction without it
};

/// `features` has a row of `width` numbers for each target, of which there is at least one.
/// O(rows width^2).
RidgeFit ridge_regression(std::span<const double> features, std::size_t width,
                          std::span<const double> targets);

}  // namespace margrove::detail
