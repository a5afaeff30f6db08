#include "data/input_descriptor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "data/input_file.hpp"
#include "files.hpp"

namespace margrove {
namespace {

using margrove::testing::message_of;
using margrove::testing::ScratchFolder;
using margrove::testing::write_bytes;
using ::testing::EndsWith;
using Kind = InputDescriptor::Kind;

class InputDescriptorTest : public ::testing::Test {
 protected:
  InputDescriptorTest() { write_bytes(file_, "abcdef"); }

  std::string error_of(const std::string& path, Kind kind) {
    return message_of([&] { const InputDescriptor file(path, kind); });
  }

  ScratchFolder folder_;
  std::string file_ = folder_ / "file";
};

TEST_F(InputDescriptorTest, reads_in_turn_and_anywhere) {
  const InputDescriptor file(file_, Kind::regular);
  EXPECT_EQ(file.size(), 6U);
  std::string text(4, ' ');
  EXPECT_EQ(file.read(text), 4U);
  EXPECT_EQ(text, "abcd");
  EXPECT_EQ(file.read(text), 2U);
  EXPECT_EQ(file.read(text), 0U);
  file.read_at(1, text);
  EXPECT_EQ(text, "bcde");
}

TEST_F(InputDescriptorTest, what_is_no_file_is_refused) {
  for (const Kind kind : {Kind::any, Kind::regular}) {
    EXPECT_EQ(error_of(folder_ / "none", kind),
              (folder_ / "none") + ": cannot open: No such file or directory");
    EXPECT_THAT(error_of(folder_ / "", kind), EndsWith(": cannot read: Is a directory"));
  }
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(error_of(pipe, Kind::regular), pipe + ": cannot read: Illegal seek") << "at once";
}

TEST_F(InputDescriptorTest, errors_of_reading_name_the_file) {
  const InputDescriptor none(-1, "input");
  std::string text(4, ' ');
  constexpr std::string_view kMessage = "input: cannot read: Bad file descriptor";
  EXPECT_EQ(message_of([&] { none.read(text); }), kMessage);
  EXPECT_EQ(message_of([&] { none.read_at(0, text); }), kMessage);
}

TEST_F(InputDescriptorTest, a_file_that_became_shorter_is_an_error) {
  const InputDescriptor file(file_, Kind::regular);
  std::filesystem::resize_file(file_, 2);
  std::string text(4, ' ');
  EXPECT_EQ(message_of([&] { file.read_at(0, text); }),
            file_ + ": the file became shorter while it was read");
}

TEST(InputFile, names_lose_that_of_the_compression) {
  EXPECT_EQ(name_uncompressed("a.csv.gz"), "a.csv");
  EXPECT_EQ(name_uncompressed("a.csv.zst"), "a.csv");
  EXPECT_EQ(name_uncompressed("a.gz.csv"), "a.gz.csv");
}

}  // namespace
}  // namespace margrove
