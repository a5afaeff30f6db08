#pragma once
// Angular search (Thesis, Algorithm 2) finds max_y h(y) g(y), h = 1 + m, exactly, by a
// lambda-oracle with bounds on the slope g/h. It makes at most 2M + 1 constrained calls for M
// labellings (Theorem 2). After t calls max / found <= v^(4 / (t + 1)), where v = max(lambda_0 s, 1
// / (lambda_0 s)) and s is the slope of the first answer (Theorem 4).

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "margrove/surrogates.hpp"
#include "structured/search.hpp"

namespace margrove {

struct AngularSearch {
  double tolerance = 1e-3;  // ends when found >= (1 - tolerance) bound; 0: exact
  int max_calls = 1000;
  bool use_cache = true;  // start from labellings that the last searches of the example found
  int cache_size = 3;

  template <BoundedSlopeOracle O>
  SearchResult<typename O::Labelling> operator()(const O& oracle, const SlackRescaling&,
                                                 LabelCache<typename O::Labelling>& cache) const {
    using Y = typename O::Labelling;
    SearchResult<Y> result{oracle.truth(), 0.0, std::numeric_limits<double>::infinity(), 0};
    const auto offer = [&](const Candidate<Y>& y) {
      const double value = (1.0 + y.m) * y.g;
      if (1.0 + y.m > 0 && value > result.value) {
        result.value = value;
        result.best = y;
        return true;
      }
      return false;
    };
    if constexpr (EvaluatingOracle<O>) {
      if (use_cache) {
        for (const Y& y : cache.labellings) offer(oracle.evaluate(y));
      }
    }
    const Start start = find_start(oracle, result, offer);
    if (start.lambda == 0.0) {  // all losses are 0, or all h <= 0
      result.upper_bound = certified_bound(oracle, result.value);
      return result;
    }

    std::priority_queue<Angle> queue;
    queue.push({start.slopes, std::numeric_limits<double>::infinity()});
    while (!queue.empty() && !((1.0 - tolerance) * queue.top().bound <= result.value) &&
           result.oracle_calls < max_calls) {
      const Angle angle = queue.top();
      queue.pop();
      const double lambda = angle.slopes.lower > 0.0
                                ? 1.0 / std::sqrt(angle.slopes.upper * angle.slopes.lower)
                                : start.lambda;
      ++result.oracle_calls;
      SlopeBounds slopes = angle.slopes;
      slopes.floor = floor_for(result.value, lambda, slopes) - 1.0;  // m, not h
      const auto y = constrained_argmax(oracle, 1.0, lambda, slopes);
      if (!y) continue;
      offer(*y);
      split(angle, 1.0 + y->m, y->g, lambda, queue);
    }
    const double bound = std::max(result.value, queue.empty() ? 0.0 : queue.top().bound);
    result.upper_bound = certified_bound(oracle, bound);
    if (use_cache && result.value > 0) remember(cache, result.best.y);
    return result;
  }

 private:
  struct Angle {
    SlopeBounds slopes;
    double bound;  // on h g of the labellings within
    bool operator<(const Angle& other) const { return bound < other.bound; }
  };

  struct Start {
    double lambda;
    SlopeBounds slopes;
  };

  // The start of Theorem 5 is lambda = H/G, the largest h over the largest g (the thesis prints the
  // inverse). A labelling with h g > phi has a slope between phi/H^2 and G^2/phi. If the cache has
  // a labelling, its slope, at which the last maximum lay, is a better start.
  template <class O, class Result, class Offer>
  static Start find_start(const O& oracle, Result& result, const Offer& offer) {
    if (result.value > 0) return {(1.0 + result.best.m) / result.best.g, {}};
    result.oracle_calls += 2;
    const auto largest_g = oracle.argmax(0.0, 1.0);
    const auto largest_h = oracle.argmax(1.0, 0.0);
    offer(largest_g);
    offer(largest_h);
    const double G = largest_g.g, H = 1.0 + largest_h.m, phi = result.value;
    if (!(G > 0.0) || !(H > 0.0)) return {0.0, {}};
    if (phi == 0.0) return {H / G, {}};
    return {H / G, {phi / (H * H), G * G / phi, true, false}};
  }

  // The slope in [lower, upper] that is nearest to 1/lambda; `upper` if rounding made lower >
  // upper.
  static double nearest_slope(double lambda, double lower, double upper) {
    return std::min(std::max(1.0 / lambda, lower), upper);
  }

  // The largest h g on the line h + lambda g = K between two slopes.
  static double bound_between(double K, double lambda, double lower, double upper) {
    const double slope = nearest_slope(lambda, lower, upper);
    const double h = K / (1.0 + lambda * slope);
    return h * h * slope;
  }

  // The K up to which bound_between(K) does not exceed `value`.
  static double floor_for(double value, double lambda, const SlopeBounds& slopes) {
    const double slope = nearest_slope(lambda, slopes.lower, slopes.upper);
    return (1.0 + lambda * slope) * std::sqrt(value / slope);
  }

  // Every better labelling than z = (h, g) lies between the slopes of z and z' = (lambda g,
  // h/lambda); the ray r of slope 1/lambda splits that angle into the two that are searched next.
  // Both ends move inwards by a little more than the rounding of a slope, so that z is not found
  // again. Labellings left out by this are better than z by a factor of at most 1 + kShade.
  static void split(const Angle& angle, double h, double g, double lambda,
                    std::priority_queue<Angle>& queue) {
    constexpr double kShade = 1e-12;
    const double K = h + lambda * g;
    const double z = g / h, z_mirrored = h / (lambda * lambda * g), r = 1.0 / lambda;
    const double upper = std::max(z, z_mirrored) * (1.0 - kShade);
    const double lower = std::min(z, z_mirrored) * (1.0 + kShade);
    if (!(lower < upper)) return;  // h g is the largest on the line
    const auto push = [&](double from, double to, bool upper_strict) {
      if (!(from < to)) return;
      const double bound = std::min(angle.bound, bound_between(K, lambda, from, to));
      queue.push({{from, to, true, upper_strict}, bound});
    };
    push(r, upper, true);
    push(lower, r, false);
  }

  template <class Y>
  void remember(LabelCache<Y>& cache, const Y& y) const {
    auto& kept = cache.labellings;
    std::erase(kept, y);
    kept.insert(kept.begin(), y);
    if (kept.size() > static_cast<std::size_t>(cache_size)) kept.pop_back();
  }
};

}  // namespace margrove
