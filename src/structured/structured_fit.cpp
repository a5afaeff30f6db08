#include "structured/structured_fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/out_of_time.hpp"
#include "base/simd.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
MARGROVE_MULTIVERSION
double sum_of_squares(const float* v, std::size_t n) {
  double sum = 0.0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t k = 0; k < n; ++k) sum += static_cast<double>(v[k]) * static_cast<double>(v[k]);
  return sum;
}
}  // namespace

Stop stop_of(const StructuredFit& fit, double tolerance, Stop limit) {
  const bool is_within = fit.relative_gap <= tolerance;
  if (is_within && fit.certified) return Stop::converged;
  if (is_cut_short(limit)) return limit;
  if (!std::isfinite(fit.primal)) return Stop::diverged;
  return is_within ? Stop::stalled : limit;
}

void check_example_weights(std::span<const double> weights, std::size_t num_examples,
                           std::string_view solver) {
  require(weights.empty() || weights.size() == num_examples, solver, ": ", weights.size(),
          " example weights, but must be one per example, ", num_examples);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    require(weights[i] >= 0 && std::isfinite(weights[i]), solver, ": weight of example ", i, " is ",
            weights[i], ", but must be finite and >= 0");
  }
}

void sort_indices(SparseVector& vector) {
  std::vector<std::size_t> order(vector.indices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return vector.indices[a] < vector.indices[b]; });
  SparseVector sorted;
  sorted.indices.reserve(order.size());
  sorted.values.reserve(order.size());
  for (const std::size_t k : order) sorted.add(vector.indices[k], vector.values[k]);
  vector = std::move(sorted);
}

double dot(ScaledWeights w, const SparseVector& v) {
  double sum = 0.0;
  for (std::size_t k = 0; k < v.indices.size(); ++k) {
    sum += static_cast<double>(w.values[v.indices[k]]) * static_cast<double>(v.values[k]);
  }
  return w.scale * sum;
}

double dot(const SparseVector& a, const SparseVector& b) {
  double sum = 0.0;
  std::size_t j = 0, k = 0;
  while (j < a.indices.size() && k < b.indices.size()) {
    if (a.indices[j] < b.indices[k]) {
      ++j;
    } else if (b.indices[k] < a.indices[j]) {
      ++k;
    } else {
      sum += static_cast<double>(a.values[j++]) * static_cast<double>(b.values[k++]);
    }
  }
  return sum;
}

void add_scaled(double a, const SparseVector& v, std::span<float> w) {
  for (std::size_t k = 0; k < v.indices.size(); ++k) {
    w[v.indices[k]] += static_cast<float>(a * static_cast<double>(v.values[k]));
  }
}

double squared_norm(ScaledWeights w) {
  return w.scale * w.scale * sum_of_squares(w.values.data(), w.values.size());
}

}  // namespace margrove
