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
  double upper_bound;         // >= max_y psi; equals `value` if the search was exact
  int oracle_calls;
};

/// The bound on psi that a search has concluded from the oracle's answers, or infinity if one of
/// these was not exact. Oracles that may give up early have a member is_exact().
template <Oracle O>
double certified_bound(const O& oracle, double bound) {
  if constexpr (requires { oracle.is_exact(); }) {
    if (!oracle.is_exact()) return std::numeric_limits<double>::infinity();
  }
  return bound;
}

/// Labellings that earlier searches on one example kept. The solver holds one cache per example; a
/// search reads and rewrites it, or leaves it empty.
template <class Labelling>
struct LabelCache {
  std::vector<Labelling> labellings;
};

/// A search is called with the oracle of one example, the surrogate and the example's cache. Copies
/// of a search are independent, so that each thread may have one.
template <class F, class O, class S>
concept SearchFor =
    Oracle<O> && Surrogate<S> &&
    requires(F& search, const O& oracle, const S& psi, LabelCache<typename O::Labelling>& cache) {
      { search(oracle, psi, cache) } -> std::same_as<SearchResult<typename O::Labelling>>;
    };

/// Optional: a search that may end once its answer meets the goal.
template <class F, class O, class S>
concept GoalSearchFor = SearchFor<F, O, S> &&
                        requires(F& search, const O& oracle, const S& psi,
                                 LabelCache<typename O::Labelling>& cache, const SearchGoal& goal) {
                          {
                            search(oracle, psi, cache, goal)
                          } -> std::same_as<SearchResult<typename O::Labelling>>;
                        };

/// argmax of any surrogate by an oracle that looks at every labelling.
struct EnumerationSearch {
  template <EnumeratingOracle O, Surrogate S>
  SearchResult<typename O::Labelling> operator()(const O& oracle, const S& psi,
                                                 LabelCache<typename O::Labelling>&) const {
    const auto [best, value] = oracle.maximise(psi);
    return {best, value, value, 1};
  }
};

/// Margin rescaling needs one call, max_y m + g.
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
  // The labelling found, or the true one, whose value is 0, if that is no less.
  template <Oracle O>
  static SearchResult<typename O::Labelling> or_truth(const O& oracle, const MarginRescaling& psi,
                                                      Candidate<typename O::Labelling> found) {
    const double value = psi.value(found.m, found.g);
    if (value <= 0) return {oracle.truth(), 0.0, 0.0, 1};
    return {std::move(found), value, value, 1};
  }
};

}  // namespace margrove
