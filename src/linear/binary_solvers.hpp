#pragma once
// What the solvers of one label share.

#include <cstdint>
#include <span>
#include <vector>

#include "linear/binary_linear.hpp"
#include "linear/row_costs.hpp"
#include "numerics/conjugate_gradients.hpp"

namespace margrove::detail {

// For rows with an entry in every column.
double dense_dot(const float* x, const double* v, std::size_t size);
void dense_add_scaled(double a, const float* x, double* v, std::size_t size);
void dense_add_scaled(double a, const float* x, float* v, std::size_t size);

/// x.v. Rows that have the last `tail` columns need no column numbers there.
inline double dot(const SparseRow& x, std::span<const double> v, std::size_t tail = 0) {
  if (x.size() == v.size()) return dense_dot(x.values.data(), v.data(), v.size());
  // There are four sums, as a single one would wait for each addition.
  double sums[4] = {};
  const std::size_t size = x.size() - tail;
  std::size_t k = 0;
  for (; k + 4 <= size; k += 4) {
    for (std::size_t m = 0; m < 4; ++m) sums[m] += x.values[k + m] * v[x.columns[k + m]];
  }
  for (; k < size; ++k) sums[0] += x.values[k] * v[x.columns[k]];
  const double sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  if (tail == 0) return sum;
  return sum + dense_dot(x.values.data() + size, v.data() + (v.size() - tail), tail);
}

// v += a x
inline void add_scaled(double a, const SparseRow& x, std::span<double> v, std::size_t tail = 0) {
  if (x.size() == v.size()) return dense_add_scaled(a, x.values.data(), v.data(), v.size());
  const std::size_t size = x.size() - tail;
  for (std::size_t k = 0; k < size; ++k) v[x.columns[k]] += a * x.values[k];
  if (tail == 0) return;
  dense_add_scaled(a, x.values.data() + size, v.data() + (v.size() - tail), tail);
}

/// y_i, C_i and p.x_i of a problem.
class SignedRows {
 public:
  explicit SignedRows(const BinaryProblem& problem)
      : problem_(problem), signs_(problem.X.num_rows(), -1) {
    for (const std::uint32_t i : problem.positives) signs_[i] = 1;
  }
  double sign(std::uint32_t i) const { return signs_[i]; }
  double cost(std::uint32_t i) const { return row_cost(problem_.C, problem_.row_weights, i); }
  double prior_score(std::uint32_t i) const {
    return problem_.prior_scores.empty() ? 0.0 : problem_.prior_scores[i];
  }

 private:
  const BinaryProblem& problem_;
  std::vector<std::int8_t> signs_;
};

BinaryFit solve_hinge(const BinaryProblem& problem, const BinaryOptions& options,
                      BinaryState& state, RunControl& control);
template <PointLoss Loss>
BinaryFit solve_smooth(const BinaryProblem& problem, const BinaryOptions& options,
                       BinaryState& state, RunControl& control);

}  // namespace margrove::detail
