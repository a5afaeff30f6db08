#include "data/class_weight_reader.hpp"

#include <gtest/gtest.h>

#include "compression.hpp"
#include "files.hpp"

namespace margrove {
namespace {
using testing::message_of;

const LabelCodec kCodec({"a", "b", "c d"});

std::string error_of(std::string_view text) {
  return message_of([&] { parse_class_weights(text, "f", kCodec); });
}

TEST(ClassWeightReader, labels_without_a_line_weigh_one) {
  EXPECT_EQ(parse_class_weights("# by hand\nc d\t0.5\r\n\nb 3 # twice\n", "f", kCodec),
            (std::vector<double>{1, 3, 0.5}));
  EXPECT_EQ(parse_class_weights(testing::gzip("a\t0\n"), "f", kCodec),
            (std::vector<double>{0, 1, 1}));
}

TEST(ClassWeightReader, errors_say_where_and_what) {
  EXPECT_EQ(error_of("# nothing\n"),
            "f: the file has no weight, but must have at least one line label<TAB>weight");
  EXPECT_EQ(error_of("a\n"), "f:1:2: the line has one field, but must be 'label<TAB>weight'");
  EXPECT_EQ(error_of("a 1 2\n"),
            "f:1:5: the line has a third field '2', but must be 'label<TAB>weight'");
  EXPECT_EQ(error_of("a 1\nx 1\n"), "f:2:1: label is 'x', but must be one of the 3 known labels");
  EXPECT_EQ(error_of("a 1\n\na 2\n"), "f:3:1: label 'a' has a weight already, on line 1");
  for (const std::string weight : {"-1", "nan", "inf", "1x", "1e999"}) {
    EXPECT_EQ(error_of("a\t" + weight + "\n"),
              "f:1:3: weight is '" + weight + "', but must be a number >= 0");
  }
  EXPECT_EQ(message_of([] { read_class_weights("/nowhere/f", kCodec); }),
            "/nowhere/f: cannot open: No such file or directory");
}

}  // namespace
}  // namespace margrove
