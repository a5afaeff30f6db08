#pragma once
// Metrics by name.

#include <array>
#include <string_view>
#include <utility>

#include "margrove/metrics.hpp"

namespace margrove {

/// The metrics except `examples`, with the names that front ends show.
std::array<std::pair<std::string_view, double>, 9> named_values(const Metrics& metrics);

}  // namespace margrove
