#include "base/memory_limit.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <utility>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

/// The first number of a file; nothing if there is none, as in "max".
std::optional<double> number_in(const std::string& path) {
  std::ifstream file(path);
  double number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

/// The number after `key` in a file of lines `key number` or `key: number unit`.
std::optional<double> number_of(const std::string& path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double number = 0;
    if (words >> name >> number && name == key) return number;
  }
  return std::nullopt;
}

/// The file names of the two versions of control groups.
struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* cache;  // of memory.stat: what the system takes back when it is needed
};
constexpr GroupFiles kVersion1{"memory.limit_in_bytes", "memory.usage_in_bytes",
                               "total_inactive_file"};
constexpr GroupFiles kVersion2{"memory.max", "memory.current", "inactive_file"};

class Least {
 public:
  void add(double bytes, const std::string& bound) {
    if (!least_ || bytes < least_->bytes) least_ = FreeMemory{std::max(bytes, 0.0), bound};
  }
  std::optional<FreeMemory> take() { return std::move(least_); }

 private:
  std::optional<FreeMemory> least_;
};

/// The group of the path and its ancestors, each of which may have a limit. In a container the path
/// may be that of the host, of which only the uppermost groups exist.
void add_groups(const std::string& mount, std::string path, const GroupFiles& files, Least& least) {
  for (;;) {
    const std::string folder = mount + path + "/";
    const auto limit = number_in(folder + files.limit);
    const auto usage = number_in(folder + files.usage);
    if (limit && usage) {
      const double cache = number_of(folder + "memory.stat", files.cache).value_or(0);
      least.add(*limit - *usage + std::min(cache, *usage), "the memory limit of the control group");
    }
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return;
    path.resize(slash);
  }
}

void add_all_groups(const std::string& root, Least& least) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // number:controllers:path
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    std::string controllers = ",";
    controllers.append(line, first + 1, second - first - 1).append(",");
    std::string path = line.substr(second + 1);
    if (path == "/") path.clear();
    if (controllers == ",,") {
      add_groups(root + "/sys/fs/cgroup", path, kVersion2, least);
    } else if (controllers.find(",memory,") != std::string::npos) {
      add_groups(root + "/sys/fs/cgroup/memory", path, kVersion1, least);
    }
  }
}

void add_address_space(const std::string& root, Least& least) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const double pages = number_in(root + "/proc/self/statm").value_or(0);
  least.add(
      static_cast<double>(limit.rlim_cur) - pages * static_cast<double>(::sysconf(_SC_PAGESIZE)),
      "the limit of address space (ulimit -v)");
}

}  // namespace

std::optional<FreeMemory> free_memory(const std::string& root) {
  Least least;
  if (const auto kilobytes = number_of(root + "/proc/meminfo", "MemAvailable:")) {
    least.add(1024 * *kilobytes, "the memory that the machine has available");
  }
  add_all_groups(root, least);
  add_address_space(root, least);
  return least.take();
}

UsableMemory usable_memory(const FreeMemory& free, double taken) {
  constexpr double kShare = 0.9;
  return {kShare * (free.bytes + taken) / 1e9,
          concat(" (90 % of what is free by ", free.bound, ")")};
}

std::optional<double> resident_memory(const std::string& root) {
  std::ifstream file(root + "/proc/self/statm");
  double all = 0, resident = 0;
  if (!(file >> all >> resident)) return std::nullopt;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

MemoryWatch::MemoryWatch(std::string name, double limit, std::string root)
    : name_(std::move(name)), limit_{limit / 1e9, {}}, root_(std::move(root)) {
#ifndef MARGROVE_SANITIZED
  start_ = resident_memory(root_);
#endif
}

void MemoryWatch::look() {
  constexpr double kAlwaysTaken = 1 << 24;
  if (!start_) return;
  const double taken = resident_memory(root_).value_or(0) - *start_;
  if (taken <= kAlwaysTaken) return;
  if (limit_.gigabytes <= 0) {
    const auto free = free_memory(root_);
    if (!free) return;
    limit_ = usable_memory(*free, taken);
  }
  require(taken <= 1e9 * limit_.gigabytes, name_, ": reading has taken ", taken / 1e9,
          " GB of memory, but must not take more than ", limit_.gigabytes, " GB", limit_.source,
          "; raise memory_limit");
}

}  // namespace margrove
