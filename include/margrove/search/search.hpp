#pragma once
// A search finds argmax_y psi(m(y), g(y)) for one example by calls to its oracle.

#include <algorithm>

#include "margrove/loss/surrogate.hpp"
#include "margrove/oracle/oracle.hpp"

namespace margrove {

template <class Labelling>
struct SearchResult {
  Candidate<Labelling> best;  // y_i with value 0 if nothing better was found
  double value;               // psi at best
  double upper_bound;         // max_y psi <= upper_bound; equals value when the search was exact
  int oracle_calls;
};

/// A search is called with the oracle of one example and the surrogate.
template <class F, class O, class S>
concept SearchFor =
    Oracle<O> && Surrogate<S> && requires(F& search, const O& oracle, const S& psi) {
      { search(oracle, psi) } -> std::same_as<SearchResult<typename O::Labelling>>;
    };

/// Margin rescaling needs one call: max_y m + g.
struct MarginSearch {
  template <Oracle O>
  SearchResult<typename O::Labelling> operator()(const O& oracle,
                                                 const MarginRescaling& psi) const {
    auto best = oracle.argmax(1.0, 1.0);
    const double value = std::max(0.0, psi.value(best.m, best.g));
    return {std::move(best), value, value, 1};
  }
};

}  // namespace margrove
