#include "data/jsonl_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "counted_seconds.hpp"
#include "data/column_patterns.hpp"
#include "files.hpp"
#include "margrove/control.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using testing::message_of;

const RecordSelection kTitles{.text = {"title"}, .label = "label"};

Examples parse(std::string_view text, const RecordSelection& selection = kTitles,
               bool labels_optional = false) {
  return parse_jsonl(text, "f", {.selection = &selection, .labels_optional = labels_optional});
}

std::string error_of(std::string_view text, const RecordSelection& selection = kTitles) {
  return message_of([&] { parse(text, selection); });
}

std::vector<std::string> names(const Examples& data, std::size_t row) {
  std::vector<std::string> found;
  for (const LabelId label : data.labels[row]) found.push_back(data.codec.name(label));
  return found;
}

TEST(JsonlReader, takes_texts_and_lists_of_texts) {
  const Examples data = parse(
      "{\"label\": \"a, b\", \"title\": \"one \\u00e9\\n\"}\r\n\n"
      "{\"title\": [\"two\", \"three\"], \"label\": [\"c\", \"a, b\"], \"other\": {\"x\": [[1]]}}\n"
      "{\"title\": \"four\", \"label\": null}\n"
      "{\"title\": \"five\", \"label\": 7}");
  EXPECT_THAT(data.fields.documents, ElementsAre("one é\n", "two\nthree", "four", "five"));
  EXPECT_THAT(names(data, 0), ElementsAre("a, b"));
  EXPECT_THAT(names(data, 1), ElementsAre("a, b", "c"));
  EXPECT_THAT(names(data, 2), ElementsAre());
  EXPECT_THAT(names(data, 3), ElementsAre("7"));
}

TEST(JsonlReader, takes_dotted_names_for_keys_within_objects) {
  const RecordSelection nested{
      .text = {"book.title", "book.authors.name"}, .numeric = {"book.price"}, .label = "label"};
  const Examples data = parse(
      "{\"book\": {\"title\": \"t\", \"price\": 2.5, \"authors\": [{\"name\": \"x\"}, "
      "{\"name\": \"y\"}]}, \"price\": 9, \"label\": \"l\"}\n",
      nested);
  EXPECT_THAT(data.fields.documents, ElementsAre("t\nx\ny"));
  EXPECT_EQ(data.fields.numeric[0][0], 2.5F);
}

TEST(JsonlReader, takes_lists_of_numbers_as_vectors) {
  const RecordSelection columns{.vectors = {"e", "n"}, .label = "label"};
  const auto parse_vectors = [&](std::string_view rows) {
    const std::vector<std::uint32_t> widths{2, 1};
    return parse_jsonl(rows, "f", {.selection = &columns, .vector_widths = widths});
  };
  const std::string first = "{\"e\": [1, -2.5e-1], \"n\": 3, \"label\": \"l\"}\n";
  for (const Examples& data : {parse(first + first, columns), parse_vectors(first + first)}) {
    EXPECT_THAT(data.fields.vector_widths, ElementsAre(2, 1));
    EXPECT_THAT(data.fields.vectors, ElementsAre(1, -0.25F, 3, 1, -0.25F, 3));
  }
  const std::string no_gaps = "; vectors have no gaps";
  for (const auto& [row, message] : std::vector<std::pair<std::string, std::string>>{
           {"{\"n\": 1}",
            "f:2:1: column 'e' has no number, but must have one or a list of them" + no_gaps},
           {"{\"e\": [], \"n\": 1}",
            "f:2:1: column 'e' has no number, but must have one or a list of them" + no_gaps},
           {"{\"e\": null, \"n\": 1}",
            "f:2:1: column 'e' has no number, but must have one or a list of them" + no_gaps},
           {"{\"e\": [1, null]}",
            "f:2:11: column 'e' is 'null', but must be a finite number" + no_gaps},
           {"{\"e\": [1, \"x\"]}",
            "f:2:11: column 'e' is 'x', but must be a finite number" + no_gaps},
           {"{\"e\": [1, true]}",
            "f:2:11: column 'e' is 'true', but must be a finite number" + no_gaps},
           {"{\"e\": [1, 2, 3], \"n\": 1}",
            "f:2:8: column 'e' has 3 numbers, but must have 2 as in the first row"},
           {"{\"e\": 1, \"n\": 1}",
            "f:2:7: column 'e' has 1 number, but must have 2 as in the first row"},
       }) {
    EXPECT_EQ(error_of(first + row, columns), message);
  }
  EXPECT_EQ(message_of([&] { parse_vectors("{\"e\": [1], \"n\": 1}"); }),
            "f:1:8: column 'e' has 1 number, but must have 2 as in training");
}

TEST(JsonlReader, takes_numbers_names_and_what_is_missing) {
  const RecordSelection columns{.numeric = {"n"}, .categorical = {"c"}, .label = "label"};
  const Examples data = parse(
      "{\"n\": -3, \"c\": true, \"label\": \"x\"}\n{\"n\": \"1e2\", \"c\": 5}\n{\"n\": null}\n",
      columns);
  EXPECT_EQ(data.fields.numeric[0][0], -3);
  EXPECT_EQ(data.fields.numeric[0][1], 100);
  EXPECT_TRUE(std::isnan(data.fields.numeric[0][2]));
  EXPECT_THAT(data.fields.categorical[0].values.names(), ElementsAre("true", "5"));
  EXPECT_THAT(data.fields.categorical[0].ids, ElementsAre(0, 1, CategoricalField::kMissing));
}

TEST(JsonlReader, takes_a_path_as_a_list_or_as_a_text) {
  const RecordSelection path{.text = {"t"}, .path = "p"};
  const Examples data = parse(
      "{\"t\": \"\", \"p\": [\"Books\", \"New > fresh\"]}\n{\"t\": \"\", \"p\": \"Books > x\"}\n",
      path);
  EXPECT_THAT(names(data, 0), ElementsAre("Books > New \\> fresh"));
  EXPECT_THAT(names(data, 1), ElementsAre("Books > x"));
  EXPECT_EQ(data.hierarchy->edges.size(), 2U);
}

TEST(JsonlReader, may_lack_labels_where_they_are_not_needed) {
  EXPECT_EQ(parse("{\"title\": \"t\"}\n", kTitles, true).labels[0].size(), 0U);
  EXPECT_EQ(message_of([&] { parse("{\"titel\": \"t\"}\n", kTitles, true); }),
            "f:1:1: the record has none of the keys 'title', but must have at least one");
}

TEST(JsonlReader, names_file_line_and_column_of_every_fault) {
  EXPECT_EQ(error_of(""), "f: the file has no rows, but must have at least one");
  EXPECT_EQ(error_of("{\"title\": \"t\"}\n"), "f: no record has the key 'label'");
  EXPECT_EQ(error_of("{\"title\": \"t\"}\n{\"title\" \"t\"}\n").substr(0, 30),
            "f:2:12: the line is not JSON: ");
  EXPECT_EQ(error_of("{\"title\": \"a\", \"n\": -1e999}\n"),
            "f:1:21: number is '-1e999', but must fit a 64-bit float");
  EXPECT_EQ(error_of("{} {}\n").substr(0, 5), "f:1:4");
  EXPECT_EQ(error_of("{\"title\": \"\xFF\"}\n").substr(0, 33), "f:1:12: the line is not JSON: syn");
  EXPECT_EQ(error_of("[{}]\n"), "f:1:1: the line is not an object {...}, but must be one");
  EXPECT_EQ(error_of("3\n"), "f:1:1: the line is not an object {...}, but must be one");
  EXPECT_EQ(error_of("{\"title\": \"t\", \"label\": 1, \"title\": 2}\n"),
            "f:1:28: key 'title' occurs twice, but must occur once");
  EXPECT_EQ(error_of("{\"title\": {\"a\": 1}}\n"),
            "f:1:11: key 'title' is an object, but must be a value; its keys are named with a dot");
  EXPECT_EQ(
      error_of("{\"title\": \"t\", \"label\": [{\"uri\": \"u\", \"n\": {\"of\": 1}}]}\n"),
      "f:1:27: key 'label' is a list of objects, but must be a value or a list of values; the "
      "keys of these are 'label.uri', 'label.n'");
  EXPECT_EQ(error_of("{\"title\": [\"a\", [\"b\"]]}\n"),
            "f:1:17: key 'title' is a list of lists, but must be a value or a list of values");
  EXPECT_EQ(
      error_of("{\"label\": [\"a\", \"b\\nc\"], \"title\": \"\"}\n"),
      "f:1:17: label in column 'label' is 'b\\x0ac', but must not contain control characters");
  const RecordSelection numbers{.numeric = {"n"}, .label = "label"};
  EXPECT_EQ(error_of("{\"label\": \"x\",  \"n\" : \"red\"}\n", numbers),
            "f:1:23: column 'n' is 'red', but must be a number, or empty where it is missing");
  EXPECT_EQ(error_of("{\"n\": [1, 2], \"label\": \"x\"}\n", numbers),
            "f:1:11: column 'n' is a list of 2 values, but must be one value");
}

TEST(JsonlReader, patterns_stand_for_the_keys_of_all_records) {
  const ColumnPatterns patterns{.ignored = {"id"}};
  const auto read = [&](const std::string& rows, const RecordSelection& selection) {
    return parse_jsonl(rows, "f", {.selection = &selection, .patterns = &patterns});
  };
  const std::string rows =
      "{\"n1\": 1, \"label\": \"a\", \"id\": \"x\"}\n\n"
      "{\"n3\": 3, \"of\": {\"n\": 4, \"list\": [5]}, \"label\": \"b\", \"n2\": null}\n";
  const Examples some = read(rows, {.numeric = {"n*"}, .label = "label"});
  EXPECT_THAT(some.selection.numeric, ElementsAre("n1", "n3", "n2"));
  EXPECT_EQ(some.fields.numeric[1][1], 3);
  EXPECT_TRUE(std::isnan(some.fields.numeric[1][0]));
  EXPECT_THAT(read(rows, {.numeric = {"*"}, .label = "label"}).selection.numeric,
              ElementsAre("n1", "n3", "of.n", "of.list", "n2"));
  EXPECT_EQ(message_of([&] { read(rows, {.numeric = {"z*"}, .label = "label"}); }),
            "f: no column is left for 'z*' of option numeric_columns; the columns are 'n1', "
            "'label', 'id', 'n3', 'of.n', 'of.list', 'n2'");
  // What is no JSON or no record is an error with its place, as without patterns.
  EXPECT_THAT(
      message_of([&] { read(rows + "{\"n1\": }\n", {.numeric = {"n*"}, .label = "label"}); }),
      ::testing::StartsWith("f:4:"));
  EXPECT_THAT(message_of([&] { read(rows + "[1]\n", {.numeric = {"n*"}, .label = "label"}); }),
              ::testing::StartsWith("f:4:1: the line is not an object"));
  std::string deep;
  for (int k = 0; k < 100'000; ++k) deep += "[";
  EXPECT_THAT(message_of([&] { read(rows + deep, {.numeric = {"n*"}, .label = "label"}); }),
              ::testing::StartsWith("f:4:"));
  // A key of the name is no pattern, and a key that is named is taken by none.
  EXPECT_THAT(read("{\"n*\": 1, \"n1\": 2, \"id\": 0, \"label\": \"l\"}\n",
                   {.numeric = {"n*"}, .label = "label"})
                  .selection.numeric,
              ElementsAre("n*"));
}

TEST(JsonlReader, bounds_the_depth) {
  std::string deep = "{\"title\": \"t\", \"label\": \"x\", \"a\": ";
  for (int k = 0; k < 100000; ++k) deep += '[';
  EXPECT_EQ(error_of(deep + "\n"), "f:1:98: the record is nested more than 64 levels deep");
}

TEST(JsonlReader, files_that_begin_with_a_brace_are_its) {
  EXPECT_TRUE(starts_like_json(" \n{\"a\": 1}"));
  EXPECT_FALSE(starts_like_json("a,{b}"));
  EXPECT_FALSE(starts_like_json(""));
}

/// The looks at the clock while records with a key of their own each are read.
long questions_for_own_keys(int num_records) {
  const long before = testing_clock::questions;
  std::string text;
  for (int k = 0; k < num_records; ++k) text += concat("{\"k", k, "\":1}\n");
  RunControl control({}, 1e9, testing_clock::counted_seconds);
  const RecordSelection all{.numeric = {"*"}};
  const ColumnPatterns patterns;
  parse_jsonl(text, "f", {.selection = &all, .patterns = &patterns, .labels_optional = true},
              &control);
  return testing_clock::questions - before;
}

TEST(JsonlReader, fields_that_records_lack_are_counted_as_work) {
  EXPECT_LT(questions_for_own_keys(100), 20);
  EXPECT_GT(questions_for_own_keys(2000), 2000 * 2000 / 20'000);
}

#ifndef MARGROVE_SANITIZED
TEST(JsonlReader, fields_that_records_lack_take_no_more_than_the_memory_limit) {
  std::string text;
  for (int k = 0; k < 10'000; ++k) text += concat("{\"k", k, "\":1}\n");
  RunControl control;
  control.limit_memory(20e6);
  const RecordSelection all{.numeric = {"*"}};
  const ColumnPatterns patterns;
  EXPECT_THAT(message_of([&] {
                parse_jsonl(text, "f",
                            {.selection = &all, .patterns = &patterns, .labels_optional = true},
                            &control);
              }),
              ::testing::StartsWith("f: reading has taken 0.02"));
}
#endif

}  // namespace
}  // namespace margrove
