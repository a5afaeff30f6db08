#include "data/cost_matrix_reader.hpp"

#include <gtest/gtest.h>

#include "compression.hpp"
#include "files.hpp"

namespace margrove {
namespace {
using testing::message_of;

const LabelCodec kCodec({"a", "b", "c"});

std::string error_of(std::string_view text) {
  return message_of([&] { parse_cost_matrix(text, "f", kCodec); });
}

TEST(CostMatrixReader, rows_are_true_labels_in_any_order) {
  const CostMatrix matrix = parse_cost_matrix("true,c,a\r\na,2,0\n\nc,0,1.5\n", "f", kCodec);
  EXPECT_EQ(matrix.labels, (std::vector<LabelId>{2, 0}));
  EXPECT_EQ(matrix.costs, (std::vector<double>{0, 1.5, 2, 0}));
  EXPECT_EQ(matrix.among(std::vector<LabelId>{0, 2}, kCodec), (std::vector<double>{0, 2, 1.5, 0}));
  EXPECT_EQ(matrix.among(std::vector<LabelId>{2}, kCodec), std::vector<double>{0});
  EXPECT_EQ(message_of([&] {
              matrix.among(std::vector<LabelId>{0, 1}, kCodec);
            }),
            "f: label 'b' has no row and no column, but must have both: it is a possible answer");
}

TEST(CostMatrixReader, the_file_may_be_compressed) {
  const std::string packed = testing::gzip(",a,b\na,0,1\nb,2,0\n");
  EXPECT_EQ(parse_cost_matrix(packed, "f", kCodec).costs, (std::vector<double>{0, 1, 2, 0}));
}

TEST(CostMatrixReader, errors_say_where_and_what) {
  EXPECT_EQ(error_of(""), "f: the file has no lines, but must have a header and a line per label");
  EXPECT_EQ(error_of("true\n"), "f:1:5: the line names no label, but must name the columns");
  EXPECT_EQ(error_of(",a,x\n"), "f:1:4: label is 'x', but must be one of the 3 known labels");
  EXPECT_EQ(error_of(",a,a\n"), "f:1:4: label 'a' has a column already, but must have one");
  EXPECT_EQ(error_of(",a\nx,0\n"), "f:2:1: label is 'x', but must be one of the 3 known labels");
  EXPECT_EQ(error_of(",a\nb,0\n"), "f:2:1: label 'b' has a row, but no column");
  EXPECT_EQ(error_of(",a\na,0\na,0\n"), "f:3:1: label 'a' has a row already, on line 2");
  EXPECT_EQ(error_of(",a,b\na,0,1\n"), "f: label 'b' has a column, but no row");
  EXPECT_EQ(error_of(",a,b\na,0\n"),
            "f:2:4: the line has 1 costs, but must have one per column, 2");
  EXPECT_EQ(error_of(",a\na,0,1\n"),
            "f:2:5: the line has 2 costs, but must have one per column, 1");
  EXPECT_EQ(error_of(",a\na,1\n"), "f:2:3: cost of the true label is 1, but must be 0");
  for (const char* cost : {"-1", "nan", "inf", "", "1x", " 1"}) {
    EXPECT_EQ(error_of(std::string(",a,b\na,0,") + cost + "\n"),
              std::string("f:2:5: cost is '") + cost + "', but must be a number >= 0");
  }
}

}  // namespace
}  // namespace margrove
