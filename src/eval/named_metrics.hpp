#pragma once
// Metrics by name.

#include <array>
#include <string_view>
#include <utility>

#include "margrove/metrics.hpp"

namespace margrove {

/// The metrics except `examples`, with the names that front ends show.
std::array<std::pair<std::string_view, double>, 9> named_values(const Metrics& metrics);

/// Throws InvalidOption, listing the names, unless `name` is one of them.
void require_metric(std::string_view name);

}  // namespace margrove
