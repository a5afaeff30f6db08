#pragma once
// The clock of benchmarks on one thread.

#include <ctime>

namespace margrove::bench {

/// Processor time of this thread.
inline double cpu_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace margrove::bench
