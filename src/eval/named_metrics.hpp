#pragma once
// Metrics by name.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "margrove/metrics.hpp"
#include "model/predictor.hpp"

namespace margrove {

/// The metrics except `examples`, with the names that front ends show.
std::array<std::pair<std::string_view, double>, 9> named_values(const Metrics& metrics);

/// The value with this name. Throws InvalidOption, listing `known` and the names of the values, if
/// there is none.
const NamedValue& value_named(std::span<const NamedValue> values, std::string_view name,
                              std::string known = {});

}  // namespace margrove
