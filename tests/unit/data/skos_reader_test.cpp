#include "data/skos_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/hierarchy_edges.hpp"
#include "files.hpp"
#include "margrove/hierarchy_reader.hpp"

namespace margrove {
namespace {
using detail::rdf_syntax;
using detail::RdfSyntax;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

const std::string kPrefixes =
    "# A vocabulary\n"
    "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
    "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix x: <http://x/> .\n";
const std::string kAnimals =
    kPrefixes +
    "x:animal a skos:Concept ; skos:prefLabel \"animal\"@en , \"el\u00e4in\"@fi ;\n"
    "  skos:narrower x:fish , x:dog .\n"
    "x:dog a skos:Concept ; skos:broader x:animal ;\n"
    "  skos:prefLabel \"koira\"@fi , \"dog, tame\"@en-GB .\n"
    "x:fish skos:broader x:animal ; skos:prefLabel \"Fisch\"@de ; skos:altLabel \"fish\"@en .\n"
    "x:rock a skos:Concept .\n"
    "x:whale a skos:Concept ; skos:broader x:fish ; owl:deprecated true .\n"
    "x:beluga a skos:Concept ; skos:broader x:whale .\n"
    "x:all a skos:ConceptScheme ; skos:hasTopConcept x:animal ; skos:note [ skos:note ( 1 2 ) ] "
    ".\n";

std::vector<std::string> edges(const Hierarchy& h) {
  std::vector<std::string> named;
  for (const auto& [parent, child] : h.edges)
    named.push_back(h.codec.name(parent) + " " + h.codec.name(child));
  return named;
}

std::string error_of(const std::string& turtle) {
  return message_of([&] { parse_hierarchy(kPrefixes + turtle, "f"); });
}

TEST(SkosReader, concepts_are_nodes_below_what_is_broader) {
  const Hierarchy h = parse_hierarchy(kAnimals, "f");
  EXPECT_THAT(h.codec.names(),
              UnorderedElementsAre("http://x/animal", "http://x/fish", "http://x/dog",
                                   "http://x/rock", "http://x/beluga"));
  // The edge to the fish is stated from both ends; the whale is deprecated.
  EXPECT_THAT(edges(h), UnorderedElementsAre("http://x/animal http://x/fish",
                                             "http://x/animal http://x/dog"));
}

TEST(SkosReader, names_are_in_the_language_that_is_asked_for) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "animals.ttl", kAnimals);
  const auto names = [&](const std::string& language) {
    const Hierarchy h = read_hierarchy(folder / "animals.ttl", {.language = language});
    std::vector<std::string> of_nodes;
    for (const char* uri : {"http://x/animal", "http://x/dog", "http://x/fish", "http://x/rock"})
      of_nodes.push_back(h.names[*h.codec.find(uri)]);
    return of_nodes;
  };
  EXPECT_THAT(names(""), ElementsAre("animal", "dog, tame", "Fisch", ""));
  EXPECT_THAT(names("fi"), ElementsAre("el\u00e4in", "koira", "", ""));
  EXPECT_THAT(names("EN"), ElementsAre("animal", "dog, tame", "", ""));
  EXPECT_EQ(message_of([&] { names("sv"); }), "option language is sv, but no concept of " +
                                                  (folder / "animals.ttl") +
                                                  " has a skos:prefLabel in it");
}

TEST(SkosReader, takes_triples_on_lines_of_their_own) {
  const Hierarchy h = parse_hierarchy(
      "<http://a/b> <http://www.w3.org/2004/02/skos/core#broader> <http://a/c> .\n"
      "<http://a/c> <http://www.w3.org/2004/02/skos/core#prefLabel> \"c\" .\n",
      "f");
  EXPECT_THAT(edges(h), ElementsAre("http://a/c http://a/b"));
  EXPECT_THAT(h.names, UnorderedElementsAre("c", ""));
}

TEST(SkosReader, relative_uris_follow_the_base) {
  const Hierarchy h = parse_hierarchy(
      "@base <http://a/b/> .\n"
      "<c> <http://www.w3.org/2004/02/skos/core#broader> <../d> .\n",
      "f");
  EXPECT_THAT(edges(h), ElementsAre("http://a/d http://a/b/c"));
}

TEST(SkosReader, errors_say_where_and_what) {
  EXPECT_EQ(error_of("x:scheme a skos:ConceptScheme .\n"),
            "f: the file has no skos:Concept, but must have at least one");
  EXPECT_THAT(error_of("x:a skos:broader x:b\nx:c skos:broader x:d .\n"), StartsWith("f:6:"));
  EXPECT_THAT(error_of("x:a skos:prefLabel \"no end .\n"), StartsWith("f:"));
  EXPECT_THAT(error_of("x:a skos:broader x:b .\nx:b skos:broader x:a .\n"),
              HasSubstr("f: edge 'http://x/a' 'http://x/b' closes the cycle"));
  EXPECT_THAT(error_of("x:a skos:broader x:a .\n"), HasSubstr("closes the cycle"));
  const std::string long_name(2000, 'a');
  EXPECT_THAT(error_of("x:" + long_name + " a skos:Concept .\n"),
              StartsWith("f: the URI of a concept has 20"));
  EXPECT_EQ(message_of([] {
              parse_hierarchy(
                  "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/>\n", "f");
            }),
            "f: the file has no skos:Concept, but must have at least one");
}

TEST(SkosReader, deep_nesting_is_an_error_and_no_crash) {
  const auto repeated = [](std::string_view piece) {
    std::string text;
    for (int k = 0; k < 300'000; ++k) text += piece;
    return text;
  };
  EXPECT_THAT(error_of("x:a skos:note " + repeated("[ skos:note ")), HasSubstr("nested"));
  EXPECT_THAT(error_of("x:a skos:note " + repeated("( ")), HasSubstr("nested"));
  EXPECT_THAT(error_of(repeated("[ skos:note ")), HasSubstr("nested"));
  EXPECT_THAT(error_of(repeated("( ")), HasSubstr("nested"));
  std::string many;  // of no depth
  for (int k = 0; k < 500; ++k) many += "x:a skos:note [ skos:note ( 1 ( 2 ) 3 ) ] .\n";
  EXPECT_THAT(error_of(many), HasSubstr("no skos:Concept"));
}

TEST(SkosReader, options_of_other_formats_are_refused) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "animals.ttl", kAnimals);
  testing::write_bytes(folder / "edges", "a b\n");
  EXPECT_THROW(read_hierarchy(folder / "animals.ttl", {.part_of = true}), InvalidOption);
  EXPECT_THROW(read_hierarchy(folder / "edges", {.language = "en"}), InvalidOption);
}

TEST(RdfSyntax, is_told_by_the_first_line_that_is_no_comment) {
  EXPECT_EQ(rdf_syntax("# hm\n\n@prefix a: <b> .\n"), RdfSyntax::turtle);
  EXPECT_EQ(rdf_syntax("PREFIX a: <b>\r\n"), RdfSyntax::turtle);
  EXPECT_EQ(rdf_syntax("<a> <b> <c> .\n"), RdfSyntax::ntriples);
  EXPECT_EQ(rdf_syntax("<rdf:RDF>\n"), RdfSyntax::xml);
  EXPECT_EQ(rdf_syntax("<a> <b>\n"), RdfSyntax::none);
  EXPECT_EQ(rdf_syntax("prefix suffix\n"), RdfSyntax::none);
  EXPECT_EQ(rdf_syntax("# all\n"), RdfSyntax::none);
}

}  // namespace
}  // namespace margrove
