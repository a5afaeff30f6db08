#include "table/table_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "files.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::ThrowsMessage;

void expect_error(std::string_view text, const char* message) {
  EXPECT_THAT([&] { parse_table(text, "t.tsv"); }, ThrowsMessage<InvalidInput>(message));
}

TEST(TableReader, lines_become_rows_and_zeros_are_not_stored) {
  const Dataset data = parse_table("dog\t1.5\t0\t-2\ncat\t0\t0\t4\r\ndog\t0\t0\t0", "t.tsv");
  EXPECT_EQ(data.X.num_rows(), 3U);
  EXPECT_EQ(data.X.num_columns(), 3U);
  EXPECT_THAT(data.X.row(0).columns, ElementsAre(0, 2));
  EXPECT_THAT(data.X.row(0).values, ElementsAre(1.5F, -2.0F));
  EXPECT_EQ(data.X.row(2).size(), 0U);
  EXPECT_THAT(data.codec.names(), ElementsAre("dog", "cat"));
  EXPECT_EQ(data.labels[2][0], 0U);
}

TEST(TableReader, labels_get_the_ids_of_a_codec) {
  const LabelCodec codec({"cat", "dog"});
  EXPECT_EQ(parse_table("dog\t1\n", "t.tsv", {.codec = &codec}).labels[0][0], 1U);
}

TEST(TableReader, every_fault_has_its_place) {
  expect_error("dog\t1\ncat\tx\n", "t.tsv:2:5: the cell is 'x', but must be a number");
  expect_error("dog\t1\ncat\t1\t2\n",
               "t.tsv:2:8: the line has 2 numbers, but must have 1 as the first one");
  expect_error("", "t.tsv: the file has no rows, but must have at least one");
  EXPECT_THROW(parse_table("a,b\t1\n", "t.tsv"), InvalidInput);
  EXPECT_THROW(parse_table("a\t1\n", "t.tsv", {.known_labels_only = true}), InvalidInput);
}

TEST(TableReader, is_a_row_format) {
  const std::array formats{
      RowFormat{RowKind::numbers, ".tsv", table_rows},
      RowFormat{RowKind::numbers, "", nullptr},
  };
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "t.tsv", "dog\t1\n");
  const RowFormat& format = row_format_of(formats, folder / "t.tsv", RowKind::numbers);
  const Examples rows = format.read(folder / "t.tsv", {}, nullptr);
  EXPECT_EQ(rows.X.num_rows(), 1U);
}

}  // namespace
}  // namespace margrove
