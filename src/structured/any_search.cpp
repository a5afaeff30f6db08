#include "structured/any_search.hpp"

namespace margrove {

AnySearch AnySearch::parse(std::string_view name, const AnySurrogate& surrogate, int max_bans,
                           double tolerance) {
  const bool is_margin = std::holds_alternative<MarginRescaling>(surrogate);
  const bool is_slack = std::holds_alternative<SlackRescaling>(surrogate);
  AnySearch search;
  if (name == "convex-hull" || (name == "auto" && !is_margin)) {
    search.any_ = ConvexHullSearch{.max_bans = max_bans, .tolerance = tolerance};
    return search;
  }
  if (name == "margin" || name == "auto") {
    require<InvalidOption>(is_margin, "option search is 'margin', but surrogate ",
                           to_string(surrogate), " needs convex-hull");
    return search;
  }
  if (name == "angular") {
    search.any_ = AngularSearch{};
  } else if (name == "bisecting") {
    search.any_ = BisectingSearch{};
  } else if (name == "binary") {
    search.any_ = BinarySearch{};
  } else if (name == "sarawagi") {
    search.any_ = SarawagiGuptaSearch{};
  } else {
    throw InvalidOption(concat("option search is '", name,
                               "', but must be one of auto, margin, sarawagi, binary, bisecting, "
                               "angular, convex-hull"));
  }
  require<InvalidOption>(is_slack, "option search is '", name,
                         "', which serves slack rescaling only, but surrogate is ",
                         to_string(surrogate));
  return search;
}

}  // namespace margrove
