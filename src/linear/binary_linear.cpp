#include "linear/binary_linear.hpp"

#include "base/simd.hpp"
#include "linear/binary_solvers.hpp"

namespace margrove {
namespace detail {

MARGROVE_MULTIVERSION
double dense_dot(const float* x, const double* v, std::size_t size) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t j = 0; j < size; ++j) sum += x[j] * v[j];
  return sum;
}

MARGROVE_MULTIVERSION
void dense_add_scaled(double a, const float* x, double* v, std::size_t size) {
#pragma omp simd
  for (std::size_t j = 0; j < size; ++j) v[j] += a * x[j];
}

MARGROVE_MULTIVERSION
void dense_add_scaled(double a, const float* x, float* v, std::size_t size) {
#pragma omp simd
  for (std::size_t j = 0; j < size; ++j) v[j] += static_cast<float>(a * x[j]);
}

}  // namespace detail

BinaryFit solve_binary(const BinaryProblem& problem, PointLossKind loss,
                       const BinaryOptions& options, BinaryState& state, RunControl& control) {
  return visit_point_loss(loss, [&]<class Loss>(Loss) {
    if constexpr (Loss::kSmooth) {
      return detail::solve_smooth<Loss>(problem, options, state, control);
    } else {
      return detail::solve_hinge(problem, options, state, control);
    }
  });
}

}  // namespace margrove
