#pragma once
// A search chosen at run time.

#include <concepts>
#include <type_traits>
#include <variant>

#include "margrove/errors.hpp"
#include "margrove/structured.hpp"
#include "margrove/surrogates.hpp"
#include "structured/angular.hpp"
#include "structured/convex_hull.hpp"
#include "structured/product_searches.hpp"
#include "structured/search.hpp"
#include "structured/structured_training.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

/// Any StructuredSearch but `automatic`. chosen_search() (structured/structured_training.hpp)
/// checks which surrogates and oracles suit it.
class AnySearch {
 public:
  static AnySearch make(StructuredSearch kind, const SearchLimits& limits) {
    AnySearch search;
    const auto limited = [&](auto each) {
      if (limits.tolerance) each.tolerance = *limits.tolerance;
      if (limits.max_calls) each.max_calls = *limits.max_calls;
      return each;
    };
    switch (kind) {
      case StructuredSearch::automatic:
      case StructuredSearch::margin:
        search.any_ = MarginSearch{};
        break;
      case StructuredSearch::sarawagi:
        search.any_ = limited(SarawagiGuptaSearch{});
        break;
      case StructuredSearch::binary:
        search.any_ = limited(BinarySearch{});
        break;
      case StructuredSearch::bisecting:
        search.any_ = limited(BisectingSearch{});
        break;
      case StructuredSearch::angular:
        search.any_ = limited(AngularSearch{});
        break;
      case StructuredSearch::convex_hull:
        search.any_ = limited(ConvexHullSearch{.max_bans = limits.max_bans});
        break;
      case StructuredSearch::enumeration:
        search.any_ = EnumerationSearch{};
        break;
    }
    return search;
  }

  template <Oracle O>
  SearchResult<typename O::Labelling> operator()(const O& oracle, const DynamicSurrogate& psi,
                                                 LabelCache<typename O::Labelling>& cache) {
    using Result = SearchResult<typename O::Labelling>;
    return std::visit(
        [&](auto& search) -> Result {
          using Search = std::decay_t<decltype(search)>;
          if constexpr (std::same_as<Search, ConvexHullSearch>) {
            return search(oracle, psi, cache);
          } else if constexpr (std::same_as<Search, MarginSearch>) {
            return search(oracle, MarginRescaling{}, cache);
          } else if constexpr (std::same_as<Search, EnumerationSearch>) {
            if constexpr (EnumeratingOracle<O>) {
              return std::visit([&](const auto& s) { return search(oracle, s, cache); }, psi.any());
            } else {
              throw InvalidOption(
                  "option search is 'enumeration', which this model does not offer");
            }
          } else if constexpr (std::same_as<Search, AngularSearch>) {
            if constexpr (BoundedSlopeOracle<O>) {
              if (has_slope_bounds(oracle)) return search(oracle, SlackRescaling{}, cache);
            }
            throw InvalidOption(kNoSlopeBounds);
          } else {
            if constexpr (std::same_as<Search, SarawagiGuptaSearch>) search.slack = slack;
            return search(oracle, SlackRescaling{}, cache);
          }
        },
        any_);
  }

  double slack = 0.0;  // of the example, for Sarawagi-Gupta; CuttingPlane sets it before each call

 private:
  std::variant<MarginSearch, ConvexHullSearch, EnumerationSearch, AngularSearch, BisectingSearch,
               BinarySearch, SarawagiGuptaSearch>
      any_;
};

}  // namespace margrove
