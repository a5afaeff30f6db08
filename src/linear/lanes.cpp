#include "linear/lanes.hpp"

#include <bit>

#include "base/simd.hpp"

namespace margrove::detail {
namespace {

// Plain vectors of the compiler: one register with AVX-512, two with AVX2, four otherwise.
using Vec = float __attribute__((vector_size(64), may_alias));
using Wide = double __attribute__((vector_size(128), may_alias, aligned(64)));
static_assert(sizeof(Vec) == sizeof(Lanes) && sizeof(Wide) == sizeof(WideLanes));

MARGROVE_MULTIVERSION
void score_rows_kernel(const std::int64_t* pointers, std::size_t num_rows, const FeatureId* columns,
                       const float* values, const Lanes* W, const Lanes* start, Lanes* scores) {
  const Vec* w = reinterpret_cast<const Vec*>(W);
  for (std::size_t i = 0; i < num_rows; ++i) {
    Vec even = {};
    Vec odd = {};
    if (start != nullptr) even = reinterpret_cast<const Vec*>(start)[i];
    std::int64_t k = pointers[i];
    const std::int64_t end = pointers[i + 1];
    for (; k + 1 < end; k += 2) {
      even += values[k] * w[columns[k]];
      odd += values[k + 1] * w[columns[k + 1]];
    }
    if (k < end) even += values[k] * w[columns[k]];
    reinterpret_cast<Vec*>(scores)[i] = even + odd;
  }
}

MARGROVE_MULTIVERSION
std::size_t rows_above_kernel(const Lanes* scores, std::size_t num_rows, const float* thresholds,
                              std::uint32_t* rows) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < num_rows; ++i) {
    const float* f = scores[i].at;
    int above = 0;
#pragma omp simd reduction(+ : above)
    for (std::size_t l = 0; l < kLanes; ++l) above += f[l] > thresholds[l] ? 1 : 0;
    rows[found] = static_cast<std::uint32_t>(i);
    found += above > 0 ? 1 : 0;
  }
  return found;
}

// exp(x) for x <= 0, 1e-7 relative: x = n log 2 + r, |r| <= log 2 / 2.
inline float exp_of_negative(float x) {
  x = x < -87.0F ? -87.0F : x;
  const float shifted = x * 1.44269504F + 12582912.0F;  // rounds to an integer in the low bits
  const float n = shifted - 12582912.0F;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) +
                              (std::bit_cast<std::uint32_t>(shifted) << 23));
}

// log(1 + e) for 0 <= e <= 1 as 2 artanh(e / (2 + e)).
inline float log_of_one_plus(float e) {
  const float s = e / (2.0F + e);
  const float z = s * s;
  float p = 1.0F / 13;
  p = p * z + 1.0F / 11;
  p = p * z + 1.0F / 9;
  p = p * z + 1.0F / 7;
  p = p * z + 1.0F / 5;
  p = p * z + 1.0F / 3;
  return 2.0F * s * (p * z + 1.0F);
}

// Losses are summed in float32 over 64 rows, then in float64.
MARGROVE_MULTIVERSION
void linearise_logistic_kernel(const Lanes* scores, const float* costs, std::size_t num_rows,
                               Lanes* slopes, Lanes* curvatures, double* sums) {
  for (std::size_t begin = 0; begin < num_rows; begin += 64) {
    const std::size_t end = begin + 64 < num_rows ? begin + 64 : num_rows;
    float part[kLanes] = {};
    for (std::size_t i = begin; i < end; ++i) {
      const float cost = costs[i];
      const float* f = scores[i].at;
      float* slope = slopes[i].at;
      float* curvature = curvatures[i].at;
#pragma omp simd
      for (std::size_t l = 0; l < kLanes; ++l) {
        const float e = exp_of_negative(f[l] > 0 ? -f[l] : f[l]);
        const float inverse = 1.0F / (1.0F + e);
        part[l] += cost * ((f[l] > 0 ? f[l] : 0.0F) + log_of_one_plus(e));
        slope[l] = cost * (f[l] > 0 ? inverse : e * inverse);
        curvature[l] = cost * e * inverse * inverse;
      }
    }
    for (std::size_t l = 0; l < kLanes; ++l) sums[l] += part[l];
  }
}

MARGROVE_MULTIVERSION
void linearise_squared_hinge_kernel(const Lanes* scores, const float* costs, std::size_t num_rows,
                                    Lanes* slopes, Lanes* curvatures, double* sums) {
  for (std::size_t begin = 0; begin < num_rows; begin += 64) {
    const std::size_t end = begin + 64 < num_rows ? begin + 64 : num_rows;
    float part[kLanes] = {};
    for (std::size_t i = begin; i < end; ++i) {
      const float cost = costs[i];
      const float* f = scores[i].at;
      float* slope = slopes[i].at;
      float* curvature = curvatures[i].at;
#pragma omp simd
      for (std::size_t l = 0; l < kLanes; ++l) {
        const float violation = 1.0F + f[l] > 0.0F ? 1.0F + f[l] : 0.0F;
        part[l] += cost * violation * violation;
        slope[l] = 2.0F * cost * violation;
        curvature[l] = violation > 0.0F ? 2.0F * cost : 0.0F;
      }
    }
    for (std::size_t l = 0; l < kLanes; ++l) sums[l] += part[l];
  }
}

MARGROVE_MULTIVERSION
void add_gradient_kernel(const std::int64_t* pointers, std::size_t num_rows,
                         const FeatureId* columns, const float* values, const Lanes* slopes,
                         const Lanes* curvatures, WideLanes* gradient, Lanes* diagonal) {
  Wide* g = reinterpret_cast<Wide*>(gradient);
  Vec* d = reinterpret_cast<Vec*>(diagonal);
  for (std::size_t i = 0; i < num_rows; ++i) {
    const Vec slope = reinterpret_cast<const Vec*>(slopes)[i];
    const Vec curvature = reinterpret_cast<const Vec*>(curvatures)[i];
    for (std::int64_t k = pointers[i]; k < pointers[i + 1]; ++k) {
      const FeatureId j = columns[k];
      const float x = values[k];
      g[j] += __builtin_convertvector(x * slope, Wide);
      d[j] += x * x * curvature;
    }
  }
}

MARGROVE_MULTIVERSION
void multiply_kernel(const std::int64_t* pointers, std::size_t num_rows, const FeatureId* columns,
                     const float* values, const Lanes* curvatures, const Lanes* direction,
                     Lanes* product, double* sums) {
  const Vec* p = reinterpret_cast<const Vec*>(direction);
  Vec* q = reinterpret_cast<Vec*>(product);
  const Vec* D = reinterpret_cast<const Vec*>(curvatures);
  for (std::size_t begin = 0; begin < num_rows; begin += 64) {
    const std::size_t end = begin + 64 < num_rows ? begin + 64 : num_rows;
    Vec part = {};
    for (std::size_t i = begin; i < end; ++i) {
      Vec even = {};
      Vec odd = {};
      const std::int64_t last = pointers[i + 1];
      std::int64_t k = pointers[i];
      for (; k + 1 < last; k += 2) {
        even += values[k] * p[columns[k]];
        odd += values[k + 1] * p[columns[k + 1]];
      }
      if (k < last) even += values[k] * p[columns[k]];
      const Vec t = even + odd;
      const Vec u = D[i] * t;
      part += u * t;
      for (k = pointers[i]; k < last; ++k) q[columns[k]] += values[k] * u;
    }
    for (std::size_t l = 0; l < kLanes; ++l) sums[l] += part[l];
  }
}

MARGROVE_MULTIVERSION
void step_kernel(std::size_t num_columns, const Lanes* lengths, const Lanes* direction,
                 Lanes* product, Lanes* residual, Lanes* solution, const Lanes* diagonal,
                 double* sums) {
  const Vec length = *reinterpret_cast<const Vec*>(lengths);
  const Vec* p = reinterpret_cast<const Vec*>(direction);
  const Vec* m = reinterpret_cast<const Vec*>(diagonal);
  Vec* q = reinterpret_cast<Vec*>(product);
  Vec* r = reinterpret_cast<Vec*>(residual);
  Vec* s = reinterpret_cast<Vec*>(solution);
  for (std::size_t begin = 0; begin < num_columns; begin += 64) {
    const std::size_t end = begin + 64 < num_columns ? begin + 64 : num_columns;
    Vec part = {};
    for (std::size_t j = begin; j < end; ++j) {
      s[j] += length * p[j];
      const Vec rest = r[j] - length * (p[j] + q[j]);
      r[j] = rest;
      q[j] = Vec{};
      part += rest * rest / m[j];
    }
    for (std::size_t l = 0; l < kLanes; ++l) sums[l] += part[l];
  }
}

MARGROVE_MULTIVERSION
void turn_kernel(std::size_t num_columns, const Lanes* factors, Lanes* direction,
                 const Lanes* residual, const Lanes* diagonal, double* sums) {
  const Vec factor = *reinterpret_cast<const Vec*>(factors);
  Vec* p = reinterpret_cast<Vec*>(direction);
  const Vec* r = reinterpret_cast<const Vec*>(residual);
  const Vec* m = reinterpret_cast<const Vec*>(diagonal);
  for (std::size_t begin = 0; begin < num_columns; begin += 64) {
    const std::size_t end = begin + 64 < num_columns ? begin + 64 : num_columns;
    Vec part = {};
    for (std::size_t j = begin; j < end; ++j) {
      const Vec turned = r[j] / m[j] + factor * p[j];
      p[j] = turned;
      part += turned * turned;
    }
    for (std::size_t l = 0; l < kLanes; ++l) sums[l] += part[l];
  }
}

MARGROVE_MULTIVERSION
void reset_kernel(std::size_t num_columns, const WideLanes* gradient, const Lanes* mask,
                  Lanes* direction, Lanes* residual, Lanes* solution) {
  for (std::size_t j = 0; j < num_columns; ++j) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) {
      residual[j].at[l] = -mask->at[l] * static_cast<float>(gradient[j].at[l]);
      solution[j].at[l] = 0.0F;
      direction[j].at[l] = 0.0F;
    }
  }
}

MARGROVE_MULTIVERSION
void add_weights_kernel(std::size_t num_columns, const Lanes* W, WideLanes* gradient,
                        double* sums) {
  double part[kLanes] = {};
  for (std::size_t j = 0; j < num_columns; ++j) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double g = gradient[j].at[l] + W[j].at[l];
      gradient[j].at[l] = g;
      part[l] += g * g;
    }
  }
  for (std::size_t l = 0; l < kLanes; ++l) sums[l] = part[l];
}

MARGROVE_MULTIVERSION
void move_kernel(std::size_t num_columns, const Lanes* W, const Lanes* lengths,
                 const Lanes* solution, Lanes* result, double* sums) {
  double part[kLanes] = {};
  for (std::size_t j = 0; j < num_columns; ++j) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) {
      const float w = W[j].at[l] + lengths->at[l] * solution[j].at[l];
      result[j].at[l] = w;
      part[l] += static_cast<double>(w) * w;
    }
  }
  for (std::size_t l = 0; l < kLanes; ++l) sums[l] = part[l];
}

MARGROVE_MULTIVERSION
void squared_norms_kernel(std::size_t num_columns, const Lanes* W, double* sums) {
  double part[kLanes] = {};
  for (std::size_t j = 0; j < num_columns; ++j) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) {
      part[l] += static_cast<double>(W[j].at[l]) * W[j].at[l];
    }
  }
  for (std::size_t l = 0; l < kLanes; ++l) sums[l] = part[l];
}

MARGROVE_MULTIVERSION
void slope_kernel(std::size_t num_columns, const WideLanes* gradient, const Lanes* solution,
                  double* sums) {
  double part[kLanes] = {};
  for (std::size_t j = 0; j < num_columns; ++j) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) part[l] += gradient[j].at[l] * solution[j].at[l];
  }
  for (std::size_t l = 0; l < kLanes; ++l) sums[l] = part[l];
}

// Four rows at a time: H is read and written once for all of them.
MARGROVE_MULTIVERSION
void outer_kernel(const float* X, std::size_t d, const std::uint32_t* rows, const float* weights,
                  std::size_t count, float* H) {
  for (std::size_t k = 0; k < count; k += 4) {
    const float* x[4];
    float weight[4];
    for (std::size_t m = 0; m < 4; ++m) {
      const bool there = k + m < count;
      x[m] = X + rows[there ? k + m : k] * d;
      weight[m] = there ? weights[k + m] : 0.0F;
    }
    for (std::size_t i = 0; i < d; ++i) {
      const float a = weight[0] * x[0][i];
      const float b = weight[1] * x[1][i];
      const float c = weight[2] * x[2][i];
      const float e = weight[3] * x[3][i];
      float* h = H + i * d;
#pragma omp simd
      for (std::size_t j = 0; j <= i; ++j) {
        h[j] += (a * x[0][j] + b * x[1][j]) + (c * x[2][j] + e * x[3][j]);
      }
    }
  }
}

}  // namespace

void score_rows(const CsrView& X, std::span<const Lanes> W, std::span<const Lanes> start,
                std::span<Lanes> scores) {
  score_rows_kernel(X.row_pointers().data(), X.num_rows(), X.columns().data(), X.values().data(),
                    W.data(), start.empty() ? nullptr : start.data(), scores.data());
}

LaneSums linearise_squared_hinge(std::span<const Lanes> scores, std::span<const float> costs,
                                 std::span<Lanes> slopes, std::span<Lanes> curvatures) {
  LaneSums losses;
  linearise_squared_hinge_kernel(scores.data(), costs.data(), scores.size(), slopes.data(),
                                 curvatures.data(), losses.at);
  return losses;
}

LaneSums linearise_logistic(std::span<const Lanes> scores, std::span<const float> costs,
                            std::span<Lanes> slopes, std::span<Lanes> curvatures) {
  LaneSums losses;
  linearise_logistic_kernel(scores.data(), costs.data(), scores.size(), slopes.data(),
                            curvatures.data(), losses.at);
  return losses;
}

void add_gradient(const CsrView& X, std::span<const Lanes> slopes,
                  std::span<const Lanes> curvatures, std::span<WideLanes> gradient,
                  std::span<Lanes> diagonal) {
  add_gradient_kernel(X.row_pointers().data(), X.num_rows(), X.columns().data(), X.values().data(),
                      slopes.data(), curvatures.data(), gradient.data(), diagonal.data());
}

LaneSums multiply_curvature(const CsrView& X, std::span<const Lanes> curvatures,
                            BatchedNewtonSystem& system) {
  LaneSums sums;
  multiply_kernel(X.row_pointers().data(), X.num_rows(), X.columns().data(), X.values().data(),
                  curvatures.data(), system.direction.data(), system.product.data(), sums.at);
  return sums;
}

LaneSums step_along(const Lanes& lengths, BatchedNewtonSystem& system) {
  LaneSums sums;
  step_kernel(system.direction.size(), &lengths, system.direction.data(), system.product.data(),
              system.residual.data(), system.solution.data(), system.diagonal.data(), sums.at);
  return sums;
}

LaneSums turn_direction(const Lanes& factors, BatchedNewtonSystem& system) {
  LaneSums sums;
  turn_kernel(system.direction.size(), &factors, system.direction.data(), system.residual.data(),
              system.diagonal.data(), sums.at);
  return sums;
}

void reset_system(std::span<const WideLanes> gradient, const Lanes& mask,
                  BatchedNewtonSystem& system) {
  reset_kernel(gradient.size(), gradient.data(), &mask, system.direction.data(),
               system.residual.data(), system.solution.data());
}

LaneSums add_weights(std::span<const Lanes> W, std::span<WideLanes> gradient) {
  LaneSums sums;
  add_weights_kernel(gradient.size(), W.data(), gradient.data(), sums.at);
  return sums;
}

LaneSums move_along(std::span<const Lanes> W, const Lanes& lengths,
                    const BatchedNewtonSystem& system, std::span<Lanes> result) {
  LaneSums sums;
  move_kernel(W.size(), W.data(), &lengths, system.solution.data(), result.data(), sums.at);
  return sums;
}

LaneSums squared_norms(std::span<const Lanes> W) {
  LaneSums sums;
  squared_norms_kernel(W.size(), W.data(), sums.at);
  return sums;
}

LaneSums slope_along(std::span<const WideLanes> gradient, const BatchedNewtonSystem& system) {
  LaneSums sums;
  slope_kernel(gradient.size(), gradient.data(), system.solution.data(), sums.at);
  return sums;
}

void add_outer_products(std::span<const float> X, std::size_t num_columns,
                        std::span<const std::uint32_t> rows, std::span<const float> weights,
                        std::span<float> H) {
  outer_kernel(X.data(), num_columns, rows.data(), weights.data(), rows.size(), H.data());
}

void rows_above(std::span<const Lanes> scores, const Lanes& thresholds,
                std::vector<std::uint32_t>& rows) {
  rows.resize(scores.size() + 1);
  rows.resize(rows_above_kernel(scores.data(), scores.size(), thresholds.at, rows.data()));
}

}  // namespace margrove::detail
