#include "methods/memory_obstacle.hpp"

#include <cstdint>
#include <limits>

#include "base/memory_limit.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

/// Smaller estimates are allowed whatever memory is free.
constexpr std::uint64_t kAlwaysAllowed = 64'000'000;

UsableMemory default_limit(const MemoryEstimate& memory) {
  if (memory.total() > kAlwaysAllowed) {
    if (const auto free = free_memory()) return usable_memory(*free);
  }
  return {std::numeric_limits<double>::infinity(), ""};
}

}  // namespace

std::string memory_obstacle(const MemoryEstimate& memory, double limit_gigabytes,
                            std::string_view work) {
  const UsableMemory limit =
      limit_gigabytes > 0 ? UsableMemory{limit_gigabytes, ""} : default_limit(memory);
  const double gigabytes = static_cast<double>(memory.total()) / 1e9;
  if (gigabytes <= limit.gigabytes) return {};
  return concat(work, " would take about ", gigabytes, " GB, but must not take more than ",
                limit.gigabytes, " GB", limit.source);
}

}  // namespace margrove
