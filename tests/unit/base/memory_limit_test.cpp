#include "base/memory_limit.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "files.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

/// A folder that stands for the root of a machine with 8 GB available.
class Machine : public ::testing::Test {
 protected:
  Machine() { add("proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable:    8000000 kB\n"); }

  void add(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path;
    std::filesystem::create_directories(file.parent_path());
    testing::write_bytes(file.string(), text);
  }
  FreeMemory free() const { return free_memory(root()).value(); }
  std::string root() const { return root_.string(); }

 private:
  testing::ScratchFolder root_;
};

TEST_F(Machine, without_groups_has_what_is_available) {
  EXPECT_EQ(free().bytes, 8e6 * 1024);
  EXPECT_EQ(free().bound, "the memory that the machine has available");
}

TEST_F(Machine, with_groups_of_version_2_has_the_least_of_all_levels) {
  add("proc/self/cgroup", "0::/slice/job\n");
  add("sys/fs/cgroup/slice/job/memory.max", "max\n");
  add("sys/fs/cgroup/slice/job/memory.current", "500\n");
  EXPECT_EQ(free().bytes, 8e6 * 1024);
  add("sys/fs/cgroup/slice/memory.max", "3000000\n");
  add("sys/fs/cgroup/slice/memory.current", "1000000\n");
  EXPECT_EQ(free().bytes, 2e6);
  EXPECT_EQ(free().bound, "the memory limit of the control group");
  add("sys/fs/cgroup/slice/memory.stat", "file 5\ninactive_file 400000\n");
  EXPECT_EQ(free().bytes, 2.4e6);
}

TEST_F(Machine, with_groups_of_version_1_has_what_they_leave) {
  add("proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/host/path\n0::/\n");
  add("sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
  add("sys/fs/cgroup/memory/memory.usage_in_bytes", "1500000\n");
  EXPECT_EQ(free().bytes, 0);
  add("sys/fs/cgroup/memory/memory.stat", "total_inactive_file 800000\n");
  EXPECT_EQ(free().bytes, 300000);
}

#ifndef MARGROVE_SANITIZED
TEST_F(Machine, watched_from_the_start_of_reading_takes_no_more_than_the_limit) {
  const auto hold = [&](double bytes) {
    const auto pages = static_cast<long>(bytes) / ::sysconf(_SC_PAGESIZE);
    add("proc/self/statm", concat("999999 ", pages, " 1 1 0 1 0\n"));
  };
  const auto fault = [](MemoryWatch& watch) { return testing::message_of([&] { watch.look(); }); };
  constexpr double kPages = 1 << 20;
  hold(100 * kPages);
  MemoryWatch given("f", 50 * kPages, root()), small("f", 1, root()), of_free("f", 0, root());
  hold(116 * kPages);
  small.look();  // 16 MiB, which every reading may take
  hold(150 * kPages);
  given.look();
  of_free.look();
  hold(151 * kPages);
  EXPECT_EQ(
      fault(given),
      "f: reading has taken 0.053477376 GB of memory, but must not take more than 0.0524288 GB; "
      "raise memory_limit");
  add("proc/meminfo", "MemAvailable: 1024 kB\n");
  MemoryWatch late("f", 0, root());
  hold(251 * kPages);  // of the 101 MiB that were free
  EXPECT_EQ(
      fault(late),
      "f: reading has taken 0.1048576 GB of memory, but must not take more than 0.0953155584 GB "
      "(90 % of what is free by the memory that the machine has available); raise "
      "memory_limit");
  of_free.look();  // 8 GB were free when it looked first
}

TEST_F(Machine, of_unknown_memory_is_not_watched) { MemoryWatch("f", 1, root()).look(); }

TEST(ResidentMemory, is_known_on_this_machine) { EXPECT_GT(resident_memory().value(), 1e6); }
#endif

TEST(FreeMemory, is_known_on_this_machine) { EXPECT_GT(free_memory().value().bytes, 1e6); }

}  // namespace
}  // namespace margrove
