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

/// What a run may take where no limit is given.
struct UsableMemory {
  double gigabytes;
  std::string source;  // of the limit, after it in messages
};
/// 90 % of what is free, `taken` bytes of which the run has already; the rest is for other
/// processes and for errors of estimates.
UsableMemory usable_memory(const FreeMemory& free, double taken = 0);

/// The bytes of this process that are in memory. Nothing if they are not known.
std::optional<double> resident_memory(const std::string& root = {});

/// What the process takes from the making of this on, compared with a limit. In builds with a
/// sanitizer, which takes memory of its own, there is none.
class MemoryWatch {
 public:
  /// `limit` is in bytes; 0: usable_memory(). `name` begins messages.
  MemoryWatch(std::string name, double limit, std::string root = {});

  /// Throws InvalidInput if the process has taken more than the limit, and more than a few MiB.
  void look();

 private:
  std::string name_;
  UsableMemory limit_;
  std::string root_;
  std::optional<double> start_;
};

}  // namespace margrove
