#include "data/gaf_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compression.hpp"
#include "files.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using testing::message_of;

/// A line with 15 columns.
std::string line_of(const std::string& object, const std::string& qualifiers,
                    const std::string& term, const std::string& evidence,
                    const std::string& aspect) {
  return "DB\t" + object + "\tname\t" + qualifiers + "\t" + term + "\tREF:1\t" + evidence + "\t\t" +
         aspect + "\t\t\tgene\ttaxon:1\t20260101\tDB\n";
}

const std::string kGaf = "!gaf-version: 2.2\n" + line_of("g1", "enables", "GO:2", "EXP", "F") +
                         line_of("g2", "part_of", "GO:3", "IEA", "C") +
                         line_of("g1", "enables", "GO:2", "IDA", "F") + "\n" +
                         line_of("g1", "involved_in", "GO:1", "IDA", "P") +
                         line_of("g2", "NOT|enables", "GO:1", "EXP", "P");

std::string error_of(const std::string& text, const GafFilter& filter = {}) {
  return message_of([&] { parse_gaf(text, "f", filter); });
}

TEST(GafReader, objects_have_terms_that_are_not_negated) {
  const Annotations found = parse_gaf(kGaf, "f");
  EXPECT_THAT(found.objects.names(), ElementsAre("g1", "g2"));
  EXPECT_THAT(found.terms.names(), ElementsAre("GO:2", "GO:3", "GO:1"));
  EXPECT_THAT(found.terms_of[0], ElementsAre(0, 2));
  EXPECT_THAT(found.terms_of[1], ElementsAre(1));
  EXPECT_EQ(parse_gaf(testing::gzip(kGaf), "f").terms_of, found.terms_of);
}

TEST(GafReader, evidence_and_aspects_choose_annotations) {
  const Annotations known = parse_gaf(kGaf, "f", {.evidence = {"EXP", "IDA"}});
  EXPECT_THAT(known.objects.names(), ElementsAre("g1"));
  EXPECT_THAT(known.terms.names(), ElementsAre("GO:2", "GO:1"));
  const Annotations places = parse_gaf(kGaf, "f", {.aspects = "CP"});
  EXPECT_THAT(places.terms.names(), ElementsAre("GO:3", "GO:1"));
}

TEST(GafReader, lines_of_another_form_are_left_out_and_counted) {
  const Annotations found =
      parse_gaf("! c\n" + line_of("", "", "GO:1", "EXP", "F") + kGaf + "x\n", "f");
  EXPECT_THAT(found.objects.names(), ElementsAre("g1", "g2"));
  EXPECT_THAT(found.warnings,
              ElementsAre("f:2:4: object is empty, but must have at least one character; 2 of 7 "
                          "lines left out"));
  EXPECT_TRUE(parse_gaf(kGaf, "f").warnings.empty());
}

TEST(GafReader, errors_say_where_and_what) {
  EXPECT_EQ(error_of("!gaf-version: 2.2\n"),
            "f: the file has no annotation, but must have at least one");
  const std::string none = "; none of the 1 lines is an annotation";
  EXPECT_EQ(error_of("a\tb\n"),
            "f:1:4: the line has 2 columns, but must have 15 to 17 separated by tabs" + none);
  EXPECT_EQ(error_of("x" + std::string(17, '\t') + "\n"),
            "f:1:19: the line has 18 columns, but must have 15 to 17 separated by tabs" + none);
  EXPECT_EQ(error_of(line_of("", "", "GO:1", "EXP", "F")),
            "f:1:4: object is empty, but must have at least one character" + none);
  EXPECT_EQ(
      error_of("! c\n" + line_of("g", "", "GO 1", "EXP", "F")),
      "f:2:12: label is 'GO 1', but must not contain blanks, commas or control characters" + none);
  EXPECT_EQ(error_of(line_of("g", "", "GO:1", "", "F")),
            "f:1:23: column 7 is empty, but must have the evidence" + none);
  EXPECT_EQ(error_of(line_of("g", "", "GO:1", "EXP", "")),
            "f:1:28: column 9 is empty, but must have the aspect" + none);
  EXPECT_EQ(error_of(kGaf, {.evidence = {"XYZ"}}),
            "f: none of the 5 annotations is left without those that say NOT, and those of other "
            "evidence or aspects than asked for");
  EXPECT_EQ(message_of([] { read_gaf("/nowhere/f"); }),
            "/nowhere/f: cannot open: No such file or directory");
}

}  // namespace
}  // namespace margrove
