#include "base/large_arrays.hpp"

#include <malloc.h>

namespace margrove {

void return_large_arrays() {
#ifdef M_MMAP_THRESHOLD
  constexpr int kBytes = 4 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kBytes);
  ::mallopt(M_TRIM_THRESHOLD, 2 * kBytes);
#endif
}

}  // namespace margrove
