#include "numerics/row_kernels.hpp"

#include <algorithm>
#include <bit>

#include "base/simd.hpp"

namespace margrove::detail {
namespace {

// Plain vectors of the compiler: one register with AVX-512, two with AVX2, four otherwise.
using Vec = float __attribute__((vector_size(64), may_alias));
using Wide = double __attribute__((vector_size(128), may_alias, aligned(64)));
static_assert(sizeof(Vec) == sizeof(Lanes) && sizeof(Wide) == sizeof(WideLanes));

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

// Sums go in turn to two vectors, as a single one would wait for each addition.
struct RowSums {
  Vec even = {};
  Vec odd = {};
};

__attribute__((always_inline)) inline void add_entries(const FeatureId* columns,
                                                       const float* values, std::int64_t size,
                                                       const Vec* w, RowSums& sums) {
  std::int64_t k = 0;
  for (; k + 1 < size; k += 2) {
    sums.even += values[k] * w[columns[k]];
    sums.odd += values[k + 1] * w[columns[k + 1]];
  }
  if (k == size) return;
  sums.even += values[k] * w[columns[k]];
  std::swap(sums.even, sums.odd);  // so that the next entry goes to the other one
}

/// Rows whose last `tail` entries are those of the last columns, which are read without numbers.
struct TailedRows {
  TailedRows(const CsrView& X, std::uint32_t tail_of_X)
      : pointers(X.row_pointers().data()),
        columns(X.columns().data()),
        values(X.values().data()),
        tail(tail_of_X),
        first(X.num_columns() - tail_of_X) {}
  std::int64_t end(std::size_t i) const { return pointers[i + 1] - tail; }  // where the tail begins

  const std::int64_t* pointers;
  const FeatureId* columns;
  const float* values;
  std::uint32_t tail;
  std::size_t first;  // column of the tail
};

// Rows with a tail are visited by fours, for which each column of the tail is read once. Sums have
// the same bits as those of one row after the other.
constexpr std::size_t kTogether = 4;

// scores[m] = x.w for `kRows` rows
template <std::size_t kRows, class Row>
__attribute__((always_inline)) inline void score_together(const TailedRows& X, const Row* rows,
                                                          const Vec* w, Vec* scores) {
  RowSums sums[kRows];
  const float* x[kRows];
  for (std::size_t m = 0; m < kRows; ++m) {
    const std::int64_t begin = X.pointers[rows[m]];
    const std::int64_t end = X.end(rows[m]);
    x[m] = X.values + end;
    add_entries(X.columns + begin, X.values + begin, end - begin, w, sums[m]);
  }
  const Vec* const w_tail = w + X.first;
  std::uint32_t j = 0;
  for (; j + 1 < X.tail; j += 2) {
    for (std::size_t m = 0; m < kRows; ++m) {
      sums[m].even += x[m][j] * w_tail[j];
      sums[m].odd += x[m][j + 1] * w_tail[j + 1];
    }
  }
  for (std::size_t m = 0; m < kRows; ++m) {
    if (j < X.tail) sums[m].even += x[m][j] * w_tail[j];
    scores[m] = sums[m].even + sums[m].odd;
  }
}

// The same for rows i, i + 1, ...
template <std::size_t kRows>
__attribute__((always_inline)) inline void score_next(const TailedRows& X, std::size_t i,
                                                      const Vec* w, Vec* scores) {
  std::size_t rows[kRows];
  for (std::size_t m = 0; m < kRows; ++m) rows[m] = i + m;
  score_together<kRows>(X, rows, w, scores);
}

// sums += x u of rows i, i + 1, ...
template <std::size_t kRows>
__attribute__((always_inline)) inline void add_next(const TailedRows& X, std::size_t i,
                                                    const Vec* u, Vec* sums) {
  const float* x[kRows];
  for (std::size_t m = 0; m < kRows; ++m) {
    const std::int64_t end = X.end(i + m);
    x[m] = X.values + end;
    for (std::int64_t k = X.pointers[i + m]; k < end; ++k) sums[X.columns[k]] += X.values[k] * u[m];
  }
  Vec* const of_tail = sums + X.first;
  for (std::uint32_t j = 0; j < X.tail; ++j) {
    Vec sum = of_tail[j];
    for (std::size_t m = 0; m < kRows; ++m) sum += x[m][j] * u[m];
    of_tail[j] = sum;
  }
}

// gradient += x slope, diagonal += x^2 curvature
__attribute__((always_inline)) inline void add_derivatives(float x, const Vec& slope,
                                                           const Vec& curvature, Wide& gradient,
                                                           Vec& diagonal) {
  gradient += __builtin_convertvector(x * slope, Wide);
  diagonal += x * x * curvature;
}

// The same for rows i, i + 1, ...
template <std::size_t kRows>
__attribute__((always_inline)) inline void add_derivatives_next(const TailedRows& X, std::size_t i,
                                                                const Vec* slopes,
                                                                const Vec* curvatures,
                                                                Wide* gradient, Vec* diagonal) {
  const float* x[kRows];
  Vec slope[kRows], curvature[kRows];
  for (std::size_t m = 0; m < kRows; ++m) {
    const std::int64_t end = X.end(i + m);
    x[m] = X.values + end;
    slope[m] = slopes[i + m];
    curvature[m] = curvatures[i + m];
    for (std::int64_t k = X.pointers[i + m]; k < end; ++k) {
      const FeatureId j = X.columns[k];
      add_derivatives(X.values[k], slope[m], curvature[m], gradient[j], diagonal[j]);
    }
  }
  for (std::uint32_t j = 0; j < X.tail; ++j) {
    Wide g = gradient[X.first + j];
    Vec d = diagonal[X.first + j];
    for (std::size_t m = 0; m < kRows; ++m) add_derivatives(x[m][j], slope[m], curvature[m], g, d);
    gradient[X.first + j] = g;
    diagonal[X.first + j] = d;
  }
}

}  // namespace

std::uint32_t dense_tail(const CsrView& X) {
  constexpr std::uint32_t kFewest = 16;
  std::uint32_t tail = X.num_rows() > 0 ? X.num_columns() : 0;
  for (std::size_t i = 0; i < X.num_rows() && tail >= kFewest; ++i) {
    const auto columns = X.row(i).columns;
    // Columns ascend, so that the last n are those of the matrix if the first of them is.
    const auto has_last = [&](std::uint32_t n) {
      return columns[columns.size() - n] == X.num_columns() - n;
    };
    std::uint32_t least = 0;
    std::uint32_t most = std::min(tail, static_cast<std::uint32_t>(columns.size()));
    if (most > 0 && has_last(most)) least = most;
    while (least < most) {
      const std::uint32_t middle = least + (most - least + 1) / 2;
      (has_last(middle) ? least : most) = has_last(middle) ? middle : middle - 1;
    }
    tail = least;
  }
  return tail >= kFewest ? tail : 0;
}

MARGROVE_MULTIVERSION
void score_rows(const CsrView& X, std::uint32_t tail, std::span<const Lanes> W,
                std::span<Lanes> scores) {
  const TailedRows rows(X, tail);
  const std::size_t num_rows = X.num_rows();
  const Vec* const w = reinterpret_cast<const Vec*>(W.data());
  Vec* const result = reinterpret_cast<Vec*>(scores.data());
  std::size_t i = 0;
  for (; tail > 0 && i + kTogether <= num_rows; i += kTogether) {
    score_next<kTogether>(rows, i, w, result + i);
  }
  for (; i < num_rows; ++i) score_next<1>(rows, i, w, result + i);
}

namespace {

/// Whether a lane is above its threshold.
__attribute__((always_inline)) inline bool any_above(const Vec& sum, const Vec& threshold) {
  const auto is_above = sum > threshold;  // -1 per lane that is above
  int any = 0;
  for (std::size_t l = 0; l < kLanes; ++l) any |= is_above[l];
  return any != 0;
}

// Writes the rows that are kept and their scores; returns their number.
MARGROVE_MULTIVERSION
std::size_t score_chunk_above(const CsrView& X, std::span<const Lanes> W,
                              std::span<const std::uint32_t> rows, const Lanes& thresholds,
                              std::uint32_t* kept, Lanes* scores) {
  const std::int64_t* const pointers = X.row_pointers().data();
  const FeatureId* const columns = X.columns().data();
  const float* const values = X.values().data();
  const Vec* const w = reinterpret_cast<const Vec*>(W.data());
  const Vec threshold = *reinterpret_cast<const Vec*>(&thresholds);
  Vec* const result = reinterpret_cast<Vec*>(scores);
  std::size_t found = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    // Prefetches rows, which do not lie next to each other.
    constexpr std::size_t kAhead = 12;
    const std::int64_t ahead = pointers[rows[r + kAhead < rows.size() ? r + kAhead : r]];
    __builtin_prefetch(columns + ahead);
    __builtin_prefetch(values + ahead);
    const std::uint32_t i = rows[r];
    RowSums sums;
    add_entries(columns + pointers[i], values + pointers[i], pointers[i + 1] - pointers[i], w,
                sums);
    const Vec sum = sums.even + sums.odd;
    kept[found] = i;
    result[found] = sum;
    found += any_above(sum, threshold) ? 1 : 0;
  }
  return found;
}

// The same for rows with a tail, for which each weight is read once for several rows.
MARGROVE_MULTIVERSION
std::size_t score_tails_above(const CsrView& X, std::uint32_t tail, std::span<const Lanes> W,
                              std::span<const std::uint32_t> rows, const Lanes& thresholds,
                              std::uint32_t* kept, Lanes* scores) {
  const TailedRows all(X, tail);
  const Vec* const w = reinterpret_cast<const Vec*>(W.data());
  const Vec threshold = *reinterpret_cast<const Vec*>(&thresholds);
  Vec* const result = reinterpret_cast<Vec*>(scores);
  std::size_t found = 0;
  for (std::size_t begin = 0; begin < rows.size(); begin += kTogether) {
    std::uint32_t of_rows[kTogether];
    for (std::size_t m = 0; m < kTogether; ++m) {
      of_rows[m] = rows[begin + m < rows.size() ? begin + m : begin];
    }
    Vec sums[kTogether];
    score_together<kTogether>(all, of_rows, w, sums);
    for (std::size_t m = 0; m < kTogether && begin + m < rows.size(); ++m) {
      const Vec sum = sums[m];
      kept[found] = rows[begin + m];
      result[found] = sum;
      found += any_above(sum, threshold) ? 1 : 0;
    }
  }
  return found;
}

}  // namespace

namespace {

// The sum of sixteen numbers, in the same order for every width of a register.
__attribute__((always_inline)) inline float sum_of(const Lanes& lanes) {
  Lanes numbers = lanes;
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t l = 0; l < width; ++l) numbers.at[l] += numbers.at[l + width];
  }
  return numbers.at[0];
}

}  // namespace

MARGROVE_MULTIVERSION
void sum_exponentials(std::span<const Lanes> scores, std::span<ScoreSum> sums) {
  const std::size_t num_rows = scores.size();
  for (std::size_t i = 0; i < num_rows; ++i) {
    const float* f = scores[i].at;
    float largest = f[0];
    for (std::size_t l = 1; l < kLanes; ++l) largest = f[l] > largest ? f[l] : largest;
    Lanes e;
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) e.at[l] = exp_of_negative(f[l] - largest);
    sums[i] = {largest, sum_of(e)};
  }
}

MARGROVE_MULTIVERSION
void weighted_sums(std::span<const Lanes> scores, std::span<const Lanes> weights,
                   std::span<WeightedSum> sums) {
  const std::size_t num_rows = scores.size();
  for (std::size_t i = 0; i < num_rows; ++i) {
    Lanes products;
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) products.at[l] = weights[i].at[l] * scores[i].at[l];
    sums[i] = {sum_of(products), sum_of(weights[i])};
  }
}

MARGROVE_MULTIVERSION
void linearise_softmax(std::span<const Lanes> scores, std::span<const float> costs,
                       std::span<const ScoreSum> totals, std::span<Lanes> slopes,
                       std::span<Lanes> curvatures) {
  const std::size_t num_rows = scores.size();
  for (std::size_t i = 0; i < num_rows; ++i) {
    const float cost = costs[i];
    const float largest = totals[i].largest;
    const float inverse = 1.0F / totals[i].sum;
    const float* f = scores[i].at;
    float* slope = slopes[i].at;
    float* curvature = curvatures[i].at;
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) {
      const float p = exp_of_negative(f[l] - largest) * inverse;
      slope[l] = cost * p;
      curvature[l] = cost * p * (1.0F - p < 0.0F ? 0.0F : 1.0F - p);
    }
  }
}

// Losses are summed in float32 over 64 rows, then in float64.
MARGROVE_MULTIVERSION
LaneSums linearise_logistic(std::span<const Lanes> scores, std::span<const float> costs,
                            std::span<Lanes> slopes, std::span<Lanes> curvatures) {
  LaneSums losses;
  const std::size_t num_rows = scores.size();
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
    for (std::size_t l = 0; l < kLanes; ++l) losses.at[l] += part[l];
  }
  return losses;
}

MARGROVE_MULTIVERSION
LaneSums linearise_squared_hinge(std::span<const Lanes> scores, std::span<const float> costs,
                                 std::span<Lanes> slopes, std::span<Lanes> curvatures) {
  LaneSums losses;
  const std::size_t num_rows = scores.size();
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
    for (std::size_t l = 0; l < kLanes; ++l) losses.at[l] += part[l];
  }
  return losses;
}

MARGROVE_MULTIVERSION
void add_gradient(const CsrView& X, std::uint32_t tail, std::span<const Lanes> slopes,
                  std::span<const Lanes> curvatures, std::span<WideLanes> gradient,
                  std::span<Lanes> diagonal) {
  const TailedRows rows(X, tail);
  const std::size_t num_rows = X.num_rows();
  Wide* const g = reinterpret_cast<Wide*>(gradient.data());
  Vec* const d = reinterpret_cast<Vec*>(diagonal.data());
  const Vec* const slope_of = reinterpret_cast<const Vec*>(slopes.data());
  const Vec* const curvature_of = reinterpret_cast<const Vec*>(curvatures.data());
  std::size_t i = 0;
  for (; tail > 0 && i + kTogether <= num_rows; i += kTogether) {
    add_derivatives_next<kTogether>(rows, i, slope_of, curvature_of, g, d);
  }
  for (; i < num_rows; ++i) add_derivatives_next<1>(rows, i, slope_of, curvature_of, g, d);
}

namespace {

// q += X' D (X p - means) of rows i, i + 1, ...; part += p' X' D (X p - means)
template <std::size_t kRows>
__attribute__((always_inline)) inline void multiply_next(const TailedRows& X, std::size_t i,
                                                         const Vec* D, const float* means,
                                                         const Vec* p, Vec* q, Vec& part) {
  Vec t[kRows], u[kRows];
  score_next<kRows>(X, i, p, t);
  for (std::size_t m = 0; m < kRows; ++m) {
    u[m] = D[i + m] * (means != nullptr ? t[m] - means[i + m] : t[m]);
    part += u[m] * t[m];
  }
  add_next<kRows>(X, i, u, q);
}

}  // namespace

MARGROVE_MULTIVERSION
LaneSums multiply_curvature(const CsrView& X, std::uint32_t tail, std::span<const Lanes> curvatures,
                            std::span<const float> means, BatchedNewtonSystem& system) {
  LaneSums sums;
  const TailedRows rows(X, tail);
  const std::size_t num_rows = X.num_rows();
  const Vec* const p = reinterpret_cast<const Vec*>(system.direction.data());
  Vec* const q = reinterpret_cast<Vec*>(system.product.data());
  const Vec* const D = reinterpret_cast<const Vec*>(curvatures.data());
  const float* const mean = means.empty() ? nullptr : means.data();
  for (std::size_t begin = 0; begin < num_rows; begin += 64) {
    const std::size_t end = begin + 64 < num_rows ? begin + 64 : num_rows;
    Vec part = {};
    std::size_t i = begin;
    for (; tail > 0 && i + kTogether <= end; i += kTogether) {
      multiply_next<kTogether>(rows, i, D, mean, p, q, part);
    }
    for (; i < end; ++i) multiply_next<1>(rows, i, D, mean, p, q, part);
    for (std::size_t l = 0; l < kLanes; ++l) sums.at[l] += part[l];
  }
  return sums;
}

MARGROVE_MULTIVERSION
LaneSums step_along(const Lanes& lengths, BatchedNewtonSystem& system) {
  LaneSums sums;
  const std::size_t num_columns = system.direction.size();
  const Vec length = *reinterpret_cast<const Vec*>(&lengths);
  const Vec* const p = reinterpret_cast<const Vec*>(system.direction.data());
  const Vec* const m = reinterpret_cast<const Vec*>(system.diagonal.data());
  Vec* const q = reinterpret_cast<Vec*>(system.product.data());
  Vec* const r = reinterpret_cast<Vec*>(system.residual.data());
  Vec* const s = reinterpret_cast<Vec*>(system.solution.data());
  for (std::size_t begin = 0; begin < num_columns; begin += 64) {
    const std::size_t end = begin + 64 < num_columns ? begin + 64 : num_columns;
    Vec part = {};
    for (std::size_t j = begin; j < end; ++j) {
      s[j] += length * p[j];
      const Vec left = r[j] - length * (p[j] + q[j]);
      r[j] = left;
      q[j] = Vec{};
      part += left * left / m[j];
    }
    for (std::size_t l = 0; l < kLanes; ++l) sums.at[l] += part[l];
  }
  return sums;
}

MARGROVE_MULTIVERSION
LaneSums update_direction(const Lanes& factors, BatchedNewtonSystem& system) {
  LaneSums sums;
  const std::size_t num_columns = system.direction.size();
  const Vec factor = *reinterpret_cast<const Vec*>(&factors);
  Vec* const p = reinterpret_cast<Vec*>(system.direction.data());
  const Vec* const r = reinterpret_cast<const Vec*>(system.residual.data());
  const Vec* const m = reinterpret_cast<const Vec*>(system.diagonal.data());
  for (std::size_t begin = 0; begin < num_columns; begin += 64) {
    const std::size_t end = begin + 64 < num_columns ? begin + 64 : num_columns;
    Vec part = {};
    for (std::size_t j = begin; j < end; ++j) {
      const Vec updated = r[j] / m[j] + factor * p[j];
      p[j] = updated;
      part += updated * updated;
    }
    for (std::size_t l = 0; l < kLanes; ++l) sums.at[l] += part[l];
  }
  return sums;
}

MARGROVE_MULTIVERSION
LaneSums add_weights(std::span<const Lanes> W, std::span<WideLanes> gradient) {
  LaneSums sums;
  double part[kLanes] = {};
  const Lanes* const w = W.data();
  WideLanes* const into = gradient.data();
  for (std::size_t j = 0; j < gradient.size(); ++j) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double g = into[j].at[l] + w[j].at[l];
      into[j].at[l] = g;
      part[l] += g * g;
    }
  }
  for (std::size_t l = 0; l < kLanes; ++l) sums.at[l] = part[l];
  return sums;
}

MARGROVE_MULTIVERSION
LaneSums move_along(std::span<const Lanes> W, const Lanes& lengths,
                    const BatchedNewtonSystem& system, std::span<Lanes> result) {
  LaneSums sums;
  double part[kLanes] = {};
  const Lanes* const from = W.data();
  const Lanes* const solution = system.solution.data();
  Lanes* const into = result.data();
  for (std::size_t j = 0; j < W.size(); ++j) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) {
      const float w = from[j].at[l] + lengths.at[l] * solution[j].at[l];
      into[j].at[l] = w;
      part[l] += static_cast<double>(w) * w;
    }
  }
  for (std::size_t l = 0; l < kLanes; ++l) sums.at[l] = part[l];
  return sums;
}

MARGROVE_MULTIVERSION
LaneSums squared_norms(std::span<const Lanes> W) {
  LaneSums sums;
  double part[kLanes] = {};
  const Lanes* const w = W.data();
  for (std::size_t j = 0; j < W.size(); ++j) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) {
      part[l] += static_cast<double>(w[j].at[l]) * w[j].at[l];
    }
  }
  for (std::size_t l = 0; l < kLanes; ++l) sums.at[l] = part[l];
  return sums;
}

MARGROVE_MULTIVERSION
LaneSums slope_along(std::span<const WideLanes> gradient, const BatchedNewtonSystem& system) {
  LaneSums sums;
  double part[kLanes] = {};
  const WideLanes* const g = gradient.data();
  const Lanes* const solution = system.solution.data();
  for (std::size_t j = 0; j < gradient.size(); ++j) {
#pragma omp simd
    for (std::size_t l = 0; l < kLanes; ++l) part[l] += g[j].at[l] * solution[j].at[l];
  }
  for (std::size_t l = 0; l < kLanes; ++l) sums.at[l] = part[l];
  return sums;
}

// Four rows at a time: H is read and written once for all of them.
MARGROVE_MULTIVERSION
void add_outer_products(std::span<const float> X, std::size_t num_columns,
                        std::span<const std::uint32_t> rows, std::span<const float> weights,
                        std::span<float> H) {
  const std::size_t d = num_columns;
  const std::size_t count = rows.size();
  for (std::size_t k = 0; k < count; k += 4) {
    const float* x[4];
    float weight[4];
    for (std::size_t m = 0; m < 4; ++m) {
      const bool there = k + m < count;
      x[m] = X.data() + rows[there ? k + m : k] * d;
      weight[m] = there ? weights[k + m] : 0.0F;
    }
    for (std::size_t i = 0; i < d; ++i) {
      const float a = weight[0] * x[0][i];
      const float b = weight[1] * x[1][i];
      const float c = weight[2] * x[2][i];
      const float e = weight[3] * x[3][i];
      float* h = H.data() + i * d;
#pragma omp simd
      for (std::size_t j = 0; j <= i; ++j) {
        h[j] += (a * x[0][j] + b * x[1][j]) + (c * x[2][j] + e * x[3][j]);
      }
    }
  }
}

void score_rows_above(const CsrView& X, std::uint32_t tail, std::span<const Lanes> W,
                      std::span<const std::uint32_t> rows, const Lanes& thresholds,
                      RowScores& above) {
  constexpr std::size_t kChunk = 512;
  std::uint32_t kept[kChunk];
  Lanes scores[kChunk];
  above.rows.clear();
  above.scores.clear();
  for (std::size_t begin = 0; begin < rows.size(); begin += kChunk) {
    const auto chunk = rows.subspan(begin, std::min(kChunk, rows.size() - begin));
    const std::size_t found = tail > 0
                                  ? score_tails_above(X, tail, W, chunk, thresholds, kept, scores)
                                  : score_chunk_above(X, W, chunk, thresholds, kept, scores);
    above.rows.insert(above.rows.end(), kept, kept + found);
    above.scores.insert(above.scores.end(), scores, scores + found);
  }
}

}  // namespace margrove::detail
