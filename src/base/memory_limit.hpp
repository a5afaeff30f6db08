#pragma once
// The memory that this process can still allocate.

#include <optional>
#include <string>

namespace margrove {

struct FreeMemory {
  double bytes;
  std::string bound;  // what allows no more, as messages name it
};

/// The least of three numbers: the available memory of the machine, the rest of the limits of the
/// process's control groups (versions 1 and 2, each level up to the root; the cache of files does
/// not count), and the rest of its limit of address space. Nothing if none of them is known. `root`
/// is the prefix of /proc and /sys in tests.
std::optional<FreeMemory> free_memory(const std::string& root = {});

}  // namespace margrove
