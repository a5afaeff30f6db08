#include "base/atomic_file.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "files.hpp"

namespace margrove {
namespace {
using testing::message_of;
using testing::read_bytes;
using testing::ScratchFolder;
using testing::write_bytes;

TEST(AtomicFile, the_target_appears_only_on_commit) {
  const ScratchFolder folder;
  AtomicFile file(folder / "a");
  file.write("one ");
  file.write(std::string(1 << 20, 'x'));
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  file.commit();
  EXPECT_EQ(read_bytes(folder / "a"), "one " + std::string(1 << 20, 'x'));
  EXPECT_EQ(folder.num_files(), 1U);
}

TEST(AtomicFile, without_commit_the_old_file_stays_and_nothing_else) {
  const ScratchFolder folder;
  write_bytes(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new");
    EXPECT_EQ(folder.num_files(), 2U);
  }
  EXPECT_EQ(read_bytes(folder / "a"), "old");
  EXPECT_EQ(folder.num_files(), 1U);
}

TEST(AtomicFile, keeps_permissions_and_follows_links) {
  const ScratchFolder folder;
  write_bytes(folder / "real", "old");
  ::chmod((folder / "real").c_str(), 0640);
  std::filesystem::create_symlink("real", folder / "link");
  AtomicFile file(folder / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_bytes(folder / "real"), "new");
  struct stat status {};
  ::stat((folder / "real").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(AtomicFile, refuses_links_and_other_files_if_told_to) {
  const ScratchFolder folder;
  std::filesystem::create_symlink("real", folder / "link");
  std::filesystem::create_directory(folder / "inner");
  const auto message = [](const std::string& path) {
    return message_of([&] { AtomicFile file(path, Links::refuse); });
  };
  EXPECT_EQ(message(folder / "link"),
            folder / "link" + ": it is a symbolic link, but must be a regular file; remove it");
  EXPECT_EQ(message(folder / "inner"),
            folder / "inner" + ": it is not a regular file, but must be a regular file; remove it");
  AtomicFile late(folder / "late", Links::refuse);  // a link that is made meanwhile is replaced
  std::filesystem::create_symlink("real", folder / "late");
  late.write("text");
  late.commit();
  EXPECT_FALSE(std::filesystem::exists(folder / "real"));
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "late"));
}

TEST(AtomicFile, parts_are_removed_unless_they_are_written_now) {
  const ScratchFolder folder;
  const std::string dead = folder / "a.tmp-0123456789abcdef", mine = folder / "a.tmp-abc";
  for (const std::string& path : {dead, mine}) std::ofstream(path) << "half";
  AtomicFile file(folder / "a");
  file.write("whole");
  remove_dead_parts(folder / "a");
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(mine));
  file.commit([&](const std::string&) { remove_dead_parts(folder / "a"); });
  EXPECT_TRUE(std::filesystem::exists(folder / "a"));
}

TEST(AtomicFile, two_writers_of_one_target_do_not_mix) {
  const ScratchFolder folder;
  AtomicFile first(folder / "a");
  AtomicFile second(folder / "a");
  first.write("first");
  second.write("second");
  first.commit();
  EXPECT_EQ(read_bytes(folder / "a"), "first");
  second.commit();
  EXPECT_EQ(read_bytes(folder / "a"), "second");
  EXPECT_EQ(folder.num_files(), 1U);
}

TEST(AtomicFile, a_missing_folder_throws_with_the_path) {
  EXPECT_EQ(message_of([] { AtomicFile("/nonexistent/a"); }),
            "/nonexistent/a: cannot create a file beside it: No such file or directory");
}

TEST(AtomicFile, a_folder_as_target_throws_with_the_path) {
  const ScratchFolder folder;
  EXPECT_EQ(message_of([&] { AtomicFile file(folder.string()); }),
            folder.string() + ": cannot write to it: Is a directory");
}

TEST(AtomicFile, an_unwritable_folder_throws_with_the_path) {
  if (::geteuid() == 0) GTEST_SKIP() << "skipped: root may write everywhere";
  const ScratchFolder folder;
  ::chmod(folder.string().c_str(), 0500);
  EXPECT_EQ(message_of([&] { AtomicFile file(folder / "a"); }),
            folder / "a" + ": cannot create a file beside it: Permission denied");
}

TEST(AtomicFile, a_full_device_throws_with_the_path) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "skipped: no /dev/full";
  AtomicFile file("/dev/full");
  file.write("some bytes");
  EXPECT_EQ(message_of([&] { file.commit(); }),
            "/dev/full: cannot write to it: No space left on device");
}

/// A process of its own, because the limit cannot be raised again.
TEST(AtomicFile, a_disk_that_fills_up_leaves_the_old_file_and_nothing_else) {
  const ScratchFolder folder;
  write_bytes(folder / "a", "old");
  const auto write_too_much = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 16, 1 << 16};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    std::string message;
    try {
      AtomicFile file(folder / "a");
      file.write(std::string(1 << 20, 'x'));
      file.commit();
    } catch (const InvalidInput& error) {
      message = error.what();
    }
    ::_exit(message == folder / "a" + ": cannot write to it: File too large" ? 0 : 1);
  };
  const ::pid_t child = ::fork();
  if (child == 0) write_too_much();
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_bytes(folder / "a"), "old");
  EXPECT_EQ(folder.num_files(), 1U);
}

TEST(AtomicFile, what_ends_the_process_at_once_removes_the_temporary_files) {
  const ScratchFolder folder;
  write_bytes(folder / "a", "old");
  const auto end_while_writing = [&] {
    const AtomicFile first(folder / "a");
    AtomicFile done(folder / "b");
    done.commit();  // its place is free again
    const AtomicFile second(folder / "c");
    remove_temporary_files();
    ::_exit(0);
  };
  const ::pid_t child = ::fork();
  if (child == 0) end_while_writing();
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_bytes(folder / "a"), "old");
  EXPECT_EQ(read_bytes(folder / "b"), "");
  EXPECT_EQ(folder.num_files(), 2U);
}

TEST(AtomicFile, more_files_at_a_time_than_are_listed_work_as_well) {
  const ScratchFolder folder;
  constexpr int kMany = 40;
  std::vector<std::unique_ptr<AtomicFile>> files;
  for (int k = 0; k < kMany; ++k) {
    files.push_back(std::make_unique<AtomicFile>(folder / std::to_string(k)));
  }
  for (const auto& file : files) file->commit();
  EXPECT_EQ(folder.num_files(), static_cast<std::size_t>(kMany));
}

}  // namespace
}  // namespace margrove
