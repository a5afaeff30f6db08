#pragma once
// Geometry of the (m, g) plane, which all searches use. A query with weights (w_m, w_g) and answer
// K proves that every labelling satisfies w_m m + w_g g <= K.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "margrove/surrogates.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

/// Every labelling satisfies h + lambda g <= value, h = 1 + m.
struct PlaneCut {
  double lambda;
  double value;
};

/// The largest h g over {h, g >= 0} below all cuts, which bounds the loss of slack rescaling. It is
/// at most min_t K(lambda_t)^2 / (4 lambda_t) (Thesis, Lemma 5), and infinite without a cut of
/// lambda > 0. O(cuts^2).
double product_bound(const std::vector<PlaneCut>& cuts);

struct PlanePoint {
  double m, g;
  double value;       // psi(m, g), or 0 at y_i
  std::size_t index;  // the caller's
};

/// Sorts `points` and keeps the corners of their convex hull that maximise w_m m + w_g g for some
/// w_m, w_g >= 0, by ascending g (and so descending m). O(n log n).
void keep_upper_right_chain(std::vector<PlanePoint>& points);

/// The point of the chain, edges included, where psi is largest, and the weights of the line
/// through it that separates the chain from all better points, which is the next query (Thesis,
/// Theorem 7).
struct ChainOptimum {
  std::size_t a, b;  // positions on the chain; equal at a corner
  double t;          // the optimum is (1 - t) a + t b
  double m, g, value;
  double w_m, w_g;
};

namespace detail {

inline constexpr int kExactSteps = 50;  // of a bisection down to rounding

/// argmax over t in [0, 1] of psi on the segment p + t (dm, dg), where psi(p) = value >= 0 and psi
/// rises at t = 0. Bisects on the sign of the slope, which is sound because psi is quasi-concave
/// where it is >= psi(p).
template <Surrogate S>
double segment_argmax(const S& psi, double m, double g, double dm, double dg, double value,
                      int steps = kExactSteps) {
  double low = 0.0, high = 1.0;
  for (int step = 0; step < steps; ++step) {
    const double t = 0.5 * (low + high);
    const double tm = m + t * dm, tg = g + t * dg;
    const double here = psi.value(tm, tg);
    const bool rises =
        here >= value && psi.derivative_m(tm, tg) * dm + psi.derivative_g(tm, tg) * dg > 0;
    (rises ? low : high) = t;
  }
  return low;
}

}  // namespace detail

/// `chain` is as keep_upper_right_chain() leaves it, not empty, with some value >= 0. On an edge
/// the error of t is at most 2^-steps.
template <Surrogate S>
ChainOptimum chain_optimum(const std::vector<PlanePoint>& chain, const S& psi,
                           int steps = detail::kExactSteps) {
  std::size_t k = 0;
  for (std::size_t j = 1; j < chain.size(); ++j) {
    if (chain[j].value > chain[k].value) k = j;
  }
  const PlanePoint& p = chain[k];
  Ascent ascent = ascent_at_truth(psi);
  if (p.g < 0.0 || (p.g > 0.0 && p.value > 0.0)) {  // g < 0: Micro-F1's plane
    ascent = {psi.derivative_m(p.m, p.g), psi.derivative_g(p.m, p.g)};
  }
  const double scale = ascent.w_m + ascent.w_g;
  if (scale > 0.0 && std::isfinite(scale)) ascent = {ascent.w_m / scale, ascent.w_g / scale};
  ChainOptimum best{k, k, 0.0, p.m, p.g, p.value, ascent.w_m, ascent.w_g};
  // At most one neighbour lies above the tangent, because the chain is concave.
  for (const std::size_t j : {k - 1, k + 1}) {
    if (j >= chain.size()) continue;
    const double dm = chain[j].m - p.m, dg = chain[j].g - p.g;
    const double size = std::abs(dm) + std::abs(dg);
    if (ascent.w_m * dm + ascent.w_g * dg <= 1e-13 * size) continue;
    const double t = detail::segment_argmax(psi, p.m, p.g, dm, dg, p.value, steps);
    const double m = p.m + t * dm, g = p.g + t * dg;
    const double value = std::max(p.value, psi.value(m, g));
    return {k, j, t, m, g, value, std::abs(dg) / size, std::abs(dm) / size};
  }
  return best;
}

/// The maximum of 0 and of psi on the line w_m m + w_g g = K. As psi is increasing, it bounds psi
/// of every labelling below the line. (m, g) is a point near the line with psi > 0, from which the
/// maximum is searched; infinite if that fails.
template <Surrogate S>
double line_bound(const S& psi, double w_m, double w_g, double K, double m, double g) {
  constexpr double kUnknown = std::numeric_limits<double>::infinity();
  const double norm = w_m * w_m + w_g * w_g;
  if (!(w_m > 0.0) || !(w_g > 0.0)) return kUnknown;
  const double shift = (K - w_m * m - w_g * g) / norm;
  m += shift * w_m;
  g += shift * w_g;
  double value = psi.value(m, g);
  if (g == 0.0 || value < 0.0 || !std::isfinite(value)) return kUnknown;
  // Takes steps of doubling length uphill until psi falls or g reaches 0, then bisects.
  const double slope = psi.derivative_g(m, g) * w_m - psi.derivative_m(m, g) * w_g;
  if (slope == 0.0) return value;
  const double sign = slope > 0.0 ? 1.0 : -1.0;
  double length = 1e-3 * (std::abs(m) + std::abs(g));
  for (int step = 0; step < 60; ++step, length *= 2.0) {
    double dg = sign * w_m * length, dm = -sign * w_g * length;
    if (g > 0.0 && g + dg <= 0.0) {
      const double cut = -g / dg * (1.0 - 1e-12);
      dg *= cut;
      dm *= cut;
    }
    if (g < 0.0 && g + dg >= 0.0) return kUnknown;
    const double end = psi.value(m + dm, g + dg);
    const double end_slope =
        psi.derivative_m(m + dm, g + dg) * dm + psi.derivative_g(m + dm, g + dg) * dg;
    if (end < value || !(end_slope > 0.0)) {
      const double t = detail::segment_argmax(psi, m, g, dm, dg, value);
      return std::max(value, psi.value(m + t * dm, g + t * dg)) * (1.0 + 1e-12);
    }
    if (g > 0.0 && g + dg <= 1e-11 * g) return end;
  }
  return kUnknown;
}

}  // namespace margrove
