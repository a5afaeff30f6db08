#include "data/label_names_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compression.hpp"
#include "files.hpp"
#include "margrove/hierarchy_reader.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using testing::message_of;
using std::string_literals::operator""s;

std::string error_of(std::string_view text, const std::string& name = "f") {
  return message_of([&] { parse_label_names(text, name); });
}

TEST(LabelNamesReader, the_first_name_is_preferred_and_the_others_follow) {
  const LabelNames found = parse_label_names(
      "# of the library\n\n304.80\tPopulation\r\nb c\t Beta \t\tsecond\n \n304.80\tpeople\tcrowds\n"
      "<http://x/1>\tOne # 1\n",
      "f");
  EXPECT_THAT(found.labels.names(), ElementsAre("304.80", "b c", "http://x/1"));
  EXPECT_THAT(found.names, ElementsAre("Population", "Beta", "One # 1"));
  EXPECT_THAT(found.other_names, ElementsAre("people\ncrowds", "second", ""));
  EXPECT_THAT(found.lines, ElementsAre(3, 4, 7));
  EXPECT_THAT(parse_label_names(testing::gzip("a\tAlpha\n"), "f").names, ElementsAre("Alpha"));
}

TEST(LabelNamesReader, csv_has_cells_in_quotes_and_may_have_a_header) {
  const std::string text =
      "label,name,more\na,\"Alpha, \"\"first\"\"\",\n#b , ,Beta\n\na,\"one\ntwo\"\nlabel,name\n";
  const LabelNames found = parse_label_names(text, "f.csv");
  EXPECT_THAT(found.labels.names(), ElementsAre("a", "#b", "label"));
  EXPECT_THAT(found.names, ElementsAre("Alpha, \"first\"", "Beta", "name"));
  EXPECT_THAT(found.other_names, ElementsAre("one two", "", ""));
  EXPECT_THAT(found.lines, ElementsAre(2, 3, 7));
  EXPECT_EQ(parse_label_names(testing::gzip(text), "f.csv.gz").names, found.names);
  EXPECT_EQ(parse_label_names(text, "f.csv.zst").names, found.names);
}

TEST(LabelNamesReader, errors_say_where_and_what) {
  EXPECT_EQ(error_of("# none\n"),
            "f: the file has no name, but must have at least one line label<TAB>name");
  EXPECT_EQ(error_of("label,name\n", "f.csv"),
            "f.csv: the file has no name, but must have at least one line label,name");
  EXPECT_EQ(error_of("a\tA\n b\t \n"),
            "f:2:2: label 'b' has no name, but the line must be label<TAB>name");
  EXPECT_EQ(error_of("a;A\n", "f.csv"),
            "f.csv:1:1: label 'a;A' has no name, but the line must be label,name");
  EXPECT_EQ(error_of("\tA\n"), "f:1:1: label is empty, but must have at least one character");
  EXPECT_EQ(error_of("a\x01\tA\n"),
            "f:1:1: label is 'a\\x01', but must not contain control characters");
  EXPECT_EQ(error_of("a\t A\xff\n"), "f:1:4: name is 'A\\xff', but must be UTF-8 text");
  EXPECT_EQ(error_of("a,b,\"A\0\"\n"s, "f.csv"),
            "f.csv:1:5: name is 'A\\x00', but must be UTF-8 text");
  EXPECT_EQ(error_of("a,\"A\n", "f.csv"), "f.csv:1:3: the quoted cell has no closing quote");
  EXPECT_EQ(message_of([] { read_label_names("/nowhere/f"); }),
            "/nowhere/f: cannot open: No such file or directory");
}

TEST(LabelNamesReader, names_of_a_file_replace_those_of_its_nodes) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "named.obo";
  testing::write_bytes(path,
                       "[Term]\nid: a\nname: old a\nsynonym: \"older\" EXACT []\n"
                       "[Term]\nid: b\nname: old b\nalt_id: b2\nis_a: a\n"
                       "[Term]\nid: c\nname: old c\nsynonym: \"oldest\" EXACT []\n");
  Hierarchy hierarchy = read_hierarchy(path, "", true);
  const LabelNames names = parse_label_names("a\tnew a\nb\tnew b\tnewer\nb2\tB two\tB 2\n", "f");
  EXPECT_EQ(use_label_names(hierarchy, names, false).count, 0U);
  EXPECT_THAT(hierarchy.names, ElementsAre("new a", "new b", "old c"));
  EXPECT_THAT(hierarchy.other_names, ElementsAre("", "newer\nB two\nB 2", "oldest"));
}

TEST(LabelNamesReader, labels_that_are_no_nodes_are_errors_or_left_out) {
  Hierarchy tree = parse_hierarchy("r a\nr b\n", "tree");
  const LabelNames names = parse_label_names("a\tA\ny\tY\nz\tZ\n", "f");
  EXPECT_EQ(message_of([&] { use_label_names(tree, names, false); }),
            "f:2: label is 'y', but must be a node of tree; --unknown-labels drop leaves out the "
            "others");
  const UnknownNames unknown = use_label_names(tree, names, true);
  EXPECT_EQ(unknown.count, 2U);
  EXPECT_EQ(unknown.example, "y");
  EXPECT_THAT(tree.names, ElementsAre("", "A", ""));
  EXPECT_EQ(message_of([&] { use_label_names(tree, parse_label_names("z\tZ\n", "f"), true); }),
            "f: none of its 1 labels is a node of tree; one of them is 'z'");
}

TEST(LabelNamesReader, labels_without_a_hierarchy_are_those_of_rows_and_of_the_file) {
  const LabelCodec codec({"b", "a"});
  const LabelNames names = parse_label_names("c\tC\na\tA\tfirst\n", "f");
  require_known_names(codec, names, "rows");
  const Hierarchy labels = flat_labels(codec, names);
  EXPECT_TRUE(labels.is_flat);
  EXPECT_TRUE(labels.edges.empty());
  EXPECT_THAT(labels.codec.names(), ElementsAre("b", "a", "c"));
  EXPECT_THAT(labels.names, ElementsAre("", "A", "C"));
  EXPECT_THAT(labels.other_names, ElementsAre("", "first", ""));
  EXPECT_EQ(
      message_of([&] { require_known_names(codec, parse_label_names("c\tC\n", "f"), "rows"); }),
      "f: none of its 1 labels is a label of rows; one of them is 'c'");
}

}  // namespace
}  // namespace margrove
