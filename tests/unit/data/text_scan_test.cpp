#include "data/text_scan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace margrove::detail {
namespace {

TEST(TextScan, takes_pieces_from_the_front) {
  std::vector<std::string> pieces;
  for (std::string_view rest = "a\t\tbc"; !rest.empty();) pieces.emplace_back(take_to('\t', rest));
  EXPECT_EQ(pieces, (std::vector<std::string>{"a", "", "bc"}));
  std::string_view empty;
  EXPECT_EQ(take_to('\t', empty), "");
}

TEST(TextScan, takes_lines_without_their_ends) {
  std::vector<std::string> lines;
  for (std::string_view rest = "a\r\n\nb\rc\n\r"; !rest.empty();) {
    lines.emplace_back(take_line(rest));
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "", "b\rc", ""}));
}

}  // namespace
}  // namespace margrove::detail
