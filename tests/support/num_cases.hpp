#pragma once
// How many random cases a test tries.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace margrove {

/// `all`, or a quarter of them under sanitizers: what these look for shows in few cases, and each
/// takes ten times as long. With the environment variable MARGROVE_ALL_CASES, all there, too.
inline std::uint64_t num_cases(std::uint64_t all) {
#ifdef MARGROVE_SANITIZED
  if (std::getenv("MARGROVE_ALL_CASES") == nullptr) return std::max(all / 4, std::uint64_t{1});
#endif
  return all;
}

}  // namespace margrove
