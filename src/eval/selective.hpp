#pragma once
// Risk-coverage curves: how well confidence separates right predictions from wrong ones.

#include <span>
#include <vector>

namespace margrove {

/// The share of errors among the k most confident rows, for k = 1, ..., n: the risk at coverage
/// k / n. Within a group of equal confidences errors are distributed evenly. Throws InvalidInput
/// when sizes differ or a confidence is NaN. O(n log n).
std::vector<double> risk_coverage(std::span<const double> confidences,
                                  const std::vector<bool>& right);
/// The mean of the risks, 0 if there are none: the area under the curve (Geifman and El-Yaniv
/// 2017).
double area_under(std::span<const double> risks);
/// n times the derivative of that area with respect to the weight of each row of n, for the rows of
/// risk_coverage(); of rows that tie, the mean over their places. O(n log n).
std::vector<double> influence_on_area(std::span<const double> confidences,
                                      const std::vector<bool>& right);

}  // namespace margrove
