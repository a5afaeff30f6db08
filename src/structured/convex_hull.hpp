#pragma once
// Convex hull search (Thesis, Algorithm 4): max psi over the convex hull of the labellings' points
// in the (m, g) plane, for every bi-criteria surrogate:
//
//      S = {}, lambda = infinity
//      repeat
//   1    y = O(lambda)
//   2    if y is in S, return GetMaxFract(S), the best point of the edges at the best corner
//   3    add y to S
//   4    lambda = Get-lambda(S), the line that separates S from all better points
//
// It needs at most one lambda-oracle call per corner of the hull and one to confirm the optimum
// (Theorem 6). A fractional optimum is made integral in one of three ways:
//   - The two labellings that it mixes are banned and the search goes on, which ends with the exact
//     maximum (Thesis 5.3.3).
//   - If the oracle knows the best labelling of every loss (LossFrontOracle), the best of these is
//     the exact maximum.
//   - If labellings may be fractional themselves (ConvexOracle), the optimum is the answer as
//     it is.
//
// The line is the tangent of psi at the best point or, if a neighbour lies above that tangent, the
// edge to this neighbour. We deviate in that S starts with y_i, whose value is 0, because a start
// at lambda = infinity could return psi < 0; and line 2 also ends if y is not above the line.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "margrove/surrogates.hpp"
#include "structured/plane.hpp"
#include "structured/search.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

/// The best point of the hull: (1 - t) a + t b.
template <class Labelling>
struct FractionalOptimum {
  Candidate<Labelling> a, b;
  double t;  // 0: a is the optimum
  double value;
  int oracle_calls;
};

namespace detail {

/// The labellings that an oracle must leave out.
template <Oracle O>
class BanList {
 public:
  using Y = typename O::Labelling;

  bool empty() const { return labellings_.empty(); }
  bool contains(std::size_t index) const {
    return std::find(indices_.begin(), indices_.end(), index) != indices_.end();
  }
  void add(std::size_t index, const Y& y) {
    if (contains(index)) return;
    labellings_.push_back(y);
    indices_.push_back(index);
  }
  /// The best of the other labellings; none if there are none.
  std::optional<Candidate<Y>> argmax(const O& oracle, double w_m, double w_g) const {
    if (empty()) return oracle.argmax(w_m, w_g);
    if constexpr (BanListOracle<O>) {
      return oracle.argmax_without(w_m, w_g, std::span<const Y>(labellings_));
    } else if constexpr (KBestOracle<O>) {
      for (auto& y : oracle.k_best(w_m, w_g, static_cast<int>(labellings_.size()) + 1)) {
        if (std::find(labellings_.begin(), labellings_.end(), y.y) == labellings_.end()) return y;
      }
    }
    return std::nullopt;
  }

 private:
  std::vector<Y> labellings_;
  std::vector<std::size_t> indices_;  // in S
};

/// Algorithm 4 for one example.
template <Oracle O, Surrogate Psi>
struct HullSearch {
  using Y = typename O::Labelling;

  const O& oracle;
  const Psi& psi;
  double tolerance;
  int max_calls;
  std::vector<Candidate<Y>> found{};  // S; [0] is y_i
  std::size_t best = 0;               // in S
  BanList<O> banned{};
  std::vector<PlanePoint> chain{};  // of the labellings in S that are not banned
  ChainOptimum optimum{};           // on the chain, with the line of the next query
  double bound = std::numeric_limits<double>::infinity();  // of psi over all labellings
  double last_line_bound = std::numeric_limits<double>::infinity();
  int calls = 0;

  void search() {
    while (true) {
      find_line();  // line 4
      if (max_calls <= calls) return set_bound(std::max(last_line_bound, best_value()));
      const auto y = ask(optimum);    // line 1
      if (!y) return set_bound(0.0);  // everything is banned
      const bool is_above = lies_above_line(*y);
      if (tolerance == 0.0 || !banned.empty()) {
        last_line_bound = is_above ? bound_through(*y, optimum) : optimum.value;
      }
      const bool is_new = add(*y);                                // line 3
      if (!is_above || !is_new) return set_bound(optimum.value);  // line 2
      if (!banned.empty() && suffices(last_line_bound)) {
        find_line();
        return set_bound(last_line_bound);
      }
    }
  }

  FractionalOptimum<Y> max_fract() const {
    return {found[chain[optimum.a].index], found[chain[optimum.b].index], optimum.t, optimum.value,
            calls};
  }
  bool is_fractional() const {
    const double share = std::max(1e-9, tolerance);
    return bound > best_value() + share * (std::abs(bound) + 1e-300) && optimum.a != optimum.b;
  }

  /// No labelling with a larger loss, a whole number, is better than the best one: all labellings
  /// lie below the line of the last query, on which psi falls behind the optimum.
  std::uint32_t largest_better_loss() const {
    constexpr std::uint32_t kFar = 10'000;
    if (calls >= max_calls || !(optimum.w_m > 0.0)) return kAllLosses;
    const double scale = height(std::abs(optimum.m), optimum.g, optimum);
    const double line =
        height(optimum.m, optimum.g, optimum) + std::max(1e-9, 4.0 * tolerance) * (1.0 + scale);
    const auto first = static_cast<std::uint32_t>(optimum.g) + 1;
    for (std::uint32_t g = first; g < first + kFar; ++g) {
      if (psi.value((line - optimum.w_g * g) / optimum.w_m, g) <= best_value()) return g - 1;
    }
    return kAllLosses;
  }

  double value_of(std::size_t index) const {
    return index == 0 ? 0.0 : psi.value(found[index].m, found[index].g);
  }
  double best_value() const { return value_of(best); }
  // Whether an upper bound is so near to the best value that further calls cannot help.
  bool suffices(double upper) const { return upper <= best_value() * (1.0 + tolerance); }
  void set_bound(double upper) { bound = std::min(bound, upper); }

  // Returns false if y was found before.
  bool add(Candidate<Y> y) {
    for (const auto& known : found) {
      if (known.y == y.y) return false;
    }
    found.push_back(std::move(y));
    if (value_of(found.size() - 1) > best_value()) best = found.size() - 1;
    return true;
  }

  // Get-lambda, with the hull's point that GetMaxFract returns.
  void find_line() {
    chain.clear();
    for (std::size_t j = 0; j < found.size(); ++j) {
      if (!banned.contains(j)) chain.push_back({found[j].m, found[j].g, value_of(j), j});
    }
    keep_upper_right_chain(chain);
    if (!chain.empty()) optimum = chain_optimum(chain, psi, tolerance > 0.0 ? 12 : kExactSteps);
  }

  std::optional<Candidate<Y>> ask(const ChainOptimum& line) {
    ++calls;
    return banned.argmax(oracle, line.w_m, line.w_g);
  }
  static double height(double m, double g, const ChainOptimum& line) {
    return line.w_m * m + line.w_g * g;
  }
  bool lies_above_line(const Candidate<Y>& y) const {
    const double scale =
        height(std::abs(y.m) + std::abs(optimum.m), std::abs(y.g) + std::abs(optimum.g), optimum);
    return height(y.m, y.g, optimum) >
           height(optimum.m, optimum.g, optimum) + std::max(1e-11, tolerance) * scale;
  }
  // Of psi below the parallel of the line through y, the oracle's answer.
  double bound_through(const Candidate<Y>& y, const ChainOptimum& line) const {
    return line_bound(psi, line.w_m, line.w_g, height(y.m, y.g, line), line.m, line.g);
  }
};

/// The ways from a fractional optimum to an integral one. Bans its ends (Thesis 5.3.3).
template <class Hull>
void ban_ends(Hull& hull, int max_bans) {
  const auto ban = [&](std::size_t index) { hull.banned.add(index, hull.found[index].y); };
  // First queries along the edge. While no remaining labelling has a positive value, from which
  // search() could start, the answer is banned, too.
  const auto search_below = [&](const ChainOptimum& edge) {
    for (int k = 0; k <= max_bans; ++k) {
      const auto y = hull.ask(edge);
      if (!y) return hull.set_bound(0.0);
      hull.last_line_bound = hull.bound_through(*y, edge);
      hull.add(*y);
      if (hull.suffices(hull.last_line_bound)) return hull.set_bound(hull.last_line_bound);
      hull.find_line();
      if (hull.chain[hull.optimum.a].value > 0.0) return hull.search();
      std::size_t j = 0;
      while (!(hull.found[j].y == y->y)) ++j;
      ban(j);
    }
    hull.optimum.a = hull.optimum.b = 0;  // gives up; the bound stays what it is
  };
  for (int round = 0; round < max_bans && hull.is_fractional(); ++round) {
    const ChainOptimum edge = hull.optimum;
    for (const std::size_t end : {hull.chain[edge.a].index, hull.chain[edge.b].index}) ban(end);
    search_below(edge);
  }
}

/// One call of the oracle, as expensive as many others, gives the best labelling of every loss.
template <class Hull>
void add_best_of_front(Hull& hull) {
  ++hull.calls;
  const std::span<const double> front = hull.oracle.loss_front(hull.largest_better_loss());
  double best = hull.best_value();
  std::uint32_t best_loss = 0;
  for (std::uint32_t g = 1; g < front.size(); ++g) {
    if (!std::isfinite(front[g])) continue;
    const double value = hull.psi.value(front[g], g);
    if (value <= best) continue;
    best = value;
    best_loss = g;
  }
  if (best_loss > 0) hull.add(hull.oracle.at_loss(best_loss));
  hull.set_bound(hull.best_value());
}

/// The optimum as a labelling.
template <class Hull>
auto mixture(const Hull& hull) {
  const auto best = hull.max_fract();
  return Candidate<typename Hull::Y>{hull.oracle.mix(best.a.y, best.b.y, best.t), hull.optimum.m,
                                     hull.optimum.g,
                                     (1.0 - best.t) * best.a.constant + best.t * best.b.constant};
}

}  // namespace detail

struct ConvexHullSearch {
  int max_calls = 1000;
  int max_bans = 20;  // rounds of banning the ends of a fractional optimum; 0: none
  bool warm_start = true;
  /// The allowed error of the maximum, relative to its coordinates; 0: exact. Stochastic
  /// subgradients need no exact maximum. If it is > 0, the upper bound is infinite.
  double tolerance = 0.0;

  /// The fractional optimum. Its value bounds psi over all labellings if the oracle was exact.
  template <Oracle O, Surrogate S>
  FractionalOptimum<typename O::Labelling> fractional(
      const O& oracle, const S& psi, LabelCache<typename O::Labelling>& cache) const {
    return searched(oracle, psi, cache).max_fract();
  }

  template <Oracle O, Surrogate S>
  SearchResult<typename O::Labelling> operator()(const O& oracle, const S& psi,
                                                 LabelCache<typename O::Labelling>& cache) const {
    auto hull = searched(oracle, psi, cache);
    bool has_front = false;
    if constexpr (LossFrontOracle<O>) {
      has_front = oracle.has_cheap_front() && max_bans > 0;
      if (has_front && hull.is_fractional()) detail::add_best_of_front(hull);
    }
    if constexpr (BanListOracle<O> || KBestOracle<O>) {
      if (!has_front && has_k_best(oracle)) detail::ban_ends(hull, max_bans);
    }
    const double best = hull.best_value();
    if constexpr (ConvexOracle<O>) {
      const ChainOptimum& optimum = hull.optimum;
      if (optimum.a != optimum.b && optimum.value > best) {
        return {detail::mixture(hull), optimum.value, bound_above(optimum.value, hull), hull.calls};
      }
    }
    return {hull.found[hull.best], best, bound_above(best, hull), hull.calls};
  }

 private:
  // Algorithm 4. Keeps the best point and its neighbours on the chain in the cache, from which the
  // next search starts.
  template <class O, class S, class Cache>
  detail::HullSearch<O, S> searched(const O& oracle, const S& psi, Cache& cache) const {
    detail::HullSearch<O, S> hull{oracle, psi, tolerance, max_calls};
    hull.found.push_back(oracle.truth());
    if constexpr (EvaluatingOracle<O>) {
      if (warm_start) {
        for (const auto& y : cache.labellings) hull.add(oracle.evaluate(y));
      }
    }
    hull.search();
    if (!warm_start) return hull;
    cache.labellings.clear();
    const std::size_t k = hull.optimum.a;
    for (const std::size_t j : {k - 1, k, k + 1}) {
      if (j >= hull.chain.size() || hull.chain[j].index == 0) continue;
      cache.labellings.push_back(hull.found[hull.chain[j].index].y);
    }
    return hull;
  }

  // An upper bound on psi over all labellings, given the value found.
  template <class Hull>
  double bound_above(double value, const Hull& hull) const {
    const double bound =
        tolerance > 0.0 ? std::numeric_limits<double>::infinity() : std::max(value, hull.bound);
    return certified_bound(hull.oracle, bound);
  }
};

}  // namespace margrove
