#include "margrove/hierarchy_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/out_of_time.hpp"
#include "data/hierarchy_edges.hpp"
#include "files.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using testing::message_of;
using std::string_literals::operator""s;

std::string error_of(std::string_view text) {
  return message_of([&] { parse_hierarchy(text, "f"); });
}

TEST(HierarchyReader, reads_edges_with_their_lines) {
  const Hierarchy h = parse_hierarchy("# a tree\nroot\tmammals\r\n\n root fish # aquatic\n", "f");
  EXPECT_THAT(h.codec.names(), ElementsAre("root", "mammals", "fish"));
  ASSERT_EQ(h.edges.size(), 2U);
  EXPECT_EQ(h.edges[1].parent, 0U);
  EXPECT_EQ(h.edges[1].child, 2U);
  EXPECT_THAT(h.lines, ElementsAre(2, 4));
  EXPECT_EQ(edge_location(h, 1), "f:4");
}

TEST(HierarchyReader, names_between_tabs_may_have_blanks_and_commas) {
  const Hierarchy h = parse_hierarchy(
      "Tout le monde\tÄpfel, rot\t# a comment\n  Äpfel, rot \t C# \nroot\t\tTout le monde\n", "f");
  EXPECT_THAT(h.codec.names(), ElementsAre("Tout le monde", "Äpfel, rot", "C#", "root"));
  EXPECT_EQ(h.edges.size(), 3U);
  EXPECT_EQ(error_of("a b\tc\td\n"),
            "f:1:7: the line has a third field 'd', but must be 'parent child'");
  EXPECT_EQ(error_of("a b\tc\x01\n"),
            "f:1:5: label is 'c\\x01', but must not contain control characters");
}

TEST(HierarchyReader, taxonomies_have_all_children_of_a_node_on_a_line) {
  const Hierarchy h = parse_hierarchy(
      "Root\tarts\tnews of all\n\nnews of all\tsport\tweather, etc\r\nsport\tgolf\n", "f.taxonomy");
  EXPECT_THAT(h.codec.names(), ElementsAre("arts", "news of all", "sport", "weather, etc", "golf"));
  ASSERT_EQ(h.edges.size(), 3U);
  EXPECT_EQ(h.edges[1].parent, 1U);
  EXPECT_EQ(h.edges[1].child, 3U);
  EXPECT_THAT(h.lines, ElementsAre(3, 3, 4));
  const auto error = [](std::string_view text) {
    return message_of([&] { parse_hierarchy(text, "f.taxonomy.gz"); });
  };
  EXPECT_EQ(error("Root\ta\na\n"),
            "f.taxonomy.gz:2:2: the line has one name, but must be parent<TAB>child<TAB>child ...");
  EXPECT_EQ(error("Root\ta\na\tb\ta\n"),
            "f.taxonomy.gz:2:5: node 'a' is its own parent, but must be another node's child");
  EXPECT_EQ(error("a\tb\tb\n"),
            "f.taxonomy.gz:1:1: edge 'a' 'b' is on line 1 already, but must occur once");
  EXPECT_EQ(error("Root\ta\tb\n"),
            "f.taxonomy.gz: the file has no edge, but must have at least one line 'parent child'");
  testing::ScratchFolder folder;
  testing::write_bytes(folder / "h.taxonomy", "Root\ta\na\tb\n");
  EXPECT_EQ(read_hierarchy(folder / "h.taxonomy").edges.size(), 1U);
  EXPECT_EQ(
      message_of<InvalidOption>([&] { read_hierarchy(folder / "h.taxonomy", {.part_of = true}); }),
      "options part_of and language: one is given, but " + (folder / "h.taxonomy") +
          " is a .taxonomy file, which has neither");
}

TEST(HierarchyReader, a_node_may_have_many_parents) {
  EXPECT_EQ(parse_hierarchy("a b\na c\nb d\nc d\n", "f").edges.size(), 4U);
}

TEST(HierarchyReader, errors_say_where_and_what) {
  EXPECT_EQ(error_of(""),
            "f: the file has no edge, but must have at least one line 'parent child'");
  EXPECT_EQ(error_of("a b\nc\n"), "f:2:2: the line has one field, but must be 'parent child'");
  EXPECT_EQ(error_of("a b c d\n"),
            "f:1:5: the line has a third field 'c', but must be 'parent child'");
  EXPECT_EQ(error_of("a b\n a a\n"),
            "f:2:4: node 'a' is its own parent, but must be another node's child");
  EXPECT_EQ(error_of("a b\na c\n\n a b\n"),
            "f:4:2: edge 'a' 'b' is on line 1 already, but must occur once");
  EXPECT_EQ(error_of("a b\0\n"s),
            "f:1:3: label is 'b\\x00', but must not contain blanks, commas or control characters");
  EXPECT_EQ(error_of("a,b c\n"),
            "f:1:1: label is 'a,b', but must not contain blanks, commas or control characters");
  EXPECT_EQ(error_of("a \xC0\n"), "f:1:3: label is '\\xc0', but must be valid UTF-8");
}

TEST(HierarchyReader, a_cycle_throws_with_the_line_of_its_last_edge) {
  EXPECT_EQ(error_of("r a\na b\nb a\n"),
            "f:3: edge 'b' 'a' closes the cycle a > b > a, but no node may be its own ancestor");
  EXPECT_EQ(error_of("c a\nr a\na b\nb c\nc d\nd e\n"),
            "f:4: edge 'b' 'c' closes the cycle c > a > b > c, but no node may be its own "
            "ancestor");
}

TEST(HierarchyReader, a_long_cycle_is_told_in_part) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += concat(i, " ", (i + 1) % 1000, "\n");
  EXPECT_EQ(error_of(text),
            "f:1000: edge '999' '0' closes the cycle 0 > 1 > 2 > 3 > 4 > 5 > 6 > 7 > 8 > 9 > ... "
            "(1000 nodes), but no node may be its own ancestor");
}

TEST(HierarchyReader, a_hierarchy_from_elsewhere_is_told_by_names) {
  Hierarchy h;
  h.codec = LabelCodec({"a", "b"});
  h.edges = {{0, 1}, {1, 0}};
  EXPECT_EQ(message_of([&] { require_acyclic(h); }),
            "hierarchy: edge 'b' 'a' closes the cycle a > b > a, but no node may be its own "
            "ancestor");
}

TEST(HierarchyReader, the_control_is_asked_before_each_block_whatever_is_in_it) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "empty", std::string(5'000'000, '\n').append("a b\n"));
  int calls = 0;
  RunControl counting([&](const Progress&) { return ++calls > 0; });
  read_hierarchy(folder / "empty", {.control = &counting});
  EXPECT_GE(calls, 5);
  RunControl ending([](const Progress&) { return false; });
  EXPECT_EQ(
      message_of<OutOfTimeLimit>([&] { read_hierarchy(folder / "empty", {.control = &ending}); }),
      (folder / "empty") + ": the time limit ended reading; nothing is trained");
}

TEST(HierarchyReader, reads_real_hierarchies) {
  const auto path = testing::data_file("cellcycle-go/hierarchy.txt");
  if (!path) GTEST_SKIP() << "skipped: no data";
  const Hierarchy h = read_hierarchy(*path);
  EXPECT_EQ(h.codec.size(), 4126U);
  EXPECT_EQ(h.edges.size(), 5827U);
}

}  // namespace
}  // namespace margrove
