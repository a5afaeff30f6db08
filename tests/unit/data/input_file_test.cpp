#include "data/input_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.hpp"
#include "compression.hpp"
#include "files.hpp"
#include "margrove/control.hpp"

namespace margrove {
namespace {
using testing::gzip;
using ::testing::MatchesRegex;
using testing::message_of;
using testing::ScratchFolder;
using testing::write_bytes;
using testing::zstd;

std::string read_all(ByteSource& source, std::size_t step) {
  std::string all;
  std::vector<char> part(step);
  while (const std::size_t count = source.read(part)) all.append(part.data(), count);
  return all;
}
std::string read_all(std::string_view bytes, std::size_t step = 1000) {
  return read_all(*open_memory(bytes, "f"), step);
}

std::string some_text() {
  Random random(1);
  std::string text;
  while (text.size() < 300000) text += concat(random.below(100), random.below(9) == 0 ? '\n' : ' ');
  return text;
}

TEST(InputFile, gzip_and_zstd_equal_plain) {
  const std::string text = some_text();
  const ScratchFolder folder;
  for (const auto& bytes : {text, gzip(text), zstd(text)}) {
    write_bytes(folder / "f", bytes);
    for (const std::size_t step : {1U, 7U, 4096U, 1U << 20U}) {
      EXPECT_EQ(read_all(*open_file(folder / "f"), step), text);
      EXPECT_EQ(read_all(bytes, step), text);
    }
  }
}

TEST(InputFile, members_and_frames_follow_each_other) {
  EXPECT_EQ(read_all(gzip("one ") + gzip("") + gzip("two")), "one two");
  EXPECT_EQ(read_all(zstd("one ") + zstd("") + zstd("two")), "one two");
}

TEST(InputFile, short_and_empty_files_are_plain) {
  for (const std::string text : {"", "\x1f", "a", "\x28\xb5\x2f"}) EXPECT_EQ(read_all(text), text);
}

TEST(InputFile, every_truncation_of_a_compressed_stream_throws) {
  const std::string text = some_text().substr(0, 3000);
  const std::string as_gzip = gzip(text);
  for (std::size_t size = 2; size < as_gzip.size(); ++size) {
    EXPECT_EQ(message_of([&] { read_all(as_gzip.substr(0, size)); }),
              "f: the gzip stream ends before it is complete");
  }
  const std::string as_zstd = zstd(text);
  for (std::size_t size = 4; size < as_zstd.size(); ++size) {
    EXPECT_EQ(message_of([&] { read_all(as_zstd.substr(0, size)); }),
              "f: the zstd stream ends before it is complete");
  }
}

TEST(InputFile, a_damaged_gzip_stream_throws) {
  std::string bytes = gzip(some_text());
  bytes[bytes.size() - 6] ^= 1;  // in the checksum
  EXPECT_EQ(message_of([&] { read_all(bytes); }),
            "f: the gzip stream is damaged: incorrect data check");
  EXPECT_EQ(message_of([&] { read_all(gzip("a") + "tail"); }),
            "f: the gzip stream is damaged: incorrect header check");
}

TEST(InputFile, a_damaged_zstd_stream_throws) {
  EXPECT_EQ(message_of([&] { read_all(zstd("a") + "tail"); }),
            "f: the zstd stream is damaged: Unknown frame descriptor");
}

TEST(InputFile, a_folder_throws_with_its_path) {
  const ScratchFolder folder;
  EXPECT_EQ(message_of([&] { open_file(folder.string()); }),
            folder.string() + ": cannot read: Is a directory");
}

TEST(LineBlocks, blocks_are_whole_lines_and_make_up_the_file) {
  std::string text = some_text();
  text.append(3 << 20, 'x').append("\n");  // longer than a block
  text += some_text() + "no line end";
  for (const auto& bytes : {text, gzip(text)}) {
    LineBlocks blocks(open_memory(bytes, "f"), "f");
    std::string all;
    while (blocks.next()) {
      ASSERT_FALSE(blocks.text().empty());
      EXPECT_EQ(*(blocks.text().data() + blocks.text().size()), '\n');
      all += blocks.text();
      if (all.size() < text.size()) {
        ASSERT_EQ(all.back(), '\n');
      }
    }
    EXPECT_TRUE(all == text);
    EXPECT_EQ(blocks.num_bytes(), static_cast<std::int64_t>(text.size()));
    EXPECT_FALSE(blocks.next());
  }
}

/// Reads all blocks.
void read_lines(std::string_view bytes, RunControl* control = nullptr) {
  LineBlocks blocks(open_memory(bytes, "f"), "f", control);
  while (blocks.next()) continue;
}

TEST(LineBlocks, a_line_may_have_100_times_the_bytes_that_it_takes_in_the_file) {
  for (const char filler : {' ', '\0', 'x'}) {
    const std::string text = "a 1:1\nb 1:2\n" + std::string(40 << 20, filler);
    for (const auto& bytes : {gzip(text), zstd(text)}) {
      EXPECT_THAT(message_of([&] { read_lines(bytes); }),
                  MatchesRegex("f:3: the line has [0-9]+ bytes and more, but must have at most "
                               "[0-9]+, which are 100 times the [0-9]+ compressed bytes read; "
                               "decompress the file if it is right"));
    }
    read_lines(text);
  }
}

TEST(LineBlocks, a_long_file_of_short_lines_is_read_however_small_it_is_in_compressed_form) {
  std::string text;
  while (text.size() < (40U << 20U)) text += "a 1:1\n";
  read_lines(zstd(text));
}

TEST(LineBlocks, a_line_may_have_an_eighth_of_the_memory_limit) {
  const std::string text = "a 1:1\n#" + std::string(40 << 20, 'x');
  RunControl control;
  control.limit_memory(200e6);
  RunControl part(control, nullptr);  // has the limit of the work around it
  EXPECT_THAT(message_of([&] { read_lines(text, &part); }),
              MatchesRegex("f:2: the line has [0-9]+ bytes and more, but must have at most "
                           "25000000, an eighth of the memory limit"));
  part.limit_memory(400e6);
  read_lines(text, &part);
}

#ifndef MARGROVE_SANITIZED
TEST(LineBlocks, what_is_held_while_lines_are_read_is_bounded_by_the_memory_limit) {
  std::string text;
  while (text.size() < (4U << 20U)) text += "a 1:1\n";
  const std::string bytes = gzip(text);
  RunControl control;
  control.limit_memory(40e6);
  const auto read = [&](std::size_t held_for_each_block) {
    LineBlocks blocks(open_memory(bytes, "f"), "f", &control);
    std::vector<std::vector<char>> held;
    while (blocks.next()) held.emplace_back(held_for_each_block, 'x');
  };
  read(0);
  EXPECT_THAT(message_of([&] { read(std::size_t{30} << 20U); }),
              MatchesRegex("f: reading has taken [0-9.]+ GB of memory, but must not take more than "
                           "0.04 GB; raise memory_limit"));
}
#endif

TEST(LineBlocks, no_line_is_longer_than_the_longest) {
  const LineBlocks blocks(open_memory("", "f"), "f");
  EXPECT_EQ(message_of([&] { blocks.require_held(kLongestLine + 1, 7, "the row"); }),
            concat("f:7: the row has 268435457 bytes and more, but must have at most 268435456, as "
                   "every line; split it into several"));
}

TEST(LineBlocks, a_byte_order_mark_at_the_start_is_left_out) {
  LineBlocks blocks(open_memory("\xEF\xBB\xBF"
                                "a b\nc\n",
                                "f"),
                    "f");
  ASSERT_TRUE(blocks.next());
  EXPECT_EQ(blocks.text(), "a b\nc\n");
  LineBlocks inside(open_memory("a\n\xEF\xBB\xBF"
                                "b\n",
                                "f"),
                    "f");
  std::string whole;
  while (inside.next()) whole += inside.text();
  EXPECT_EQ(whole,
            "a\n\xEF\xBB\xBF"
            "b\n");
  EXPECT_FALSE(LineBlocks(open_memory("\xEF\xBB\xBF", "f"), "f").next());
}

TEST(LineBlocks, an_empty_file_has_no_block) {
  EXPECT_FALSE(LineBlocks(open_memory("", "f"), "f").next());
}

}  // namespace
}  // namespace margrove
