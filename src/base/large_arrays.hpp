#pragma once
// How the memory of large arrays goes back to the system.

namespace margrove {

/// Arrays of 1 MB and more are given back when they are freed. Without this glibc raises the size
/// from which it does so to that of the largest array that was freed so far, up to 32 MB, and keeps
/// those below it, with holes that the next one may not fit into. Changes the state of the process:
/// for programs only.
void return_large_arrays();

}  // namespace margrove
