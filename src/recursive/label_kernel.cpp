// Products with K and systems in K^-1 + diag(h), column by column, by the elimination of Q = L D
// L'. (K z) is what (L D L')^-1 z is at the targets, and z' K z the sum of squares of L^-1 z,
// weighted by 1 / D. On a tree L^-1 z holds the sums below each node.
//
// (K^-1 + diag h) delta = rho minimises w'Qw / 2 + sum_l (h_l w_l^2 / 2 - rho_l w_l) over all
// nodes. The factor of Q + diag(h) is found as its difference from that of Q, so that small h are
// not lost beside 1 / alpha: with c = L D, A the change of a pivot and e those of c, the
// elimination of n changes what is left at (i, j) by
//   c_i c_j / D - (c_i + e_i) (c_j + e_j) / (D + A)
//     = (c_i c_j A / D - c_i e_j - e_i c_j - e_i e_j) / (D + A).
// On a tree, no e is ever different from 0.

#include "recursive/label_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "base/simd.hpp"
#include "margrove/errors.hpp"

namespace margrove::detail {
namespace {

constexpr std::size_t kWidth = LabelKernel::kWidth;
// The maximum number of multiplications of the elimination per node. More would take longer than
// the products with the rows.
constexpr double kMaxWork = 300;

inline void add(const float* x, float* into) {
#pragma omp simd
  for (std::size_t f = 0; f < kWidth; ++f) into[f] += x[f];
}

using Entry = NarrowFactor::Entry;

// sums = L^-1 sums; returns the sum of sums^2 / D
MARGROVE_MULTIVERSION
double sum_below(const NarrowFactor& factor, float* sums) {
  double value = 0;
  for (std::size_t n = 0; n < factor.pivots.size(); ++n) {
    const float* own = sums + n * kWidth;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (std::size_t f = 0; f < kWidth; ++f) squares += own[f] * own[f];
    value += squares / factor.pivots[n];
    for (std::uint32_t a = factor.begin[n]; a < factor.begin[n + 1]; ++a) {
      const Entry& i = factor.entries[a];
      float* above = sums + i.row * kWidth;
#pragma omp simd
      for (std::size_t f = 0; f < kWidth; ++f) above[f] -= i.lower * own[f];
    }
  }
  return value;
}

// x = (D L')^-1 x
MARGROVE_MULTIVERSION
void sum_above(const NarrowFactor& factor, float* x) {
  for (std::size_t n = factor.pivots.size(); n-- > 0;) {
    const float inverse = 1.0F / factor.pivots[n];
    float* own = x + n * kWidth;
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) own[f] *= inverse;
    for (std::uint32_t a = factor.begin[n]; a < factor.begin[n + 1]; ++a) {
      const Entry& i = factor.entries[a];
      const float* above = x + i.row * kWidth;
#pragma omp simd
      for (std::size_t f = 0; f < kWidth; ++f) own[f] -= i.lower * above[f];
    }
  }
}

// Row i of the column that is eliminated: l_i of L, c_i, and e_i for each right-hand side.
struct ColumnEntry {
  float l, c;
  const float* e;
};

inline ColumnEntry column_entry(const Entry& entry, float D, const float* changes) {
  static constexpr float kZero[kWidth] = {};
  return {entry.lower, entry.lower * D,
          entry.change == NarrowFactor::kNone ? kZero : changes + entry.change * kWidth};
}

// Eliminates the nodes of (Q + diag A) x = b, from the leaves to the roots: b loses what lies below
// each node, 1 / (D + A) is written over A, and e to changes, which must be zero.
MARGROVE_MULTIVERSION
void eliminate_with_diagonal(const NarrowFactor& factor, float* A, float* b, float* changes) {
  const std::uint32_t* update = factor.updates.data();
  for (std::size_t n = 0; n < factor.pivots.size(); ++n) {
    const float D = factor.pivots[n];
    float* A_n = A + n * kWidth;
    const float* b_n = b + n * kWidth;
    float inverse[kWidth];  // 1 / (D + A)
    float share[kWidth];    // A / (D + A)
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) {
      inverse[f] = 1.0F / (D + A_n[f]);
      share[f] = A_n[f] * inverse[f];
      A_n[f] = inverse[f];
    }
    for (std::uint32_t row = factor.begin[n]; row < factor.begin[n + 1]; ++row) {
      const auto i = column_entry(factor.entries[row], D, changes);
      float* A_i = A + factor.entries[row].row * kWidth;
      float* b_i = b + factor.entries[row].row * kWidth;
#pragma omp simd
      for (std::size_t f = 0; f < kWidth; ++f) {
        A_i[f] += i.l * i.c * share[f] - (2.0F * i.c + i.e[f]) * i.e[f] * inverse[f];
        b_i[f] -= (i.c + i.e[f]) * inverse[f] * b_n[f];
      }
      for (std::uint32_t other = factor.begin[n]; other < row; ++other) {
        const auto j = column_entry(factor.entries[other], D, changes);
        float* e_ij = changes + *update++ * kWidth;
#pragma omp simd
        for (std::size_t f = 0; f < kWidth; ++f) {
          e_ij[f] += i.l * j.c * share[f] - (i.c * j.e[f] + (j.c + j.e[f]) * i.e[f]) * inverse[f];
        }
      }
    }
  }
}

// x = the solution after eliminate_with_diagonal(), from the roots to the leaves. `inverse` and
// `changes` are as it leaves them, and x is its b.
MARGROVE_MULTIVERSION
void substitute_back(const NarrowFactor& factor, const float* inverse, const float* changes,
                     float* x) {
  for (std::size_t n = factor.pivots.size(); n-- > 0;) {
    float* x_n = x + n * kWidth;
    for (std::uint32_t row = factor.begin[n]; row < factor.begin[n + 1]; ++row) {
      const auto i = column_entry(factor.entries[row], factor.pivots[n], changes);
      const float* x_i = x + factor.entries[row].row * kWidth;
#pragma omp simd
      for (std::size_t f = 0; f < kWidth; ++f) x_n[f] -= (i.c + i.e[f]) * x_i[f];
    }
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) x_n[f] *= inverse[n * kWidth + f];
  }
}

// w = the targets' values
MARGROVE_MULTIVERSION
void store_values(const float* values, const std::uint32_t* place, std::size_t count,
                  BFloat16* high, BFloat16* low) {
  for (std::size_t t = 0; t < count; ++t) {
    const float* own = values + place[t] * kWidth;
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) {
      split(own[f], high[t * kWidth + f], low[t * kWidth + f]);
    }
  }
}

// z += step s; sums at the targets += z
MARGROVE_MULTIVERSION
void move_targets(float step, const BFloat16* s, float* z, std::size_t count,
                  const std::uint32_t* place, float* sums) {
  for (std::size_t t = 0; t < count; ++t) {
    float* sum = sums + place[t] * kWidth;
    float* own = z + t * kWidth;
    if (s != nullptr) {
#pragma omp simd
      for (std::size_t f = 0; f < kWidth; ++f) own[f] += step * wide(s[t * kWidth + f]);
    }
    add(own, sum);
  }
}

// Rounds a column's numbers, target after target, and adds the rounding error of each to the next
// number. The products with K depend on sums over the targets below a node. Rounding each number to
// the nearest would lose such a sum where it is small compared with its terms.
struct Carry {
  float rest[kWidth] = {};
  BFloat16 narrow(float x, std::size_t f) {
    const float whole = x + rest[f];
    const BFloat16 half = detail::narrow(whole);
    rest[f] = whole - wide(half);
    return half;
  }
};

// zeta = y + factor zeta; sums at the targets += zeta
MARGROVE_MULTIVERSION
void update_targets(float factor, const BFloat16* y, BFloat16* zeta, std::size_t count,
                    const std::uint32_t* place, float* sums) {
  Carry carry;
  for (std::size_t t = 0; t < count; ++t) {
    float* sum = sums + place[t] * kWidth;
    const BFloat16* from = y + t * kWidth;
    BFloat16* own = zeta + t * kWidth;
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) {
      own[f] = carry.narrow(wide(from[f]) + factor * wide(own[f]), f);
      sum[f] += wide(own[f]);
    }
  }
}

// p = path sums; products: zeta' p, rho' p
MARGROVE_MULTIVERSION
void store_direction(const float* paths, const std::uint32_t* place, std::size_t count,
                     const BFloat16* zeta, const BFloat16* rho, BFloat16* p, double* products) {
  for (std::size_t t = 0; t < count; ++t) {
    const float* path = paths + place[t] * kWidth;
    float zeta_p = 0;
    float rho_p = 0;
#pragma omp simd reduction(+ : zeta_p, rho_p)
    for (std::size_t f = t * kWidth; f < (t + 1) * kWidth; ++f) {
      p[f] = narrow(path[f - t * kWidth]);
      zeta_p += wide(zeta[f]) * wide(p[f]);
      rho_p += wide(rho[f]) * wide(p[f]);
    }
    products[0] += zeta_p;
    products[1] += rho_p;
  }
}

MARGROVE_MULTIVERSION
void step_targets(float length, const BFloat16* zeta, const BFloat16* q, BFloat16* rho, BFloat16* s,
                  const BFloat16* h, std::size_t count, const std::uint32_t* place,
                  float* precision, float* information) {
  Carry rho_carry, s_carry;
  for (std::size_t t = 0; t < count; ++t) {
    float* A = precision + place[t] * kWidth;
    float* b = information + place[t] * kWidth;
    const std::size_t begin = t * kWidth;
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) {
      const std::size_t k = begin + f;
      rho[k] = rho_carry.narrow(wide(rho[k]) - length * (wide(zeta[k]) + wide(q[k])), f);
      s[k] = s_carry.narrow(wide(s[k]) + length * wide(zeta[k]), f);
      A[f] += wide(h[k]);
      b[f] += wide(rho[k]);
    }
  }
}

// y = rho - h delta; returns rho' delta
MARGROVE_MULTIVERSION
double store_rest(const BFloat16* rho, const BFloat16* h, const float* deltas,
                  const std::uint32_t* place, std::size_t count, BFloat16* y) {
  double value = 0;
  Carry carry;
  for (std::size_t t = 0; t < count; ++t) {
    const float* delta = deltas + place[t] * kWidth;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::size_t f = 0; f < kWidth; ++f) {
      const std::size_t k = t * kWidth + f;
      sum += wide(rho[k]) * delta[f];
      y[k] = carry.narrow(wide(rho[k]) - wide(h[k]) * delta[f], f);
    }
    value += sum;
  }
  return value;
}

MARGROVE_MULTIVERSION
void collect(const BFloat16* x, const std::uint32_t* place, std::size_t count, float* sums) {
  for (std::size_t t = 0; t < count; ++t) {
    float* sum = sums + place[t] * kWidth;
#pragma omp simd
    for (std::size_t f = 0; f < kWidth; ++f) sum[f] += wide(x[t * kWidth + f]);
  }
}

float* cleared(std::vector<float>& values) {
  std::fill(values.begin(), values.end(), 0.0F);
  return values.data();
}

NarrowFactor narrow_factor(const SparseCholesky& factors) {
  NarrowFactor made;
  made.begin.push_back(0);
  for (std::uint32_t n = 0; n < factors.size(); ++n) {
    const auto [rows, values] = factors.column(n);
    made.pivots.push_back(static_cast<float>(values[0] * values[0]));
    for (std::size_t a = 1; a < rows.size(); ++a) {
      const auto lower = static_cast<float>(values[a] / values[0]);
      made.entries.push_back({rows[a], lower, NarrowFactor::kNone});
    }
    made.begin.push_back(static_cast<std::uint32_t>(made.entries.size()));
  }
  const std::span<Entry> entries(made.entries);
  for (std::uint32_t n = 0; n < factors.size(); ++n) {
    for (std::uint32_t a = made.begin[n]; a < made.begin[n + 1]; ++a) {
      for (std::uint32_t b = made.begin[n]; b < a; ++b) {
        const std::uint32_t column = entries[b].row, first = made.begin[column];
        Entry& changed =
            *std::ranges::lower_bound(entries.subspan(first, made.begin[column + 1] - first),
                                      entries[a].row, {}, &Entry::row);
        if (changed.change == NarrowFactor::kNone) changed.change = made.num_changes++;
        made.updates.push_back(changed.change);
      }
    }
  }
  return made;
}

std::optional<OrderedCholesky> factor_of(const NodePrecisionMatrix& precision) {
  const std::size_t size = precision.original.size();
  return factorise(size, precision.Q, kMaxWork * static_cast<double>(size));
}

}  // namespace

LabelKernel::LabelKernel(NodePrecisionMatrix precision) : precision_(std::move(precision)) {
  const auto factor = precision_.definite ? factor_of(precision_) : std::nullopt;
  require(factor.has_value(),
          "joint_newton: the label graph has a part without anchor, a target without weight and "
          "with several parents, or too many cycles, but must not; train_alternating() takes it");
  position_ = factor->position;
  factor_ = narrow_factor(factor->factors);
  for (const std::uint32_t node : precision_.place) place_.push_back(position_[node]);
  prepare_column();
}

bool LabelKernel::is_suited(const NodePrecisionMatrix& precision) {
  return precision.is_complete && precision.definite && factor_of(precision).has_value();
}

// Every term is an entry of the factor below its diagonal, and the squares of the columns' numbers
// of entries add up to at least the square of their sum divided by the number of columns.
std::size_t LabelKernel::most_terms(std::size_t num_nodes) {
  return static_cast<std::size_t>(std::sqrt(kMaxWork) * static_cast<double>(num_nodes)) + 1;
}

void LabelKernel::prepare_column() {
  const std::size_t size = precision_.original.size();
  target_of_.assign(size, NarrowFactor::kNone);
  for (std::uint32_t t = 0; t < place_.size(); ++t) {
    auto& target = target_of_[precision_.place[t]];
    if (target != NarrowFactor::kNone) return;
    target = t;
  }
  rest_of_.assign(size, NarrowFactor::kNone);
  std::uint32_t num_rest = 0;
  for (std::size_t n = 0; n < size; ++n) {
    if (target_of_[n] == NarrowFactor::kNone) rest_of_[n] = num_rest++;
  }
  std::vector<SymmetricEntry> rest;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> between;  // targets
  for (const SymmetricEntry& e : precision_.Q) {
    if (rest_of_[e.row] != NarrowFactor::kNone && rest_of_[e.column] != NarrowFactor::kNone) {
      rest.push_back({rest_of_[e.row], rest_of_[e.column], e.value});
    }
    if (target_of_[e.row] != NarrowFactor::kNone && target_of_[e.column] != NarrowFactor::kNone) {
      between[{target_of_[e.row], target_of_[e.column]}] += e.value;
    }
  }
  own_curvatures_.assign(place_.size(), 0.0);
  for (const auto& [pair, value] : between) own_curvatures_[pair.first] += std::abs(value);
  rest_ = factorise(num_rest, rest, std::numeric_limits<double>::infinity());
}

LabelKernel::Scratch LabelKernel::scratch() const {
  const std::size_t size = factor_.pivots.size() * kWidth;
  return {std::vector<float>(size), std::vector<float>(size),
          std::vector<float>(factor_.num_changes * kWidth)};
}

double LabelKernel::move(float step, std::span<const BFloat16> s, std::span<float> z, SplitChunk w,
                         Scratch& scratch) const {
  float* sums = cleared(scratch.first);
  move_targets(step, s.data(), z.data(), place_.size(), place_.data(), sums);
  const double value = multiply(sums);
  store_values(sums, place_.data(), place_.size(), w.high.data(), w.low.data());
  return value;
}

LabelKernel::Products LabelKernel::update_direction(float factor, std::span<const BFloat16> y,
                                                    std::span<const BFloat16> rho,
                                                    std::span<BFloat16> zeta, std::span<BFloat16> p,
                                                    Scratch& scratch) const {
  float* sums = cleared(scratch.first);
  update_targets(factor, y.data(), zeta.data(), place_.size(), place_.data(), sums);
  multiply(sums);
  double products[2] = {};
  store_direction(sums, place_.data(), place_.size(), zeta.data(), rho.data(), p.data(), products);
  return {products[0], products[1]};
}

double LabelKernel::step(float length, std::span<const BFloat16> zeta, std::span<BFloat16> q,
                         std::span<BFloat16> rho, std::span<BFloat16> s,
                         std::span<const BFloat16> h, Scratch& scratch) const {
  float* precision = cleared(scratch.first);
  float* information = cleared(scratch.second);
  float* changes = cleared(scratch.changes);
  step_targets(length, zeta.data(), q.data(), rho.data(), s.data(), h.data(), place_.size(),
               place_.data(), precision, information);
  eliminate_with_diagonal(factor_, precision, information, changes);
  substitute_back(factor_, precision, changes, information);
  return store_rest(rho.data(), h.data(), information, place_.data(), place_.size(), q.data());
}

/// values = Q^-1 values; returns values' Q^-1 values.
double LabelKernel::multiply(float* values) const {
  const double value = sum_below(factor_, values);
  sum_above(factor_, values);
  return value;
}

std::vector<double> LabelKernel::solve_column(std::span<const double> w) const {
  // The other nodes at their minimum: Q_rest x = -Q_rest,targets w.
  std::vector<double> x(rest_->position.size(), 0.0);
  for (const SymmetricEntry& e : precision_.Q) {
    const std::uint32_t target = target_of_[e.column];
    if (rest_of_[e.row] == NarrowFactor::kNone || target == NarrowFactor::kNone) continue;
    x[rest_of_[e.row]] -= e.value * w[target];
  }
  rest_->solve(x);
  std::vector<double> z(w.size(), 0.0);
  for (const SymmetricEntry& e : precision_.Q) {
    if (target_of_[e.row] == NarrowFactor::kNone) continue;
    const std::uint32_t target = target_of_[e.column];
    z[target_of_[e.row]] +=
        e.value * (target != NarrowFactor::kNone ? w[target] : x[rest_of_[e.column]]);
  }
  return z;
}

double LabelKernel::squared_norm(std::span<const BFloat16> rho, Scratch& scratch) const {
  float* sums = cleared(scratch.first);
  collect(rho.data(), place_.data(), place_.size(), sums);
  return sum_below(factor_, sums);
}

void LabelKernel::node_parts(std::span<const float> z, std::span<float> out,
                             Scratch& scratch) const {
  float* parts = cleared(scratch.first);
  if (precision_.alpha.empty()) {
    for (std::size_t t = 0; t < place_.size(); ++t) {
      add(z.data() + t * kWidth, parts + place_[t] * kWidth);
    }
    multiply(parts);
    for (std::size_t n = 0; n < position_.size(); ++n) {
      std::copy_n(parts + position_[n] * kWidth, kWidth,
                  out.data() + precision_.original[n] * kWidth);
    }
    return;
  }
  // v_n = alpha_n t_n; t_n, the sum of z over the targets below, goes up to all of w_n's terms.
  for (std::size_t t = 0; t < place_.size(); ++t) {
    add(z.data() + t * kWidth, parts + precision_.place[t] * kWidth);
  }
  for (std::size_t n = position_.size(); n-- > 0;) {
    const float* own = parts + n * kWidth;
    for (const auto& term : precision_.above[n]) {
      float* into = parts + term.node * kWidth;
      const auto factor = static_cast<float>(term.factor);
      for (std::size_t f = 0; f < kWidth; ++f) into[f] += factor * own[f];
    }
    const auto alpha = static_cast<float>(precision_.alpha[n]);
    float* v = out.data() + precision_.original[n] * kWidth;
    for (std::size_t f = 0; f < kWidth; ++f) v[f] = alpha * own[f];
  }
}

}  // namespace margrove::detail
