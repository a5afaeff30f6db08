#include "data/foreign_forms.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compression.hpp"
#include "files.hpp"
#include "margrove/hierarchy_reader.hpp"
#include "margrove/text_reader.hpp"

namespace margrove {
namespace {
using ::testing::HasSubstr;
using testing::message_of;
using ::testing::StartsWith;
using std::string_literals::operator""s;

std::string of_hierarchy(std::string_view text) {
  return message_of([&] { parse_hierarchy(text, "f"); });
}
std::string of_rows(std::string_view text) {
  return message_of([&] { parse_text(text, "f", {}); });
}

TEST(ForeignForms, bytes_of_no_text_are_named_for_every_reader) {
  EXPECT_EQ(of_hierarchy("\xff\xfe"
                         "a\0 \0b\0"s),
            "f: the file is UTF-16, but must be text in UTF-8; convert it, for example with iconv "
            "-f UTF-16 -t UTF-8, or save it as UTF-8");
  EXPECT_EQ(of_rows("\xff\xfe"
                    "a\0 \0b\0"s),
            of_hierarchy("\xfe\xff\0a"s));
  EXPECT_THAT(of_hierarchy("a\0 \0b\0\n\0"s), StartsWith("f: the file is UTF-16"));
  EXPECT_THAT(of_hierarchy("\0a\0 \0b\0\n"s), StartsWith("f: the file is UTF-16"));
  EXPECT_THAT(of_rows("\xff\xfe\0\0a\0\0\0"s), StartsWith("f: the file is UTF-32"));
  EXPECT_THAT(of_hierarchy(testing::gzip(testing::gzip("a b\n"))),
              StartsWith("f: the file is compressed twice, within by gzip"));
  EXPECT_THAT(of_hierarchy(testing::zstd(testing::zstd("a b\n"))),
              StartsWith("f: the file is compressed twice, within by zstd"));
  EXPECT_THAT(of_rows("PK\x03\x04 and more"), HasSubstr("export the sheet as CSV"));
  EXPECT_THAT(of_rows("a/b" + std::string(254, '\0') + "ustar"), HasSubstr("a tar archive"));
  EXPECT_EQ(parse_hierarchy("PK b\n", "f").edges.size(), 1U);
}

TEST(ForeignForms, texts_that_are_no_hierarchies_are_named) {
  EXPECT_EQ(of_hierarchy("{\"animal\":[\"dog\",\"cat\"]}"),
            "f:1:1: the file looks like JSON, but must be an edge list, OBO or SKOS; write a line "
            "'parent child' for each edge");
  EXPECT_EQ(of_hierarchy("\n# c\n {\n  \"@context\": \"x\",\n  \"@id\": \"y\"\n}\n"),
            "f:3:2: the file looks like JSON-LD, but must be an edge list, OBO or SKOS; write the "
            "vocabulary as Turtle, N-Triples or RDF/XML");
  EXPECT_THAT(of_hierarchy("[\n {\"a\": 1}]\n"), HasSubstr("looks like a JSON array"));
  EXPECT_THAT(of_hierarchy("[\"a\",\n\"b\"]\n"), HasSubstr("looks like JSON,"));
  EXPECT_THAT(of_hierarchy("% c\n@RELATION x\n\n@attribute a numeric\n"), HasSubstr("like ARFF"));
  EXPECT_THAT(of_hierarchy("<!DOCTYPE html>\n<html>\n"), HasSubstr("download the file itself"));
  EXPECT_THAT(of_hierarchy("<?xml version='1.0'?>\n<!-- c -->\n<!DOCTYPE Ontology [\n <!ENTITY a "
                           "'b'>\n]>\n<Ontology xmlns='http://www.w3.org/2002/07/owl#'/>\n"),
              HasSubstr("looks like OWL/XML"));
  EXPECT_THAT(of_hierarchy("Prefix(:=<http://x/>)\nOntology(<http://x/>)\n"),
              HasSubstr("OWL in functional or Manchester syntax"));
}

TEST(ForeignForms, texts_that_are_no_rows_are_named) {
  EXPECT_EQ(of_rows("__label__a __label__b some text\n"),
            "f:1:1: the file looks like fastText's form, but must be svmlight, labelled text, CSV "
            "or JSON lines; write label[,label]<TAB>text without __label__");
  EXPECT_THAT(of_rows("@relation x\n@attribute a numeric\n"), HasSubstr("rows after @data as CSV"));
  EXPECT_THAT(of_rows("[{\"text\": \"a\"}]"), HasSubstr("one object on each line"));
  EXPECT_THAT(of_rows("\n<html>\n"), HasSubstr("f:2:1: the file looks like HTML"));
  EXPECT_EQ(parse_text("__label__a\ttext\n", "f", {}).documents.size(), 1U);
}

/// A line of CoNLL-U.
std::string word(std::string_view id, std::string_view form, std::string_view head) {
  return concat(id, "\t", form, "\t_\tX\t_\t_\t", head, "\tdep\t_\t_\n");
}
const std::string kSentence = word("1", "Dogs", "2") + word("2", "bark", "0");

TEST(ForeignForms, sentences_in_conllu_are_no_texts) {
  EXPECT_EQ(of_rows("# sent_id = 1\n# text = Dogs bark\n" + kSentence + "\n"),
            "f:3:1: the file looks like CoNLL-U, but must be svmlight, labelled text, CSV or JSON "
            "lines; train on sentences and their trees with method structured (--method structured "
            "--model dependency)");
  for (const std::string& text :
       {kSentence, word("1-2", "it's", "_") + kSentence, word("1", "Hm", "0"),
        word("1", "Dogs", "_") + word("1.1", "do", "_") + word("2", "bark", "_")}) {
    EXPECT_THAT(of_rows(text), HasSubstr("looks like CoNLL-U"));
  }
}

TEST(ForeignForms, texts_with_tabs_and_numbers_are_texts) {
  const std::string cells = "\ta\tb\tc\td\te\tf\tg\th\ti\n";  // no heads
  for (const std::string& text :
       {"1" + cells + "2" + cells, word("2", "a", "0") + word("1", "b", "0"),
        word("1", "a", "0") + word("1", "b", "0"), kSentence + "3\tsome text\n",
        std::string("1\tone text\n2\ttwo texts\n\n1\tone text\n"),
        std::string("a\tDET\ndog\tNOUN\n\na\tDET\ncat\tNOUN\n")}) {
    EXPECT_GT(parse_text(text, "f", {}).documents.size(), 1U) << text;
  }
}

TEST(ForeignForms, hints_tell_sentences_from_rows) {
  const auto hint = detail::hint_for_sentences;
  EXPECT_EQ(hint(kSentence),
            "; the file looks like CoNLL-U: train on sentences and their trees with method "
            "structured (--method structured --model dependency)");
  const std::string tokens =
      "; the file looks like sentences with a token and its tag on each line: train on them with "
      "method structured (--method structured)";
  for (const std::string_view text :
       {"a DET\ndog NOUN\n\na DET\n", "a\tDET\n\ncat\tNOUN\n", "\na X B\r\n\r\nb Y O\r\n",
        "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\n\nPeter NNP B-NP B-PER\n", ". : O\n\n: : O\n"}) {
    EXPECT_EQ(hint(text), tokens) << text;
  }
  for (const std::string_view text :
       {"", "a DET\ndog NOUN\n", "a 1:1\n\nb 2:1\n", "a one text\n\nb text\n", "a\n\nb\n",
        "a\tone text\n\nb\ttwo texts\n", "a\t\n\nb\tx\n", "title,price\n\napple,1\n"}) {
    EXPECT_EQ(hint(text), "") << text;
  }
}

}  // namespace
}  // namespace margrove
