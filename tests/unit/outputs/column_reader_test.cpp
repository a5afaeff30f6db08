#include "outputs/chain/column_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/out_of_time.hpp"
#include "counted_seconds.hpp"
#include "files.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using testing::message_of;
using std::string_literals::operator""s;

std::string columns_error(std::string_view text) {
  return message_of([&] { parse_columns(text, "f"); });
}

TEST(ColumnReader, asks_for_the_time_and_bounds_lines) {
  std::string lines;
  while (lines.size() < 10'000'000) lines += "w O\n";
  constexpr long kLimit = 5;
  RunControl control(nullptr, 1e-3 * (kLimit - 0.5), &testing_clock::counted_seconds);
  const long before = testing_clock::questions;
  EXPECT_EQ(message_of<OutOfTimeLimit>([&] { parse_columns(lines, "f", {}, &control); }),
            "f: the time limit ended reading; nothing is trained");
  EXPECT_LE(testing_clock::questions - before, kLimit);
  lines = "# " + std::string(40'000'000, 'x') + "\n" + "w O\n";
  RunControl small;
  small.limit_memory(2e8);
  EXPECT_THAT(message_of([&] { parse_columns(lines, "f", {}, &small); }),
              ::testing::StartsWith("f:1: the line has "));
  small.limit_memory(4e8);
  EXPECT_NO_THROW(parse_columns(lines, "f", {}, &small));
}

TEST(ColumnReader, reads_tokens_features_and_tags) {
  const ColumnCorpus corpus = parse_columns(
      "-DOCSTART- -X- O\n\nEU NNP B-ORG\nrejects  VBZ O\r\n \n\nPeter NNP B-PER", "f");
  ASSERT_EQ(corpus.sentences.size(), 2U);
  EXPECT_EQ(corpus.num_columns, 2U);
  EXPECT_EQ(corpus.num_tokens(0), 2U);
  EXPECT_EQ(corpus.cell(0, 1, 0), "rejects");
  EXPECT_EQ(corpus.cell(0, 1, 1), "VBZ");
  EXPECT_THAT(corpus.sentences[1].tags, ElementsAre(2U));
  EXPECT_THAT(corpus.tags.names(), ElementsAre("B-ORG", "O", "B-PER"));
}

TEST(ColumnReader, a_line_with_a_tab_is_cut_at_tabs_only) {
  const ColumnCorpus corpus = parse_columns("1 000\tNUM\n,\t,\n#\tSYM\n", "f");
  EXPECT_EQ(corpus.cell(0, 0, 0), "1 000");
  EXPECT_THAT(corpus.tags.names(), ElementsAre("NUM", ",", "SYM"));
}

TEST(ColumnReader, tags_may_be_missing_or_have_ids_already) {
  const ColumnCorpus plain = parse_columns("a b\n", "f", {.has_tags = false});
  EXPECT_EQ(plain.num_columns, 2U);
  EXPECT_TRUE(plain.sentences[0].tags.empty());
  const LabelCodec tags({"O", "X"});
  EXPECT_THAT(parse_columns("a X\nb Y\n", "f", {.tags = &tags}).sentences[0].tags,
              ElementsAre(1U, 2U));
}

TEST(ColumnReader, errors_say_where_and_what) {
  EXPECT_EQ(columns_error("\n"), "f: the file has no sentence, but must have at least one");
  EXPECT_EQ(columns_error("a O\n\nb\n"),
            "f:3:2: the line has one column, but must have a token and a tag");
  EXPECT_EQ(columns_error("\na O\nb X O\n"),
            "f:3:6: the line has 3 columns, but must have 2 like line 2");
  EXPECT_EQ(columns_error("a\t\tO\n"), "f:1:3: column 2 is empty");
  EXPECT_EQ(columns_error("a \0 O\n"s), "f:1:3: the line has a NUL byte, but must be UTF-8 text");
  EXPECT_EQ(columns_error("\xC3 O\n"), "f:1:1: byte is '\\xc3', but the text must be valid UTF-8");
}

TEST(ColumnReader, comments_are_left_out_where_the_options_say_so) {
  const std::string text =
      "# id 5f3a domain=en\nred _ _ B-X\n# _ _ O\n\n#\n# id 77\tdomain=en\nowl _ _ B-X\n";
  const ColumnCorpus corpus = parse_columns(text, "f", {.comments = ColumnComments::hash});
  ASSERT_EQ(corpus.size(), 2U);
  EXPECT_EQ(corpus.num_tokens(0), 2U);
  EXPECT_EQ(corpus.cell(0, 1, 0), "#");  // within a sentence it is a token
  EXPECT_EQ(corpus.cell(1, 0, 0), "owl");
  EXPECT_THAT(corpus.tags.names(), ElementsAre("B-X", "O"));
  EXPECT_EQ(parse_columns("#ran\tO\n#\tO\n", "f", {.comments = ColumnComments::hash}).num_tokens(0),
            2U);
  EXPECT_EQ(parse_columns("# 1\nred B-X\n", "f").tags.names().front(), "1");
}

TEST(ColumnReader, what_looks_like_comments_is_an_error_that_names_the_option) {
  const auto error = [](std::string_view text) {
    return message_of([&] { parse_columns(text, "f", {.comments = ColumnComments::automatic}); });
  };
  const std::string hint =
      "; --comments hash leaves out lines that begin with '#' and a blank before a sentence";
  EXPECT_EQ(error("# 1\nred B-X\n\n# 2\nowl B-X\n"),
            "f:1:1: the line begins with '#', and its tag '1' is of no other token, but comments "
            "must be left out" +
                hint + "; --comments none takes them for tokens");
  EXPECT_EQ(error("# id 5f3a domain=en\nred _ _ B-X\n").substr(0, 51),
            "f:1:1: the line begins with '#', and its tag 'domai");
  EXPECT_EQ(error("# id\tx=1\nred _ _ B-X\n"),
            "f:2:12: the line has 4 columns, but must have 2 like line 1" + hint);
  EXPECT_EQ(error("red B-X\n\n# id 7\nred B-X\n"),
            "f:3:7: the line has 3 columns, but must have 2 like line 1" + hint);
  for (const std::string_view tokens : {
           "# O\nred O\n",             // the tag is of another token
           "# SYM\nred O\n# SYM\n",    // # is a token elsewhere
           "#\tSYM\nred\tO\n",         // a cell of its own
           "red O\n# SYM\n\nowl O\n",  // within a sentence
       }) {
    EXPECT_GE(parse_columns(tokens, "f", {.comments = ColumnComments::automatic}).num_tokens(0),
              2U);
  }
}

TEST(ColumnReader, a_conllu_file_is_an_error_that_says_what_to_do) {
  const std::string line = "1\tAl\tAl\tPROPN\tNNP\t_\t0\troot\t0:root\tSpaceAfter=No\n";
  for (const std::string& text : {line, "0 1 2 3 4 5 6 7 8 O\n\n" + line, "# text = Al\n" + line}) {
    const std::string error =
        message_of([&] { parse_columns(text, "f", {.comments = ColumnComments::hash}); });
    EXPECT_THAT(error,
                ::testing::HasSubstr("is of a CoNLL-U file, whose last column has no tags; "
                                     "trees are for model dependency, and part-of-speech tags "
                                     "need a file of columns 2 and 4"));
  }
  for (const std::string_view tokens : {
           "1\tAl\tAl\tPROPN\tNNP\t_\t_\troot\tx\tB-X\n",  // no head
           "1\tAl\tAl\tN\tNNP\t_\t0\troot\tx\tB-X\n",      // no UPOS
           "1\tAl\tAl\tPROPN\tNNP\t_\t0\troot\tB-X\n",     // nine columns
       }) {
    EXPECT_EQ(parse_columns(tokens, "f").num_tokens(0), 1U);
  }
}

TEST(ColumnReader, numbers_must_be_finite) {
  EXPECT_EQ(columns_error("a x:1 O\nb x:nan O\n"),
            "f:2:3: column 2 is 'x:nan', but its number must be finite");
  EXPECT_EQ(columns_error("a N x:-inf O\n"),
            "f:1:5: column 3 is 'x:-inf', but its number must be finite");
  EXPECT_EQ(parse_columns("x:inf O\n", "f").cell(0, 0, 0), "x:inf");  // a token is no number
}

TEST(ColumnReader, numeric_cells_are_a_name_a_colon_and_a_number) {
  const auto cell = numeric_cell("x:y:-2.5e1");
  ASSERT_TRUE(cell.has_value());
  EXPECT_EQ(cell->name, "x:y");
  EXPECT_EQ(cell->value, -25.0F);
  for (const char* text : {"", ":", ":1", "x", "x:", "x:1a", "x: 1", "x:+1", "1"}) {
    EXPECT_FALSE(numeric_cell(text).has_value()) << text;
  }
}

TEST(ColumnReader, reads_files_as_memory_and_names_missing_ones) {
  const testing::ScratchFolder folder;
  testing::write_bytes(folder / "tags",
                       "\xEF\xBB\xBF"
                       "a O\nb X\n\n");
  const ColumnCorpus corpus = read_columns(folder / "tags");
  EXPECT_EQ(corpus.cell(0, 0, 0), "a");
  EXPECT_THAT(corpus.sentences[0].tags, ElementsAre(0U, 1U));
  EXPECT_THAT(message_of([&] { read_columns(folder / "none"); }), ::testing::HasSubstr("none"));
}

TEST(ColumnReader, reads_real_data) {
  const auto wnut = testing::data_file("wnut17/train.conll");
  const auto wikigold = testing::data_file("wikigold/all.conll");
  const auto pos = testing::data_file("ud-english-ewt-pos/train.conll");
  if (!wnut || !wikigold || !pos) GTEST_SKIP() << "skipped: no data";
  const auto sizes = [](const ColumnCorpus& corpus) {
    std::size_t num_tokens = 0;
    for (const auto& sentence : corpus.sentences) num_tokens += sentence.tags.size();
    return std::tuple(corpus.sentences.size(), num_tokens, corpus.tags.size());
  };
  EXPECT_EQ(sizes(read_columns(*wnut)), std::tuple(3394U, 62730U, 13U));
  EXPECT_EQ(sizes(read_columns(*wikigold)), std::tuple(1696U, 39007U, 5U));
  EXPECT_EQ(sizes(read_columns(*pos)), std::tuple(12544U, 204577U, 17U));
}

}  // namespace
}  // namespace margrove
