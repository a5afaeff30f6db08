#include "data/rdf_xml_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "data/hierarchy_edges.hpp"
#include "data/input_file.hpp"
#include "files.hpp"
#include "margrove/errors.hpp"
#include "margrove/hierarchy_reader.hpp"

namespace margrove {
namespace {
using detail::resolved_uri;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

/// Triples as text, with <> around URIs and @language after literals.
class Triples : public detail::TripleSink {
 public:
  void add(std::string_view subject, std::string_view predicate, std::string_view object) override {
    lines.push_back(concat(subject, " ", predicate, " <", object, ">"));
  }
  void add(std::string_view subject, std::string_view predicate,
           const detail::RdfLiteral& object) override {
    lines.push_back(concat(subject, " ", predicate, " ", object.text,
                           object.language.empty() ? "" : "@", object.language));
  }
  std::vector<std::string> lines;
};

const std::string kOpening =
    "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\" xmlns:p=\"p:\" "
    "xml:base=\"http://x/y/\">\n";

std::vector<std::string> triples_of(const std::string& document) {
  Triples triples;
  detail::read_rdf_xml(LineBlocks(open_memory(document, "f"), "f"), triples);
  return triples.lines;
}
std::vector<std::string> triples_in(const std::string& nodes) {
  return triples_of(kOpening + nodes + "</rdf:RDF>\n");
}
std::string error_of(const std::string& document) {
  return message_of([&] { triples_of(document); });
}
std::string error_in(const std::string& nodes) {
  return message_of([&] { triples_in(nodes); });
}

TEST(RdfXmlReader, nodes_and_properties_give_triples) {
  EXPECT_THAT(triples_in("<rdf:Description rdf:about='a:1'><p:name xml:lang='fi'> k&#228; </p:name>"
                         "<p:of rdf:resource='a:2'/></rdf:Description>"),
              ElementsAre("a:1 p:name  k\u00e4 @fi", "a:1 p:of <a:2>"));
  // The element of a node is its type, attributes are properties, nodes stand within properties.
  EXPECT_THAT(
      triples_in("<p:Concept rdf:about='a:1' p:name='one' rdf:type='p:Thing'><p:of>\n"
                 "  <p:Concept rdf:about='a:2'/>\n</p:of></p:Concept>"),
      UnorderedElementsAre("a:1 http://www.w3.org/1999/02/22-rdf-syntax-ns#type <p:Concept>",
                           "a:1 http://www.w3.org/1999/02/22-rdf-syntax-ns#type <p:Thing>",
                           "a:1 p:name one", "a:1 p:of <a:2>",
                           "a:2 http://www.w3.org/1999/02/22-rdf-syntax-ns#type <p:Concept>"));
  // A single node may be the whole document.
  EXPECT_THAT(triples_of("<p:C xmlns:p='p:' xmlns:r='http://www.w3.org/1999/02/22-rdf-syntax-ns#' "
                         "r:about='a:1'/>"),
              ElementsAre("a:1 http://www.w3.org/1999/02/22-rdf-syntax-ns#type <p:C>"));
}

TEST(RdfXmlReader, languages_are_inherited_and_literals_with_types_have_none) {
  EXPECT_THAT(triples_in("<rdf:Description rdf:about='a:1' xml:lang='en'><p:n>x</p:n><p:n "
                         "xml:lang=''>y</p:n><p:n rdf:datatype='t:b'>true</p:n></rdf:Description>"),
              ElementsAre("a:1 p:n x@en", "a:1 p:n y", "a:1 p:n true"));
}

TEST(RdfXmlReader, references_follow_the_base) {
  EXPECT_THAT(triples_in("<rdf:Description rdf:about='../z'><p:o rdf:resource='#f'/><p:o xml:base="
                         "'http://w/' rdf:resource='v'/></rdf:Description>"
                         "<rdf:Description rdf:ID='i' p:n='1'/>"),
              ElementsAre("http://x/z p:o <http://x/y/#f>", "http://x/z p:o <http://w/v>",
                          "http://x/y/#i p:n 1"));
  EXPECT_EQ(resolved_uri("a/b", ""), "a/b");
  EXPECT_EQ(resolved_uri("urn:a", "http://x/"), "urn:a");
  EXPECT_EQ(resolved_uri("", "http://x/y#z"), "http://x/y");
}

TEST(RdfXmlReader, blank_nodes_lists_and_markup_give_no_triples_of_their_own) {
  EXPECT_THAT(
      triples_in("<rdf:Description rdf:about='a:1'><p:b rdf:parseType='Resource'><p:n>x</p:n></p:b>"
                 "<p:b rdf:nodeID='k'/><p:b p:n='y'/><p:b><rdf:Description p:n='z'/></p:b>"
                 "<p:m rdf:parseType='Literal'>a <b c='d'>e</b> f</p:m>"
                 "<p:l rdf:parseType='Collection'><rdf:Description rdf:about='a:2' p:n='2'/>"
                 "<rdf:Description rdf:about='a:3' p:n='3'/></p:l><p:n>last</p:n>"
                 "</rdf:Description>"),
      ElementsAre("a:2 p:n 2", "a:3 p:n 3", "a:1 p:n last"));
}

TEST(RdfXmlReader, entities_may_be_short_texts) {
  EXPECT_THAT(triples_of("<?xml version='1.0' encoding='ISO-8859-1'?>\n"
                         "<!DOCTYPE rdf:RDF [<!ENTITY a \"http://a/\"> ]>\n" +
                         kOpening +
                         "<rdf:Description rdf:about='&a;1'><p:n>\xe4 &lt;&a;</p:n>"
                         "</rdf:Description></rdf:RDF>"),
              ElementsAre("http://a/1 p:n \u00e4 <http://a/"));
}

TEST(RdfXmlReader, nothing_outside_of_the_file_is_read) {
  const auto error_with = [](const std::string& declaration) {
    return error_of("<!DOCTYPE r [" + declaration + "]>\n<r>&e;</r>");
  };
  EXPECT_EQ(error_with("<!ENTITY e SYSTEM 'file:///etc/hostname'>"),
            "f:1:54: entity 'e' is outside of the file, where nothing is read");
  EXPECT_EQ(error_with("<!ENTITY % e SYSTEM 'http://example.org/x.dtd'> %e;"),
            "f:1:60: entity 'e' is outside of the file, where nothing is read");
  EXPECT_EQ(error_of("<!DOCTYPE r SYSTEM 'http://example.org/x.dtd'>\n" + kOpening +
                     "<p:C>&e;</p:C></rdf:RDF>"),
            "f:3:6: entity 'e' is not defined in the file");
  EXPECT_THAT(
      triples_of("<!DOCTYPE r SYSTEM 'http://example.org/x.dtd'>\n" + kOpening + "</rdf:RDF>"),
      IsEmpty());
}

TEST(RdfXmlReader, entities_cannot_make_a_document_long) {
  EXPECT_THAT(error_of("<!DOCTYPE r [<!ENTITY a 'x'><!ENTITY b '&a;&a;'>]>\n<r>&b;</r>"),
              StartsWith("f:1:40: entity 'b' must be a text of at most 1000 bytes"));
  EXPECT_THAT(error_of("<!DOCTYPE r [<!ENTITY a '" + std::string(1001, 'x') + "'>]>\n<r>&a;</r>"),
              StartsWith("f:1:25: entity 'a' must be a text of at most 1000 bytes"));
  std::string many = "<!DOCTYPE r [<!ENTITY a '" + std::string(1000, 'x') + "'>]>\n" + kOpening +
                     "<rdf:Description rdf:about='a:1'><p:n>";
  for (int k = 0; k < 100'000; ++k) many += "&a;";
  EXPECT_THAT(error_of(many + "</p:n></rdf:Description></rdf:RDF>"), HasSubstr("amplification"));
}

TEST(RdfXmlReader, faults_have_their_place) {
  EXPECT_EQ(error_of(kOpening + "<p:C>\n</rdf:RDF>"),
            "f:3:3: the file is not well-formed XML: mismatched tag");
  EXPECT_EQ(error_of(""), "f:1:1: the file is not well-formed XML: no element found");
  EXPECT_EQ(error_of(kOpening + "\xff</rdf:RDF>"),
            "f:2:1: the file is not well-formed XML: not well-formed (invalid token)");
  EXPECT_EQ(error_of(kOpening + "<q:C/></rdf:RDF>"),
            "f:2:1: the file is not well-formed XML: unbound prefix");
  EXPECT_EQ(error_in("word"), "f:2:1: the text 'word' stands where RDF has none");
  EXPECT_EQ(error_in("<p:C> word</p:C>"), "f:2:6: the text 'word' stands where RDF has none");
  EXPECT_EQ(error_in("<p:C><p:o><p:C/>word</p:o></p:C>"),
            "f:2:17: the text 'word' stands where RDF has none");
  EXPECT_EQ(error_in("<p:C><p:o>word<p:C/></p:o></p:C>"),
            "f:2:15: the property 'p:o' has more than one value");
  EXPECT_EQ(error_in("<p:C><p:o><p:C/><p:C/></p:o></p:C>"),
            "f:2:17: the property 'p:o' has more than one value");
  EXPECT_EQ(
      error_in("<p:C rdf:about='a:1' rdf:ID='b'/>"),
      "f:2:1: a node has more than one of rdf:about, rdf:ID and rdf:nodeID, but may have one");
  EXPECT_EQ(error_in("<p:C rdf:resource='a:1'/>"),
            "f:2:1: the node 'p:C' has an attribute of properties, rdf:resource or rdf:parseType");
  EXPECT_EQ(error_in("<p:C><p:o rdf:about='a:1'/></p:C>"),
            "f:2:6: the property 'p:o' has rdf:about, which is for nodes");
  EXPECT_EQ(error_in("<p:C name='x'/>"),
            "f:2:1: attribute 'name' has no namespace, but must have one");
  std::string deep;
  for (int k = 0; k < 300'000; ++k) deep += "<p:C><p:o>";
  EXPECT_EQ(error_in(deep), "f:2:996: elements are nested more than 200 deep");
}

// The same vocabulary in two syntaxes.
TEST(RdfXmlReader, a_vocabulary_is_that_of_turtle) {
  const std::string turtle =
      "@prefix skos: <http://www.w3.org/2004/02/skos/core#> .\n"
      "@prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
      "@prefix x: <http://x/> .\n"
      "x:animal a skos:Concept ; skos:prefLabel \"animal\"@en , \"el\u00e4in\"@fi .\n"
      "x:dog a skos:Concept ; skos:broader x:animal ; skos:prefLabel \"dog, tame\"@en .\n"
      "x:animal skos:narrower x:fish .\n"
      "x:fish skos:prefLabel \"fish\" .\n"
      "x:whale a skos:Concept ; skos:broader x:fish ; owl:deprecated true .\n";
  const std::string xml =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"\n"
      "    xmlns:skos=\"http://www.w3.org/2004/02/skos/core#\"\n"
      "    xmlns:owl=\"http://www.w3.org/2002/07/owl#\" xml:base=\"http://x/\">\n"
      "  <skos:Concept rdf:about=\"animal\">\n"
      "    <skos:prefLabel xml:lang=\"en\">animal</skos:prefLabel>\n"
      "    <skos:prefLabel xml:lang=\"fi\">el\u00e4in</skos:prefLabel>\n"
      "  </skos:Concept>\n"
      "  <rdf:Description rdf:about=\"http://x/dog\">\n"
      "    <rdf:type rdf:resource=\"http://www.w3.org/2004/02/skos/core#Concept\"/>\n"
      "    <skos:broader rdf:resource=\"animal\"/>\n"
      "    <skos:prefLabel xml:lang=\"en\">dog, tame</skos:prefLabel>\n"
      "  </rdf:Description>\n"
      "  <skos:Concept rdf:about=\"animal\"><skos:narrower>\n"
      "    <rdf:Description rdf:about=\"fish\" skos:prefLabel=\"fish\"/>\n"
      "  </skos:narrower></skos:Concept>\n"
      "  <skos:Concept rdf:about=\"whale\"><skos:broader rdf:resource=\"fish\"/>\n"
      "    <owl:deprecated rdf:datatype=\"http://www.w3.org/2001/XMLSchema#boolean\">true"
      "</owl:deprecated>\n"
      "  </skos:Concept>\n"
      "</rdf:RDF>\n";
  for (const std::string language : {"", "en", "fi"}) {
    const testing::ScratchFolder folder;
    const auto read = [&](const std::string& name, const std::string& text) {
      testing::write_bytes(folder / name, text);
      return read_hierarchy(folder / name, {.language = language});
    };
    const Hierarchy a = read("v.ttl", turtle), b = read("v.rdf", xml);
    ASSERT_THAT(b.codec.names(), ::testing::ElementsAreArray(a.codec.names()));
    EXPECT_EQ(a.names, b.names);
    ASSERT_EQ(a.edges.size(), b.edges.size());
    for (std::size_t e = 0; e < a.edges.size(); ++e) {
      EXPECT_EQ(a.edges[e].parent, b.edges[e].parent);
      EXPECT_EQ(a.edges[e].child, b.edges[e].child);
    }
  }
}

}  // namespace
}  // namespace margrove
