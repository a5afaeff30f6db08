#pragma once
// Memory that the process has freed but not given back to the system.

namespace margrove {

/// Gives it back, where the C library can. For the end of work that frees many small arrays between
/// others, which would count as taken. O(free memory / page size).
void return_free_memory();

}  // namespace margrove
