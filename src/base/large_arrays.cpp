#include "base/large_arrays.hpp"

#include <malloc.h>

namespace margrove {

void return_large_arrays() {
#ifdef M_MMAP_THRESHOLD
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

}  // namespace margrove
