#pragma once
// Conjugate gradients for one system of float64 vectors. row_kernels.hpp solves sixteen systems at
// once, and recursive/label_kernel.hpp those of all labels of a hierarchy.

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace margrove::detail {

inline double inner_product(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}
inline double squared_norm(std::span<const double> v) { return inner_product(v, v); }

/// Solves A x = b for a symmetric, positive semidefinite A, from x = 0, preconditioned by
/// `diagonal` > 0. multiply(p, product) writes A p. `residual` is b at first and b - A x in the
/// end. Ends when its norm is at most `target`, or after `most_products` products, whose number it
/// returns. Nocedal and Wright (2006), algorithm 5.3.
template <class Multiply>
int conjugate_gradients(const Multiply& multiply, std::span<const double> diagonal, double target,
                        int most_products, std::vector<double>& residual, std::vector<double>& x) {
  const std::size_t size = residual.size();
  std::vector<double> z(size), direction(size), product(size);
  x.assign(size, 0.0);
  for (std::size_t j = 0; j < size; ++j) direction[j] = z[j] = residual[j] / diagonal[j];
  double rz = inner_product(residual, z);
  int products = 0;
  while (products < most_products && rz > 0 && std::sqrt(squared_norm(residual)) > target) {
    multiply(direction, product);
    ++products;
    const double length = rz / inner_product(direction, product);
    for (std::size_t j = 0; j < size; ++j) {
      x[j] += length * direction[j];
      residual[j] -= length * product[j];
      z[j] = residual[j] / diagonal[j];
    }
    const double rz_before = rz;
    rz = inner_product(residual, z);
    for (std::size_t j = 0; j < size; ++j) direction[j] = z[j] + rz / rz_before * direction[j];
  }
  return products;
}

}  // namespace margrove::detail
