#include "data/prediction_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "files.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::message_of;

std::string error_of(std::string_view text) {
  LabelCodec codec;
  return message_of([&] { parse_predictions(text, "f", codec); });
}

TEST(PredictionReader, reads_a_set_a_line_and_adds_new_labels_to_the_codec) {
  LabelCodec codec({"known", "b"});
  const LabelSets sets = parse_predictions("b,new\n\r\nknown\nb:1", "f", codec);
  ASSERT_EQ(sets.num_rows(), 4U);
  EXPECT_THAT(sets[0], ElementsAre(1, 2));
  EXPECT_THAT(sets[1], IsEmpty());
  EXPECT_THAT(sets[2], ElementsAre(0));
  EXPECT_THAT(sets[3], ElementsAre(3));
  EXPECT_THAT(codec.names(), ElementsAre("known", "b", "new", "b:1"));
}

TEST(PredictionReader, reads_files_and_names_those_that_are_not_there) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "sets", "a\n\na,b\n");
  LabelCodec codec;
  EXPECT_EQ(read_predictions(folder / "sets", codec).num_rows(), 3U);
  EXPECT_THAT(message_of([&] { read_predictions(folder / "none", codec); }),
              ::testing::StartsWith((folder / "none") + ": "));
  testing::write_bytes(folder / "bad", "a\n,\n");
  EXPECT_EQ(message_of([&] { read_predictions(folder / "bad", codec); }),
            (folder / "bad") + ":2:1: label is empty, but must have at least one character");
}

TEST(PredictionReader, reads_labels_with_blanks_and_commas) {
  LabelCodec codec({"New York", "a,b", "x:1"});
  const LabelSets sets =
      parse_predictions("New York\na,b\nNew York\ta,b\nso, so\tx:1\na\n", "f", codec);
  ASSERT_EQ(sets.num_rows(), 5U);
  EXPECT_THAT(sets[0], ElementsAre(0));
  EXPECT_THAT(sets[1], ElementsAre(1));
  EXPECT_THAT(sets[2], ElementsAre(0, 1));
  EXPECT_THAT(sets[3], ElementsAre(2, 3));
  EXPECT_EQ(codec.name(3), "so, so");
  EXPECT_EQ(codec.name(4), "a");
  EXPECT_EQ(error_of("a b:0.5\tc\n"), "f:1:1: label is 'a b:0.5', but must have no score");
  EXPECT_EQ(error_of("a\t\n"), "f:1:3: label is empty, but must have at least one character");
}

TEST(PredictionReader, errors_say_where_and_what) {
  EXPECT_EQ(error_of(""), "f: the file has no rows, but must have at least one");
  EXPECT_EQ(error_of("a\na,,b\n"), "f:2:3: label is empty, but must have at least one character");
  EXPECT_EQ(error_of("a,\n"), "f:1:3: label is empty, but must have at least one character");
  EXPECT_EQ(error_of("a:1 b:2\n"),
            "f:1:1: label is 'a:1 b:2', but must not contain blanks, commas or control characters");
}

}  // namespace
}  // namespace margrove
