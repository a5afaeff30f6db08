#include "data/csv_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "compression.hpp"
#include "counted_seconds.hpp"
#include "files.hpp"
#include "margrove/control.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using testing::message_of;

const RecordSelection kTitles{.text = {"title"}, .label = "label"};

Examples parse(std::string_view text, const RecordSelection& selection = kTitles,
               bool labels_optional = false) {
  return parse_csv(text, "f", {.selection = &selection, .labels_optional = labels_optional});
}

void expect_error(std::string_view text, const std::string& message,
                  const RecordSelection& selection = kTitles) {
  EXPECT_EQ(message_of([&] { parse(text, selection); }), message) << text;
}

std::vector<std::string> names(const Examples& data, std::size_t row) {
  std::vector<std::string> found;
  for (const LabelId label : data.labels[row]) found.push_back(data.codec.name(label));
  return found;
}

TEST(CsvReader, takes_any_text_as_one_label) {
  const Examples data = parse("label,title\n\"New, and  fresh\",a b\n Käse & Öl ,c\n,d\n");
  EXPECT_THAT(names(data, 0), ElementsAre("New, and  fresh"));
  EXPECT_THAT(names(data, 1), ElementsAre("Käse & Öl"));
  EXPECT_THAT(names(data, 2), ElementsAre());
  EXPECT_THAT(data.fields.documents, ElementsAre("a b", "c", "d"));
}

TEST(CsvReader, takes_quotes_as_rfc_4180_says) {
  const Examples data =
      parse("title,label\r\n\"one\r\n\r\n\"\"two\"\", three\",x\r\n\r\n\"\",\"y\"\r\n5\" disk,x");
  EXPECT_THAT(data.fields.documents, ElementsAre("one\n\n\"two\", three", "", "5\" disk"));
  EXPECT_EQ(data.codec.size(), 2U);
}

TEST(CsvReader, finds_the_delimiter_by_the_selected_columns) {
  const std::vector<std::pair<std::string, std::string>> all{
      {",", "a;b\tc"}, {";", "a,b,c\td"}, {"\t", "a,b,c;d"}};
  for (const auto& [delimiter, other] : all) {
    const Examples data = parse("label" + delimiter + "title" + delimiter + other + "\nx" +
                                delimiter + "words" + delimiter + "1\n");
    EXPECT_THAT(names(data, 0), ElementsAre("x"));
    EXPECT_THAT(data.fields.documents, ElementsAre("words"));
  }
  EXPECT_THAT(parse("\xEF\xBB\xBF\n\r\nlabel;title\nx;y,z\n").fields.documents, ElementsAre("y,z"));
  EXPECT_EQ(message_of([] { parse("\n\nlabel;title\nx\n"); }),
            "f:4:2: the line has 1 cells, but must have 2 as the header");
  const RecordSelection one{.text = {"a;b"}};
  EXPECT_THAT(
      parse_csv("a;b\tc\nx;y\tz\n", "f", {.selection = &one}, nullptr, "\t").fields.documents,
      ElementsAre("x;y"));
}

TEST(CsvReader, rows_of_a_file_have_any_delimiter_and_those_of_tsv_tabs) {
  const testing::ScratchFolder folder;
  const std::string path = folder / "f";
  testing::write_bytes(path, "label,title;\tlabel\ttitle\nx,y\tz\ta b\n");
  const ReadOptions options{.selection = &kTitles};
  const Examples tabs = tsv_rows(path, options, nullptr);
  EXPECT_EQ(names(tabs, 0), std::vector<std::string>{"z"});
  EXPECT_THAT(tabs.fields.documents, ElementsAre("a b"));
  testing::write_bytes(path, "label;title\nx;y,z\n");
  EXPECT_THAT(csv_rows(path, options, nullptr).fields.documents, ElementsAre("y,z"));
}

TEST(CsvReader, skips_a_byte_order_mark_and_reads_compressed_files) {
  const std::string text = "\xEF\xBB\xBFlabel,title\nx,a\n";
  EXPECT_EQ(parse(text).codec.name(0), "x");
  EXPECT_EQ(parse(testing::gzip(text)).codec.name(0), "x");
  EXPECT_EQ(parse(testing::zstd(text)).codec.name(0), "x");
}

TEST(CsvReader, reads_records_longer_than_a_block) {
  std::string cell;
  for (int k = 0; k < 100000; ++k) cell += "word\n";
  const Examples data = parse("label,title\nx,\"" + cell + "\"\ny,b\n");
  EXPECT_EQ(data.fields.documents[0], cell);
  EXPECT_EQ(data.fields.documents[1], "b");
}

TEST(CsvReader, splits_labels_only_at_the_separator) {
  const RecordSelection several{.text = {"title"}, .label = "label", .label_separator = ";"};
  const Examples data = parse("label,title\na b; c,t\n\"x,y\",t\n", several);
  EXPECT_THAT(names(data, 0), ElementsAre("a b", "c"));
  EXPECT_THAT(names(data, 1), ElementsAre("x,y"));
  expect_error("label,title\na;,t\n",
               "f:2:1: label in column 'label' is empty, but must have at least one character",
               several);
}

TEST(CsvReader, takes_uris_in_angle_brackets_for_the_uris) {
  const RecordSelection several{.text = {"title"}, .label = "label", .label_separator = " "};
  const Examples data = parse(
      "label,title\n<http://x/b> urn:x:1,t\n<urn:x:1> <b> <a:b:c>,t\n<2:1> <:x> <a:<b> <>,t\n",
      several);
  EXPECT_THAT(names(data, 0), ElementsAre("http://x/b", "urn:x:1"));
  EXPECT_THAT(names(data, 1), ElementsAre("urn:x:1", "<b>", "a:b:c"));
  EXPECT_THAT(names(data, 2), ElementsAre("<2:1>", "<:x>", "<a:<b>", "<>"));
  const LabelCodec codec({"http://x/b"});
  const ReadOptions options{.codec = &codec, .known_labels_only = true, .selection = &several};
  EXPECT_EQ(parse_csv("label,title\n<http://x/b>,t\n", "f", options).labels[0][0], 0U);
}

TEST(CsvReader, reads_a_quoted_cell_of_many_lines_only_within_the_memory_for_a_row) {
  const std::string text = "label,title\nx,\"" + std::string(40 << 20, '\n') + "\"\n";
  EXPECT_THAT(message_of([&] { parse(testing::gzip(text)); }),
              ::testing::MatchesRegex("f:2: the row has [0-9]+ bytes and more, but must have at "
                                      "most [0-9]+, which are 100 times the .*"));
}

TEST(CsvReader, keeps_numbers_and_names_of_categories) {
  const RecordSelection columns{
      .text = {"a", "b"}, .numeric = {"n"}, .categorical = {"c"}, .label = "label"};
  const Examples data =
      parse("a,b,n,c,label\none,two, 1.5 ,red,x\n,three,,,x\nfour,,NA,red,x\n", columns);
  EXPECT_THAT(data.fields.documents, ElementsAre("one\ntwo", "three", "four\n"));
  EXPECT_EQ(data.fields.numeric[0][0], 1.5F);
  EXPECT_TRUE(std::isnan(data.fields.numeric[0][1]));
  EXPECT_TRUE(std::isnan(data.fields.numeric[0][2]));
  EXPECT_THAT(data.fields.categorical[0].ids, ElementsAre(0, CategoricalField::kMissing, 0));
}

TEST(CsvReader, joins_columns_of_a_vector) {
  const RecordSelection columns{.vectors = {"e2", "e1"}, .label = "label"};
  const Examples data = parse("e1,e2,label\n1,-.5,x\n 2 ,0,y\n", columns);
  EXPECT_THAT(data.fields.vector_widths, ElementsAre(1, 1));
  EXPECT_THAT(data.fields.vectors, ElementsAre(-0.5F, 1, 0, 2));
  for (const std::string cell : {"", "NA", "nan", "inf", "[1, 2]"}) {
    expect_error(
        "e1,e2,label\n1,2,x\n1,\"" + cell + "\",x\n",
        "f:3:3: column 'e2' is '" + cell + "', but must be a finite number; vectors have no gaps",
        columns);
  }
  expect_error("e1,e2,label\n1,1e39,x\n",
               "f:2:3: column 'e2' is '1e39', but must fit a 32-bit float", columns);
}

TEST(CsvReader, gives_known_labels_their_ids) {
  const LabelCodec codec({"a", "b"});
  const ReadOptions options{.codec = &codec, .known_labels_only = true, .selection = &kTitles};
  EXPECT_EQ(parse_csv("label,title\nb,t\n", "f", options).labels[0][0], 1U);
  EXPECT_THROW(parse_csv("label,title\nc,t\n", "f", options), InvalidInput);
}

TEST(CsvReader, may_lack_labels_where_they_are_not_needed) {
  const Examples data = parse("title\nwords\n", kTitles, /*labels_optional=*/true);
  EXPECT_EQ(data.labels[0].size(), 0U);
}

TEST(CsvReader, takes_equal_names_under_different_parents_for_different_nodes) {
  const RecordSelection levels{.text = {"t"}, .path_levels = {"a", "b"}};
  const Examples data =
      parse("t,a,b\n1,Books,Accessories\n2,Phones,Accessories\n3,Books,\n", levels);
  EXPECT_THAT(names(data, 0), ElementsAre("Books > Accessories"));
  EXPECT_THAT(names(data, 1), ElementsAre("Phones > Accessories"));
  EXPECT_THAT(names(data, 2), ElementsAre("Books"));
  EXPECT_EQ(data.codec.size(), 4U);
  ASSERT_TRUE(data.hierarchy.has_value());
  EXPECT_EQ(data.hierarchy->edges.size(), 2U);

  const RecordSelection path{.text = {"t"}, .label_separator = ";", .path = "p", .separator = "/"};
  const Examples same = parse("t,p\n1,Books/Accessories;Phones/ Accessories\n", path);
  EXPECT_THAT(names(same, 0), ElementsAre("Books/Accessories", "Phones/Accessories"));
}

TEST(CsvReader, paths_whose_ids_are_longer_than_labels_are_refused) {
  std::string deep = "a";
  for (int level = 0; level < 5000; ++level) deep += " > a";
  EXPECT_THAT(
      testing::message_of([&] { parse("t,p\n1," + deep + "\n", {.text = {"t"}, .path = "p"}); }),
      ::testing::StartsWith("f:2:3: the path 'a > a > a"));
}

TEST(CsvReader, the_bytes_of_the_nodes_of_paths_are_counted_as_work) {
  std::string text = "t,p\n";
  constexpr int kRows = 100, kLevels = 250;
  for (int k = 0; k < kRows; ++k) {
    text += concat("1,", k);
    for (int level = 0; level < kLevels; ++level) text += " > a";
    text += '\n';
  }
  const long before = testing_clock::questions;
  RunControl control({}, 1e9, testing_clock::counted_seconds);
  const RecordSelection paths{.text = {"t"}, .path = "p"};
  parse_csv(text, "f", {.selection = &paths}, &control);
  constexpr long kBytes = 2L * kRows * kLevels * kLevels;  // each level adds 4 to the one above it
  EXPECT_GT(testing_clock::questions - before, kBytes / 20'000);
}

TEST(CsvReader, names_file_line_and_column_of_every_fault) {
  expect_error("", "f: the file has no lines, but must have a header that names the columns");
  expect_error("label,title\n",
               "f: the file has no rows below its header, but must have at least one");
  expect_error("label,text\nx,y\n",
               "f:1:1: the header has no column 'title'; its columns are 'label', 'text'");
  expect_error("title,words\nx,y\n",
               "f:1:1: the header has no column 'label'; its columns are 'title', 'words'");
  expect_error("label,title,label\nx,y,z\n",
               "f:1:13: the header has column 'label' twice, but must have it once");
  expect_error("label,title\nx,y\nx,y,z\n",
               "f:3:5: the line has 3 cells, but must have 2 as the header");
  expect_error("label,title\nx\n", "f:2:2: the line has 1 cells, but must have 2 as the header");
  expect_error("label,title\nx,\"y\n\nz\n", "f:2:3: the quoted cell has no closing quote");
  expect_error("label,title\n\"x\"y,z\n",
               "f:2:4: the closing quote is followed by 'y', but must be by a delimiter or the "
               "line's end; a quote within a cell is doubled");
  expect_error("label,title\n\"a\nb\",z\n",
               "f:2:1: label in column 'label' is 'a\\x0ab', but must not contain control "
               "characters");
  expect_error("label,title\n\"a\",\"b\nc\"\n" + std::string(1025, 'x') + ",t\n",
               "f:4:1: label in column 'label' has 1025 bytes, but must have at most 1024");
  expect_error("label,title\nx,a\xFF\n",
               "f:2:3: column 'title' has the byte '\\xff', but must be UTF-8 text without NUL");
  const RecordSelection numbers{.numeric = {"n"}, .label = "label"};
  expect_error("label,n\nx,1\nx,red\n",
               "f:3:3: column 'n' is 'red', but must be a number, or empty where it is missing",
               numbers);
  expect_error("label,n\nx,1e39\n", "f:2:3: column 'n' is '1e39', but must fit a 32-bit float",
               numbers);
  const RecordSelection levels{.text = {"t"}, .path_levels = {"a", "b"}};
  expect_error("t,a,b\nx,,y\n",
               "f:2:4: column 'b' is 'y', but column 'a', the level above it, is empty", levels);
  const RecordSelection path{.text = {"t"}, .path = "p"};
  expect_error("t,p\nx,a >  > b\n",
               "f:2:3: a name of the path in column 'p' is empty, but must have at least one "
               "character",
               path);
}

TEST(RecordSelection, must_say_what_the_features_and_the_labels_are) {
  EXPECT_THROW(RecordSelection({.label = "l"}).check(), InvalidOption);
  EXPECT_THROW(
      RecordSelection({.text = {"t"}, .label = "l", .path = "p", .separator = "/"}).check(),
      InvalidOption);
  EXPECT_THROW(RecordSelection({.text = {"t"}, .path = "p", .separator = ""}).check(),
               InvalidOption);
  EXPECT_THROW(RecordSelection({.text = {"t"}, .path = "p", .separator = "\\"}).check(),
               InvalidOption);
}

}  // namespace
}  // namespace margrove
