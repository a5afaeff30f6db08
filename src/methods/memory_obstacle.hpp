#pragma once
// Whether there is memory for a training, or other work.

#include <string>
#include <string_view>

#include "base/memory_estimate.hpp"

namespace margrove {

/// Why work that takes so much memory cannot start, as the end of a sentence; empty if it can. The
/// limit is in units of 10^9 bytes; 0: 90 % of what is free.
std::string memory_obstacle(const MemoryEstimate& memory, double limit_gigabytes,
                            std::string_view work = "training");

}  // namespace margrove
