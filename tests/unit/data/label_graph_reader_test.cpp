#include "data/label_graph_reader.hpp"

#include <gtest/gtest.h>

#include "files.hpp"

namespace margrove {
namespace {
using testing::message_of;

const LabelCodec kCodec({"a", "b", "c"});

std::string error_of(std::string_view text) {
  return message_of([&] { parse_label_graph(text, "f", kCodec); });
}

TEST(LabelGraphReader, reads_pairs_in_the_order_of_the_file) {
  const auto pairs = parse_label_graph("# alike\nc\ta\r\n\n a  b # too\n", "f", kCodec);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].first, 2U);
  EXPECT_EQ(pairs[0].second, 0U);
  EXPECT_EQ(pairs[1].first, 0U);
  EXPECT_EQ(pairs[1].second, 1U);
}

TEST(LabelGraphReader, errors_say_where_and_what) {
  EXPECT_EQ(error_of(""), "f: the file has no pair, but must have at least one line 'label label'");
  EXPECT_EQ(error_of("# none\n"),
            "f: the file has no pair, but must have at least one line 'label label'");
  EXPECT_EQ(error_of("a b\nc\n"), "f:2:2: the line has one field, but must be 'label label'");
  EXPECT_EQ(error_of("a b c d\n"),
            "f:1:5: the line has a third field 'c', but must be 'label label'");
  EXPECT_EQ(error_of("a b\nb x\n"), "f:2:3: label is 'x', but must be one of the 3 known labels");
  EXPECT_EQ(error_of("a b\n b b\n"),
            "f:2:4: label 'b' is paired with itself, but must be with another one");
  EXPECT_EQ(error_of("a b\na c\nb a\n"),
            "f:3:1: pair 'b' 'a' is on line 1 already, but must occur once");
}

}  // namespace
}  // namespace margrove
