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
  EXPECT_THAT(names("fi"), ElementsAre("el\u00e4in", "koira", "Fisch", ""));
  EXPECT_THAT(names("EN"), ElementsAre("animal", "dog, tame", "Fisch", ""));
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

TEST(SkosReader, a_name_in_no_language_comes_before_those_in_others) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "v.ttl",
                       kPrefixes +
                           "x:a a skos:Concept ; skos:prefLabel \"A\"@en , \"ahh\" , \"Ah\"@de .\n"
                           "x:b a skos:Concept ; skos:prefLabel \"Beh\"@de , \"B\"@en ;\n"
                           "  skos:broader x:a .\n"
                           "x:c a skos:Concept ; skos:prefLabel \"C\"@fi ; skos:broader x:a .\n");
  EXPECT_THAT(read_hierarchy(folder / "v.ttl", {.language = "fi"}).names,
              ElementsAre("ahh", "B", "C"));
}

TEST(SkosReader, kinds_of_broader_are_edges_and_transitive_ones_a_warning) {
  const std::string iso = kPrefixes + "@prefix it: <http://purl.org/iso25964/skos-thes#> .\n";
  const Hierarchy h = parse_hierarchy(iso +
                                          "x:a a skos:Concept ; it:narrowerPartitive x:d .\n"
                                          "x:b a skos:Concept ; it:broaderGeneric x:a .\n"
                                          "x:c a skos:Concept ; skos:broaderTransitive x:a .\n"
                                          "x:d a skos:Concept ; skos:broaderTransitive x:a .\n",
                                      "f");
  EXPECT_THAT(edges(h), UnorderedElementsAre("http://x/a http://x/b", "http://x/a http://x/d"));
  EXPECT_THAT(h.warnings,
              ElementsAre("f: 1 concept with an ancestor by skos:broaderTransitive or "
                          "skos:narrowerTransitive, which are not read because they skip levels, "
                          "but without a parent; state skos:broader"));
  EXPECT_THAT(parse_hierarchy(kPrefixes + "x:a a skos:Concept .\n", "f").warnings,
              ElementsAre("f: the vocabulary has no skos:broader or skos:narrower, so that every "
                          "concept is a root without a child"));
}

TEST(SkosReader, parents_that_the_file_does_not_describe_are_counted) {
  const Hierarchy h =
      parse_hierarchy(kPrefixes +
                          "x:a a skos:Concept ; skos:broader x:old , x:else , x:other .\n"
                          "x:old a skos:Concept ; owl:deprecated true .\n",
                      "f");
  EXPECT_THAT(edges(h), ElementsAre("http://x/else http://x/a", "http://x/other http://x/a"));
  EXPECT_THAT(h.warnings,
              ElementsAre("f: 2 nodes are in skos:broader or skos:narrower alone, neither a "
                          "skos:Concept of the file nor named, the first one 'http://x/else'",
                          "f: 1 edge from deprecated concepts left out, the first one from "
                          "'http://x/old' to 'http://x/a'"));
}

TEST(SkosReader, blank_and_comment_lines_before_are_no_matter) {
  for (const std::string before : {"\n", "#\n", "\r\n \n", "\xEF\xBB\xBF\n"}) {
    EXPECT_EQ(parse_hierarchy(before + kAnimals, "f").edges.size(),
              parse_hierarchy(kAnimals, "f").edges.size());
  }
  std::string many;
  while (many.size() < 3'000'000) many += "# no line of the vocabulary\n\n";
  EXPECT_EQ(parse_hierarchy(many + kAnimals, "f").edges.size(),
            parse_hierarchy(kAnimals, "f").edges.size());
  EXPECT_EQ(parse_hierarchy(many + "a b\n", "f").edges.size(), 1U);
  const std::string rdf =
      "<?xml version='1.0'?>\n"
      "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>\n<\n";
  EXPECT_THAT(message_of([&] { parse_hierarchy("\n \n" + rdf, "f"); }), StartsWith("f:5:2: the"));
}

TEST(SkosReader, long_prefixes_and_bases_are_refused_before_uris_are_made_of_them) {
  const std::string uri = "http://x/" + std::string(2000, 'q');
  EXPECT_EQ(error_of("@prefix q: <" + uri + "> .\n"),
            "f: the URI of prefix 'q' has 2009 bytes, but must have at most 1024");
  EXPECT_EQ(error_of("@base <" + uri + "> .\n"),
            "f: the base has 2009 bytes, but must have at most 1024");
  std::string steps = "@base <http://x/> .\n";
  for (int k = 0; k < 10; ++k) steps += "@base <" + std::string(200, 'a') + "/> .\n";
  EXPECT_THAT(error_of(steps), HasSubstr("f: the base has 1"));
  const std::string head = "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' ";
  EXPECT_THAT(message_of([&] { parse_hierarchy(head + "xmlns:q='" + uri + "'/>", "f"); }),
              HasSubstr("a namespace has 2009 bytes"));
  EXPECT_THAT(message_of([&] { parse_hierarchy(head + "xml:base='" + uri + "'/>", "f"); }),
              HasSubstr("xml:base has 2009 bytes"));
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

TEST(SkosReader, other_names_are_read_in_the_language_of_the_names) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "v.ttl";
  testing::write_bytes(
      path,
      kPrefixes +
          "x:dog a skos:Concept ; skos:prefLabel \"dog\"@en ;\n"
          "  skos:altLabel \"Hund\"@de , \"hound\"@en , \"hauva\"@fi , \"cur\"@en-GB ;\n"
          "  skos:hiddenLabel \"dgo\"@en ; skos:scopeNote \"tame\"@en .\n"
          "x:cat a skos:Concept ; skos:altLabel \"kissa\"@fi , \"Katze\"@de , \"mirri\"@fi .\n"
          "x:rock a skos:Concept .\n");
  EXPECT_THAT(read_hierarchy(path).other_names, IsEmpty());
  EXPECT_THAT(read_hierarchy(path, "", true).other_names,
              ElementsAre("hound\ncur\ndgo", "kissa\nmirri", ""));
  EXPECT_THAT(read_hierarchy(path, {.language = "en", .other_names = true}).other_names,
              ElementsAre("hound\ncur\ndgo", "kissa\nmirri", ""));
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
  EXPECT_EQ(rdf_syntax("<a> <b> <c> .\n"), RdfSyntax::turtle);
  EXPECT_EQ(rdf_syntax("<a>\n  a <c> .\n"), RdfSyntax::turtle);
  EXPECT_EQ(rdf_syntax("_:a <b> <c> .\n"), RdfSyntax::turtle);
  EXPECT_EQ(rdf_syntax("@prefix a:\n  <b> .\n"), RdfSyntax::turtle);
  EXPECT_EQ(rdf_syntax("prefix child\n"), RdfSyntax::none);
  EXPECT_EQ(rdf_syntax("<http://a/b>\tlabel\n"), RdfSyntax::none);
  EXPECT_EQ(rdf_syntax("<rdf:RDF>\n"), RdfSyntax::xml);
  EXPECT_EQ(rdf_syntax("<a> <b>\n"), RdfSyntax::none);
  EXPECT_EQ(rdf_syntax("prefix suffix\n"), RdfSyntax::none);
  EXPECT_EQ(rdf_syntax("# all\n"), RdfSyntax::none);
}

}  // namespace
}  // namespace margrove
