#include "data/obo_parser.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/hierarchy_edges.hpp"
#include "files.hpp"
#include "margrove/hierarchy_reader.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using testing::message_of;
using ::testing::Pair;

constexpr std::string_view kOntology =
    "format-version: 1.2\nontology: toy\n\n"
    "[Term]\nid: GO:1\nname: cell part\n\n"
    "[Term]\nid: GO:3\nis_a: GO:2 {source=\"x\"} ! organelle\nis_a: GO:1\n"
    "relationship: part_of GO:4 ! cell\nrelationship: part_of GO:2\nrelationship: regulates "
    "GO:5\n\n"
    "[Term]\nid: GO:2\nalt_id: GO:9\nis_a: GO:1 ! cell part\n\n"
    "[Term]\nid: GO:6\nis_a: GO:77\nis_obsolete: true\n\n"
    "[Term]\nid: GO:4\n\n"
    "[Typedef]\nid: part_of\nname: part of\nis_a: overlaps\n";

std::vector<std::string> edges(const Hierarchy& h) {
  std::vector<std::string> named;
  for (const auto& [parent, child] : h.edges) {
    named.push_back(h.codec.name(parent) + " " + h.codec.name(child));
  }
  return named;
}

std::string error_of(std::string_view terms) {
  return message_of([&] { parse_hierarchy("format-version: 1.2\n" + std::string(terms), "f"); });
}

TEST(OboParser, has_terms_that_are_not_obsolete_below_what_they_are) {
  const Hierarchy h = parse_hierarchy(kOntology, "f");
  EXPECT_THAT(h.codec.names(), ElementsAre("GO:1", "GO:3", "GO:2", "GO:4"));
  EXPECT_THAT(edges(h), ElementsAre("GO:2 GO:3", "GO:1 GO:3", "GO:1 GO:2"));
  EXPECT_EQ(edge_location(h, 0), "f:10");
}

TEST(OboParser, has_parts_below_the_whole_where_it_is_asked_to) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "go.obo", kOntology);
  EXPECT_THAT(edges(read_hierarchy(folder / "go.obo", {.part_of = true})),
              ElementsAre("GO:2 GO:3", "GO:1 GO:3", "GO:4 GO:3", "GO:1 GO:2"));
  testing::write_bytes(folder / "edges", "a b\n");
  EXPECT_THROW(read_hierarchy(folder / "edges", {.part_of = true}), InvalidOption);
}

TEST(OboParser, former_ids_are_alternative_ones_and_those_of_obsolete_terms) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "go.obo",
                       "format-version: 1.2\n"
                       "[Term]\nid: GO:1\nalt_id: GO:7 {x=\"y\"}\nalt_id: GO:8\n"
                       "[Term]\nid: GO:2\nis_a: GO:1\nalt_id: GO:8\nalt_id: GO:9\nalt_id: GO:9\n"
                       "[Term]\nid: GO:3\nis_obsolete: true\nreplaced_by: GO:2 ! other\nalt_id: "
                       "GO:5\n[Term]\nid: GO:4\nis_obsolete: true\n");
  FormerTerms former;
  const Hierarchy h = read_hierarchy(folder / "go.obo", {}, &former);
  EXPECT_THAT(h.codec.names(), ElementsAre("GO:1", "GO:2"));
  EXPECT_THAT(h.codec.alternatives(), ElementsAre(Pair("GO:7", 0), Pair("GO:9", 1)));
  EXPECT_EQ(h.codec.find("GO:9"), 1U);
  EXPECT_THAT(former.ambiguous, ElementsAre("GO:8"));
  EXPECT_THAT(former.obsolete, ElementsAre(Pair("GO:3", "GO:2"), Pair("GO:4", "")));
  testing::write_bytes(folder / "edges", "a b\n");
  FormerTerms none;
  read_hierarchy(folder / "edges", {}, &none);
  EXPECT_TRUE(none.empty());
}

TEST(OboParser, is_told_by_its_name_or_first_line_after_comments) {
  const std::string terms = "[Term]\nid: a ! c\n[Term]\nid: b\nis_a: a\nis_obsolete: false ! c\n";
  for (const std::string before :
       {"", "! a comment\n\n", "\n\r\nontology: x\nformat-version: 1.4\n", "!\n\nremark: c\n"}) {
    EXPECT_THAT(edges(parse_hierarchy(before + terms, "f")), ElementsAre("a b"));
  }
  EXPECT_THAT(edges(parse_hierarchy("own-tag: x\n" + terms, "f.obo.gz")), ElementsAre("a b"));
  EXPECT_THAT(edges(parse_hierarchy("! a\na b\n", "f")), ElementsAre("! a", "a b"));
}

TEST(OboParser, parents_that_are_no_terms_are_counted_and_left_out) {
  const Hierarchy h = parse_hierarchy(
      "[Term]\nid: a\nis_a: b ! none\nis_a: c\n[Term]\nid: c\n"
      "[Term]\nid: d\nis_a: old\n[Term]\nid: old\nis_obsolete: true\n",
      "f");
  EXPECT_THAT(edges(h), ElementsAre("c a"));
  EXPECT_THAT(h.warnings, ElementsAre("f:3:7: parent is 'b', which is no term of the file or "
                                      "obsolete; 2 edges to such parents left out"));
}

TEST(OboParser, synonyms_are_read_where_they_are_asked_for) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "f.obo";
  testing::write_bytes(path,
                       "[Term]\nid: a\nname: cell\nsynonym: \"the \\\"unit\\\"\" EXACT []\n"
                       "synonym: \"cellula\" RELATED LATIN [x:1]\nsynonym: none\n"
                       "[Term]\nid: b\n");
  EXPECT_TRUE(read_hierarchy(path).other_names.empty());
  EXPECT_EQ(read_hierarchy(path, "", true).other_names,
            (std::vector<std::string>{"the \"unit\"\ncellula", ""}));
}

TEST(OboParser, errors_say_where_and_what) {
  EXPECT_EQ(error_of(""), "f: the file has no term, but must have at least one");
  EXPECT_EQ(error_of("[Term]\nid: a\n\n[Term]\nname: x\n"), "f:5:1: the term has no id");
  EXPECT_EQ(error_of("[Term]\nid: a\n[Term]\nid: a\n"),
            "f:5:5: term 'a' is on line 3 already, but must occur once");
  EXPECT_EQ(error_of("[Term]\nid: a\nalt_id: b,c\n"),
            "f:4:9: label is 'b,c', but must not contain blanks, commas or control characters");
  EXPECT_EQ(error_of("[Term]\nid: a\nreplaced_by: #b\n"),
            "f:4:14: label is '#b', but must not start with '#', which starts comments");
  EXPECT_EQ(error_of("[Term]\nid: a b\n"),
            "f:3:5: label is 'a b', but must not contain blanks, commas or control characters");
  EXPECT_EQ(error_of("[Term]\nid: a\nis_a: b\n[Term]\nid: b\nis_a: a\n"),
            "f:7: edge 'a' 'b' closes the cycle b > a > b, but no node may be its own ancestor");
}

}  // namespace
}  // namespace margrove
