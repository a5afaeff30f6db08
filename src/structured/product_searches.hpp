#pragma once
// Searches for slack rescaling, max_y h(y) g(y) with h = 1 + m, whose only queries are y(lambda) =
// argmax_y h(y) + lambda g(y). They may miss the maximum whatever the number of queries (Thesis,
// Theorem 1). Their upper bound is the largest h g below the lines of all answers.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "margrove/errors.hpp"
#include "margrove/surrogates.hpp"
#include "structured/plane.hpp"
#include "structured/search.hpp"

namespace margrove {
namespace detail {

/// Calls the oracle, counts the calls, and keeps the best labelling and all cuts.
template <Oracle O>
class ProductQueries {
 public:
  using Y = typename O::Labelling;
  explicit ProductQueries(const O& oracle) : oracle_(oracle), best_(oracle.truth()) {}

  /// y(lambda). An infinite lambda asks for the largest g.
  Candidate<Y> ask(double lambda) {
    const bool only_g = std::isinf(lambda);
    Candidate<Y> y = oracle_.argmax(only_g ? 0.0 : 1.0, only_g ? 1.0 : lambda);
    ++calls_;
    if (!only_g) cuts_.push_back({lambda, 1.0 + y.m + lambda * y.g});
    offer(y);
    return y;
  }
  void offer(const Candidate<Y>& y) {
    if ((1.0 + y.m) * y.g > value_) {
      value_ = (1.0 + y.m) * y.g;
      best_ = y;
    }
  }
  int calls() const { return calls_; }
  double value() const { return value_; }
  const Candidate<Y>& best() const { return best_; }
  SearchResult<Y> result() const {
    const double bound = std::max(value_, product_bound(cuts_));
    return {best_, value_, certified_bound(oracle_, bound), calls_};
  }

 private:
  const O& oracle_;
  Candidate<Y> best_;
  double value_ = 0.0;
  int calls_ = 0;
  std::vector<PlaneCut> cuts_;
};

}  // namespace detail

/// Golden-section search for the minimum over lambda of max_y h + lambda g - 2 sqrt(xi lambda), a
/// convex function. xi is the present slack of the example, which only cutting planes know (Thesis
/// 4.2.1).
struct SarawagiGuptaSearch {
  double slack = 0.0;      // xi; the solver sets it before each call
  double min_loss = 1.0;   // the smallest positive g
  double tolerance = 0.1;  // on log lambda
  int max_calls = 50;

  template <Oracle O>
  SearchResult<typename O::Labelling> operator()(const O& oracle, const SlackRescaling&,
                                                 LabelCache<typename O::Labelling>&) const {
    detail::ProductQueries<O> queries(oracle);
    const double max_loss = queries.ask(std::numeric_limits<double>::infinity()).g;
    if (!(max_loss > 0.0)) return queries.result();
    // For one y the minimum lies at lambda = xi / g^2.
    const double xi = std::max(slack, 1e-6);
    double low = std::log(xi / (max_loss * max_loss));
    double high = std::log(xi / (min_loss * min_loss)) + tolerance;
    const auto F = [&](double log_lambda) {
      const double lambda = std::exp(log_lambda);
      const auto y = queries.ask(lambda);
      return 1.0 + y.m + lambda * y.g - 2.0 * std::sqrt(xi * lambda);
    };
    constexpr double kGolden = 0.6180339887498949;
    double x1 = high - kGolden * (high - low), x2 = low + kGolden * (high - low);
    double f1 = F(x1), f2 = F(x2);
    while (high - low > tolerance && queries.calls() < max_calls) {
      if (f1 <= f2) {
        high = std::exchange(x2, x1);
        f2 = f1;
        x1 = high - kGolden * (high - low);
        f1 = F(x1);
      } else {
        low = std::exchange(x1, x2);
        f1 = f2;
        x2 = low + kGolden * (high - low);
        f2 = F(x2);
      }
    }
    return queries.result();
  }
};

/// Binary search for the minimum of F(lambda) = max_{h > 0} (h/lambda + lambda g)^2 / 4, a convex
/// upper bound on max_y h g (Thesis, Lemma 1). The query is at lambda^2: `lambda` in the code is
/// the square of the thesis's.
struct BinarySearch {
  double min_lambda = 1e-4, max_lambda = 1e4;
  double tolerance = 1e-2;  // on the logarithm of lambda
  int max_calls = 50;

  template <Oracle O>
  SearchResult<typename O::Labelling> operator()(const O& oracle, const SlackRescaling&,
                                                 LabelCache<typename O::Labelling>&) const {
    detail::ProductQueries<O> queries(oracle);
    double low = std::log(min_lambda), high = std::log(max_lambda);
    auto y_low = queries.ask(min_lambda), y_high = queries.ask(max_lambda);
    // The same answer at both ends is the answer everywhere between (Thesis, Lemma 4).
    while (high - low > tolerance && queries.calls() < max_calls && !(y_low.y == y_high.y)) {
      const double middle = 0.5 * (low + high), lambda = std::exp(middle);
      auto y = queries.ask(lambda);
      const bool falls =
          lambda * y.g < 1.0 + y.m;  // the sign of F's subgradient, lambda g - h at y
      (falls ? low : high) = middle;
      (falls ? y_low : y_high) = std::move(y);
    }
    return queries.result();
  }
};

/// Algorithm 1 of the thesis: narrows the intervals of lambda, h and g in which the optimum can
/// lie. While the interval of lambda has no upper end, lambda doubles. Between two positive ends
/// the next lambda is their geometric mean, where the thesis has the arithmetic one, because lambda
/// is a ratio.
struct BisectingSearch {
  double initial_lambda = 1.0;
  double tolerance = 1e-2;  // on the logarithm of lambda
  int max_calls = 50;
  bool warm_start = true;  // start where the example's last search ended

  template <Oracle O>
  SearchResult<typename O::Labelling> operator()(const O& oracle, const SlackRescaling&,
                                                 LabelCache<typename O::Labelling>& cache) const {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    using Y = typename O::Labelling;
    detail::ProductQueries<O> queries(oracle);
    double lambda = initial_lambda;
    if constexpr (EvaluatingOracle<O>) {
      if (warm_start) {
        for (const Y& y : cache.labellings) queries.offer(oracle.evaluate(y));
        if (queries.value() > 0) lambda = (1.0 + queries.best().m) / queries.best().g;
      }
    }
    double h_low = 0, h_high = kInfinity, g_low = 0, g_high = kInfinity;
    double lambda_low = 0, lambda_high = kInfinity;
    std::optional<Y> y_low, y_high;
    while (h_low <= h_high && g_low <= g_high && queries.calls() < max_calls) {
      const auto y = queries.ask(lambda);
      const double h = 1.0 + y.m, K = h + lambda * y.g;
      // Lemma 3. If y has no positive product, only the line bounds h and g.
      const bool has_product = h > 0 && y.g > 0;
      h_low = std::max(h_low, has_product ? std::min(h, lambda * y.g) : 0.0);
      h_high = std::min(h_high, has_product ? std::max(h, lambda * y.g) : K);
      g_low = std::max(g_low, has_product ? std::min(y.g, h / lambda) : 0.0);
      g_high = std::min(g_high, has_product ? std::max(y.g, h / lambda) : K / lambda);
      if (y.g <= h / lambda) {  // Lemma 4: g grows with lambda
        lambda_low = lambda;
        y_low = y.y;
      } else {
        lambda_high = lambda;
        y_high = y.y;
      }
      if (y_low && y_high && *y_low == *y_high) break;
      if (lambda_low > 0 && lambda_high < lambda_low * (1.0 + tolerance)) break;
      if (lambda_high == kInfinity) {
        lambda *= 2.0;
        if (lambda > 1e12) break;
      } else if (lambda_low == 0.0) {
        lambda *= 0.5;
        if (lambda < 1e-12) break;
      } else {
        lambda = std::sqrt(lambda_low * lambda_high);
      }
    }
    if (warm_start) {
      cache.labellings.clear();
      if (queries.value() > 0) cache.labellings.push_back(queries.best().y);
    }
    return queries.result();
  }
};

}  // namespace margrove
