#pragma once
// Convex hull search (Thesis, Algorithm 4): max psi over the convex hull of the labellings' points
// in the (m, g) plane, for every bi-criteria surrogate. It needs at most one lambda-oracle call per
// corner of the hull and one to confirm the optimum (Theorem 6). A fractional optimum is made
// integral in one of three ways:
//   - The two labellings that it mixes are banned and the search goes on, which ends with the exact
//     maximum (Thesis 5.3.3).
//   - If the oracle knows the best labelling of every loss (LossFrontOracle), the best of these is
//     the exact maximum.
//   - If labellings may be fractional themselves (ConvexOracle), the optimum is the answer as it
//   is.
//
// The next query is the line that separates the points found so far from all better points. It is
// the tangent of psi at the best point or, if a neighbour lies above that tangent, the edge to this
// neighbour. The set S of points found starts with y_i, whose value is 0; without it a start at
// lambda = infinity could return psi < 0.

#include <algorithm>
#include <cmath>
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
    Run<O, S> run(*this, oracle, psi, cache);
    run.climb();
    run.remember(cache);
    return run.fractional();
  }

  template <Oracle O, Surrogate S>
  SearchResult<typename O::Labelling> operator()(const O& oracle, const S& psi,
                                                 LabelCache<typename O::Labelling>& cache) const {
    Run<O, S> run(*this, oracle, psi, cache);
    run.climb();
    run.remember(cache);
    if constexpr (LossFrontOracle<O>) {
      if (oracle.has_loss_front() && max_bans > 0) {
        run.make_integral_by_front();
        return run.result();
      }
    }
    if constexpr (BanListOracle<O> || KBestOracle<O>) {
      if (has_k_best(oracle)) run.make_integral();
    }
    return run.result();
  }

 private:
  template <class O, class S>
  class Run {
   public:
    using Y = typename O::Labelling;

    Run(const ConvexHullSearch& options, const O& oracle, const S& psi, const LabelCache<Y>& cache)
        : options_(options), oracle_(oracle), psi_(psi), truth_(oracle.truth()) {
      found_.push_back(truth_);
      if constexpr (EvaluatingOracle<O>) {
        if (options.warm_start) {
          for (const Y& y : cache.labellings) add(oracle.evaluate(y));
        }
      }
    }

    // Calls the oracle until no labelling that is not banned lies above the line through the
    // optimum of the points found, or until the bound does not exceed the best integral value.
    void climb() {
      while (true) {
        update_chain();
        if (options_.max_calls <= calls_) return set_bound(bound_from_last_query());
        const auto y = ask();
        if (!y) return set_bound(0.0);  // everything is banned
        const double K = optimum_.w_m * y->m + optimum_.w_g * y->g;
        const double line = optimum_.w_m * optimum_.m + optimum_.w_g * optimum_.g;
        const double scale = optimum_.w_m * (std::abs(y->m) + std::abs(optimum_.m)) +
                             optimum_.w_g * (std::abs(y->g) + std::abs(optimum_.g));
        const bool above = K > line + std::max(1e-11, options_.tolerance) * scale;
        if (options_.tolerance == 0.0 || !banned_.empty()) {
          last_line_bound_ =
              above ? line_bound(psi_, optimum_.w_m, optimum_.w_g, K, optimum_.m, optimum_.g)
                    : optimum_.value;
        }
        const bool is_new = add(*y);
        if (!above || !is_new) return set_bound(optimum_.value);
        if (!banned_.empty() && suffices(last_line_bound_)) {
          update_chain();
          return set_bound(last_line_bound_);
        }
      }
    }

    void make_integral() {
      for (int round = 0; round < options_.max_bans && is_fractional(); ++round) {
        const PlanePoint a = chain_[optimum_.a], b = chain_[optimum_.b];
        const ChainOptimum edge = optimum_;
        ban(a.index);
        ban(b.index);
        resume_below(edge);
      }
    }

    // One call of the oracle, as expensive as many others, gives the best labelling of every loss.
    void make_integral_by_front() {
      if (!is_fractional()) return;
      ++calls_;
      const std::span<const double> front = oracle_.loss_front();
      double best = best_value();
      std::uint32_t best_loss = 0;
      for (std::uint32_t g = 1; g < front.size(); ++g) {
        if (!std::isfinite(front[g])) continue;
        const double value = psi_.value(front[g], g);
        if (value <= best) continue;
        best = value;
        best_loss = g;
      }
      if (best_loss > 0) add(oracle_.at_loss(best_loss));
      set_bound(best_value());
    }

    bool is_fractional() const {
      const double share = std::max(1e-9, options_.tolerance);
      return bound_ > best_value() + share * (std::abs(bound_) + 1e-300) &&
             optimum_.a != optimum_.b;
    }

    FractionalOptimum<Y> fractional() const {
      return {found_[chain_[optimum_.a].index], found_[chain_[optimum_.b].index], optimum_.t,
              optimum_.value, calls_};
    }

    SearchResult<Y> result() const {
      if constexpr (ConvexOracle<O>) {
        if (optimum_.a != optimum_.b && optimum_.value > best_value()) return mixture();
      }
      return {found_[best_], best_value(), bound_above(best_value()), calls_};
    }

    SearchResult<Y> mixture() const {
      const Candidate<Y>&a = found_[chain_[optimum_.a].index],
            &b = found_[chain_[optimum_.b].index];
      const double t = optimum_.t;
      return {{oracle_.mix(a.y, b.y, t), optimum_.m, optimum_.g,
               (1.0 - t) * a.constant + t * b.constant},
              optimum_.value,
              bound_above(optimum_.value),
              calls_};
    }

    // An upper bound on psi over all labellings, given the value found.
    double bound_above(double value) const {
      const double bound = options_.tolerance > 0.0 ? std::numeric_limits<double>::infinity()
                                                    : std::max(value, bound_);
      return certified_bound(oracle_, bound);
    }

    // Keeps the best point and its neighbours on the chain, from which the next search starts.
    void remember(LabelCache<Y>& cache) const {
      if (!options_.warm_start) return;
      cache.labellings.clear();
      const std::size_t k = optimum_.a;
      for (const std::size_t j : {k - 1, k, k + 1}) {
        if (j < chain_.size() && chain_[j].index != 0) {
          cache.labellings.push_back(found_[chain_[j].index].y);
        }
      }
    }

   private:
    double value_of(std::size_t index) const {
      return index == 0 ? 0.0 : psi_.value(found_[index].m, found_[index].g);
    }
    double best_value() const { return value_of(best_); }
    // Whether an upper bound is so near to the best value that further calls cannot help.
    bool suffices(double bound) const { return bound <= best_value() * (1.0 + options_.tolerance); }

    // Returns false if y was found before.
    bool add(Candidate<Y> y) {
      for (const auto& known : found_) {
        if (known.y == y.y) return false;
      }
      found_.push_back(std::move(y));
      if (value_of(found_.size() - 1) > best_value()) best_ = found_.size() - 1;
      return true;
    }

    void update_chain() {
      chain_.clear();
      for (std::size_t j = 0; j < found_.size(); ++j) {
        if (is_banned(j)) continue;
        chain_.push_back({found_[j].m, found_[j].g, value_of(j), j});
      }
      keep_upper_right_chain(chain_);
      if (chain_.empty()) return;
      optimum_ = chain_optimum(chain_, psi_, options_.tolerance > 0.0 ? 12 : detail::kExactSteps);
    }

    std::optional<Candidate<Y>> ask() {
      ++calls_;
      if (banned_.empty()) return oracle_.argmax(optimum_.w_m, optimum_.w_g);
      return ask_without(optimum_.w_m, optimum_.w_g);
    }

    std::optional<Candidate<Y>> ask_without(double w_m, double w_g) const {
      if constexpr (BanListOracle<O>) {
        return oracle_.argmax_without(w_m, w_g, std::span<const Y>(banned_));
      } else if constexpr (KBestOracle<O>) {
        for (auto& y : oracle_.k_best(w_m, w_g, static_cast<int>(banned_.size()) + 1)) {
          if (std::find(banned_.begin(), banned_.end(), y.y) == banned_.end()) return y;
        }
      }
      return std::nullopt;
    }

    // After a ban, first queries along the edge of the fractional optimum. While no remaining
    // labelling has a positive value, from which climb() could start, the answer is banned, too.
    void resume_below(const ChainOptimum& edge) {
      for (int k = 0; k <= options_.max_bans; ++k) {
        ++calls_;
        auto y = ask_without(edge.w_m, edge.w_g);
        if (!y) return set_bound(0.0);
        const double K = edge.w_m * y->m + edge.w_g * y->g;
        last_line_bound_ = line_bound(psi_, edge.w_m, edge.w_g, K, edge.m, edge.g);
        add(*y);
        if (suffices(last_line_bound_)) return set_bound(last_line_bound_);
        update_chain();
        if (chain_[best_on_chain()].value > 0.0 || banned_indices_.empty()) return climb();
        ban(index_of(y->y));
      }
      optimum_.a = optimum_.b = 0;  // gives up; bound_ stays what it is
    }

    std::size_t index_of(const Y& y) const {
      std::size_t j = 0;
      while (!(found_[j].y == y)) ++j;
      return j;
    }

    std::size_t best_on_chain() const {
      std::size_t k = 0;
      for (std::size_t j = 1; j < chain_.size(); ++j) {
        if (chain_[j].value > chain_[k].value) k = j;
      }
      return k;
    }

    void ban(std::size_t index) {
      if (!is_banned(index)) {
        banned_.push_back(found_[index].y);
        banned_indices_.push_back(index);
      }
    }
    bool is_banned(std::size_t index) const {
      return std::find(banned_indices_.begin(), banned_indices_.end(), index) !=
             banned_indices_.end();
    }
    void set_bound(double bound) { bound_ = std::min(bound_, bound); }
    double bound_from_last_query() const { return std::max(last_line_bound_, best_value()); }

    const ConvexHullSearch& options_;
    const O& oracle_;
    const S& psi_;
    Candidate<Y> truth_;
    std::vector<Candidate<Y>> found_;  // [0] is y_i
    std::vector<PlanePoint> chain_;
    ChainOptimum optimum_{};
    std::vector<Y> banned_;
    std::vector<std::size_t> banned_indices_;
    std::size_t best_ = 0;
    double bound_ = std::numeric_limits<double>::infinity();
    double last_line_bound_ = std::numeric_limits<double>::infinity();
    int calls_ = 0;
  };
};

}  // namespace margrove
