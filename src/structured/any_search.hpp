#pragma once
// A search chosen at run time.

#include <string>
#include <string_view>
#include <variant>

#include "margrove/options.hpp"
#include "margrove/surrogates.hpp"
#include "structured/angular.hpp"
#include "structured/convex_hull.hpp"
#include "structured/product_searches.hpp"
#include "structured/search.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

/// margin (one call, margin rescaling only), sarawagi, binary, bisecting, angular (slack rescaling
/// only; angular needs an oracle with slope bounds) or convex-hull (every surrogate).
class AnySearch {
 public:
  /// "auto": margin for margin rescaling, convex-hull for the others. `tolerance` is that of
  /// convex-hull. Throws InvalidOption for an unknown name and for a search that cannot serve
  /// `surrogate`.
  static AnySearch parse(std::string_view name, const AnySurrogate& surrogate, int max_bans,
                         double tolerance = 0.0);

  /// Throws InvalidOption where angular search meets an oracle without slope bounds.
  template <Oracle O>
  SearchResult<typename O::Labelling> operator()(const O& oracle, const DynamicSurrogate& psi,
                                                 LabelCache<typename O::Labelling>& cache) {
    return std::visit(
        [&](auto& search) -> SearchResult<typename O::Labelling> {
          using Search = std::decay_t<decltype(search)>;
          if constexpr (std::same_as<Search, ConvexHullSearch>) {
            return search(oracle, psi, cache);
          } else if constexpr (std::same_as<Search, MarginSearch>) {
            return search(oracle, MarginRescaling{}, cache);
          } else if constexpr (std::same_as<Search, AngularSearch> && !ConstrainedOracle<O>) {
            throw InvalidOption(
                "option search is 'angular', but this model has no oracle with bounds on the "
                "slope; use convex-hull or bisecting");
          } else {
            if constexpr (std::same_as<Search, SarawagiGuptaSearch>) search.slack = slack;
            return search(oracle, SlackRescaling{}, cache);
          }
        },
        any_);
  }

  double slack = 0.0;  // for Sarawagi-Gupta; the cutting plane solver sets it

 private:
  std::variant<MarginSearch, ConvexHullSearch, AngularSearch, BisectingSearch, BinarySearch,
               SarawagiGuptaSearch>
      any_;
};

}  // namespace margrove
