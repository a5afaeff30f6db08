#pragma once
// A search finds argmax_y psi(m(y), g(y)) for one example by calls to its oracle.

#include <algorithm>
#include <limits>
#include <vector>

#include "structured/oracle.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

template <class Labelling>
struct SearchResult {
  Candidate<Labelling> best;  // y_i with value 0 if nothing better was found
  double value;               // psi at best
  double upper_bound;         // max_y psi <= upper_bound; equals value when the search was exact
  int oracle_calls;
};

/// `bound` on psi, which a search has concluded from the oracle's answers; none if the oracle had
/// to give up on one of them (oracles that may do so have a member is_exact()).
template <Oracle O>
double certified_bound(const O& oracle, double bound) {
  if constexpr (requires { oracle.is_exact(); }) {
    if (!oracle.is_exact()) return std::numeric_limits<double>::infinity();
  }
  return bound;
}

/// Labellings that earlier searches on one example found worth keeping. The solver holds one an
/// example, the search reads and rewrites it; searches without a use for it leave it empty.
template <class Labelling>
struct LabelCache {
  std::vector<Labelling> labellings;
};

/// A search is called with the oracle of one example, the surrogate and the example's cache.
/// Copies of a search are independent: one per thread.
template <class F, class O, class S>
concept SearchFor =
    Oracle<O> && Surrogate<S> &&
    requires(F& search, const O& oracle, const S& psi, LabelCache<typename O::Labelling>& cache) {
      { search(oracle, psi, cache) } -> std::same_as<SearchResult<typename O::Labelling>>;
    };

/// Optional: a search that ends at an answer which is near enough to the best one, as the goal has
/// it in psi.
template <class F, class O, class S>
concept GoalSearchFor = SearchFor<F, O, S> &&
                        requires(F& search, const O& oracle, const S& psi,
                                 LabelCache<typename O::Labelling>& cache, const SearchGoal& goal) {
                          {
                            search(oracle, psi, cache, goal)
                          } -> std::same_as<SearchResult<typename O::Labelling>>;
                        };

/// Margin rescaling needs one call: max_y m + g.
struct MarginSearch {
  template <Oracle O>
  SearchResult<typename O::Labelling> operator()(const O& oracle, const MarginRescaling& psi,
                                                 LabelCache<typename O::Labelling>&) const {
    auto result = or_truth(oracle, psi, oracle.argmax(1.0, 1.0));
    result.upper_bound = certified_bound(oracle, result.value);
    return result;
  }

  template <BoundingOracle O>
  SearchResult<typename O::Labelling> operator()(const O& oracle, const MarginRescaling& psi,
                                                 LabelCache<typename O::Labelling>&,
                                                 const SearchGoal& goal) const {
    auto found = oracle.approximate_argmax(1.0, 1.0, goal);
    auto result = or_truth(oracle, psi, std::move(found.candidate));
    result.upper_bound = std::max(found.bound, result.value);
    return result;
  }

 private:
  // The true labelling, worth 0, where the one found is worth no more.
  template <Oracle O>
  static SearchResult<typename O::Labelling> or_truth(const O& oracle, const MarginRescaling& psi,
                                                      Candidate<typename O::Labelling> found) {
    const double value = psi.value(found.m, found.g);
    if (value <= 0) return {oracle.truth(), 0.0, 0.0, 1};
    return {std::move(found), value, value, 1};
  }
};

}  // namespace margrove
