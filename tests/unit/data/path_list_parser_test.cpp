#include "data/path_list_parser.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counted_seconds.hpp"
#include "data/hierarchy_edges.hpp"
#include "files.hpp"
#include "margrove/control.hpp"
#include "margrove/hierarchy_reader.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

std::vector<std::string> edges(const Hierarchy& h) {
  std::vector<std::string> named;
  for (const auto& [parent, child] : h.edges) {
    named.push_back(h.codec.name(parent) + "|" + h.codec.name(child));
  }
  return named;
}
std::string error_of(std::string_view text) {
  return message_of([&] { parse_hierarchy(text, "f"); });
}

TEST(PathListParser, nodes_are_paths_called_by_their_last_names) {
  const Hierarchy h =
      parse_hierarchy("# Version: 1\nPets & Co\nPets & Co > Food\r\n\nArt > Oil > C#\n", "f");
  EXPECT_THAT(h.codec.names(),
              ElementsAre("Pets & Co", "Pets & Co > Food", "Art", "Art > Oil", "Art > Oil > C#"));
  EXPECT_THAT(h.names, ElementsAre("Pets & Co", "Food", "Art", "Oil", "C#"));
  EXPECT_THAT(edges(h), ElementsAre("Pets & Co|Pets & Co > Food", "Art|Art > Oil",
                                    "Art > Oil|Art > Oil > C#"));
  EXPECT_THAT(h.lines, ElementsAre(3, 5, 5));
}

TEST(PathListParser, the_bytes_of_nodes_are_counted_as_work) {
  constexpr int kPaths = 100, kLevels = 250;
  std::string text;
  for (int k = 0; k < kPaths; ++k) {
    text += std::to_string(k);
    for (int level = 0; level < kLevels; ++level) text += " > a";
    text += '\n';
  }
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "paths", text);
  const long before = testing_clock::questions;
  RunControl control({}, 1e9, testing_clock::counted_seconds);
  read_hierarchy(folder / "paths", {.control = &control});
  constexpr long kBytes = 2L * kPaths * kLevels * kLevels;  // each level adds 4 to the one above it
  EXPECT_GT(testing_clock::questions - before, kBytes / 20'000);
}

TEST(PathListParser, numbers_before_paths_are_the_nodes) {
  const Hierarchy h = parse_hierarchy("12 - A > B > C\n1 - A\n3 - A > B\n4 - D\n", "f");
  EXPECT_THAT(h.codec.names(), ElementsAre("12", "1", "3", "4"));
  EXPECT_THAT(h.names, ElementsAre("C", "A", "B", "D"));
  EXPECT_THAT(edges(h), ElementsAre("3|12", "1|3"));
}

TEST(PathListParser, edge_lists_stay_edge_lists) {
  EXPECT_THAT(parse_hierarchy("A\tA > B\nA > B\tA > B > C\n", "f").codec.names(),
              ElementsAre("A", "A > B", "A > B > C"));
  EXPECT_EQ(error_of("a b\nc d\ne > f\n"),
            "f:3:5: the line has a third field 'f', but must be 'parent child'");
  EXPECT_EQ(parse_hierarchy("a b # c > d\n", "f").edges.size(), 1U);
}

TEST(PathListParser, errors_say_where_and_what) {
  EXPECT_EQ(error_of("A > B\nA > B\n"),
            "f:2:1: path 'A > B' is on line 1 already, but must occur once");
  EXPECT_EQ(error_of("1 - A > B\n"),
            "f:1:1: the path above it, 'A', has no line, which must tell its number");
  EXPECT_EQ(error_of("1 - A\n2 - A > B\nA > C\n"),
            "f:3:1: the path has no number, but must be like the first one, '123 - A > B'");
  EXPECT_EQ(error_of("1 - A\n1 - A > B\n"), "f:2:1: number '1' is that of another path already");
  EXPECT_EQ(error_of("A > B\nA >  > C\n"), "f:2:1: the path 'A >  > C' has an empty name");
  std::string deep = "a";
  for (int level = 0; level < 300; ++level) deep += " > a";
  EXPECT_THAT(error_of(deep + "\n"), HasSubstr("f:1:1: label has 1201 bytes"));
}

}  // namespace
}  // namespace margrove
