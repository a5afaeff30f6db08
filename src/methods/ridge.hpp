#pragma once
// Ridge regression whose strength is chosen by leave-one-out error.

#include <span>
#include <vector>

namespace margrove::detail {

/// min_{c, b} sum_i v_i (t_i - b - c.z_i)^2 + strength sum_j (c_j sd_j)^2, where v_i >= 0 is the
/// weight of row i and sd_j the standard deviation of column j. Strengths from 1e-6 to 10 times the
/// sum of the weights are tried.
struct RidgeFit {
  std::vector<double> coefficients;
  double intercept = 0;
  std::vector<double> left_out;  // one per row: its prediction by a fit without it
};

/// features: one row of `width` numbers per target. weights: empty: all 1. There must be a target
/// of weight > 0. O(rows width^2).
RidgeFit ridge_regression(std::span<const double> features, std::size_t width,
                          std::span<const double> targets, std::span<const double> weights = {});

}  // namespace margrove::detail
