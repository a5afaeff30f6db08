#pragma once
// Sums over exponentially many labellings: arithmetic on numbers >= 0 that double precision may not
// hold, and the same operations on double, so that one algorithm is compiled for both.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>

namespace margrove {

/// A number >= 0, stored as its logarithm. It neither overflows nor underflows.
struct LogNumber {
  double log = -std::numeric_limits<double>::infinity();

  friend LogNumber operator*(LogNumber a, LogNumber b) { return {a.log + b.log}; }
  friend LogNumber operator/(LogNumber a, LogNumber b) { return {a.log - b.log}; }
  friend LogNumber operator+(LogNumber a, LogNumber b) {
    const double high = std::max(a.log, b.log), low = std::min(a.log, b.log);
    if (low == -std::numeric_limits<double>::infinity()) return {high};
    return {high + std::log1p(std::exp(low - high))};
  }
  LogNumber& operator+=(LogNumber other) { return *this = *this + other; }
};

inline double log_of(double x) { return std::log(x); }
inline double log_of(LogNumber x) { return x.log; }
inline double to_double(double x) { return x; }
inline double to_double(LogNumber x) { return std::exp(x.log); }
/// exp(log) as a double or as a LogNumber.
template <class Number>
Number exp_as(double log) {
  if constexpr (requires(Number x) { x.log; }) {
    return {log};
  } else {
    return std::exp(log);
  }
}

/// log sum_k exp(x[k]); -infinity without summands.
inline double log_sum_exp(std::span<const double> x) {
  double high = -std::numeric_limits<double>::infinity();
  for (const double each : x) high = std::max(high, each);
  if (high == -std::numeric_limits<double>::infinity()) return high;
  double sum = 0.0;
  for (const double each : x) sum += std::exp(each - high);
  return high + std::log(sum);
}
/// log(1 + exp(x)).
inline double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

/// Its derivative, 1 / (1 + exp(-x)).
inline double sigmoid(double x) {
  const double e = std::exp(-std::abs(x));
  return (x >= 0 ? 1.0 : e) / (1.0 + e);
}

/// sum_k a[k] b[k]
inline double dot(const double* a, const double* b, std::size_t size) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t k = 0; k < size; ++k) sum += a[k] * b[k];
  return sum;
}
inline LogNumber dot(const LogNumber* a, const LogNumber* b, std::size_t size) {
  double high = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < size; ++k) high = std::max(high, a[k].log + b[k].log);
  if (high == -std::numeric_limits<double>::infinity()) return {};
  double sum = 0.0;
  for (std::size_t k = 0; k < size; ++k) sum += std::exp(a[k].log + b[k].log - high);
  return {high + std::log(sum)};
}
/// y[k] += factor x[k]
template <class Number>
void add_multiple(Number* y, Number factor, const Number* x, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) y[k] += factor * x[k];
}

}  // namespace margrove
