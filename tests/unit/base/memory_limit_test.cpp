#include "base/memory_limit.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "files.hpp"

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
  FreeMemory free() const { return free_memory(root_.string()).value(); }

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

TEST(FreeMemory, is_known_on_this_machine) { EXPECT_GT(free_memory().value().bytes, 1e6); }

}  // namespace
}  // namespace margrove
