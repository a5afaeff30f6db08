#include "margrove/svmlight_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "files.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using testing::message_of;

Dataset parse(std::string_view text, const SvmlightOptions& options = {}) {
  return parse_svmlight(text, "f", options);
}
std::string error_of(std::string_view text, const SvmlightOptions& options = {}) {
  return message_of([&] { parse(text, options); });
}
std::vector<std::string> names(const Dataset& data, std::size_t row) {
  std::vector<std::string> found;
  for (const LabelId label : data.labels[row]) found.push_back(data.codec.name(label));
  return found;
}

TEST(SvmlightReader, reads_rows_labels_and_values) {
  const Dataset data = parse("b 1:0.5 3:-2e-1\na,b 2:+1.\n 4:.25\n");
  ASSERT_EQ(data.X.num_rows(), 3U);
  EXPECT_EQ(data.X.num_columns(), 4U);
  EXPECT_THAT(data.X.row(0).columns, ElementsAre(0U, 2U));
  EXPECT_THAT(data.X.row(0).values, ElementsAre(0.5F, -0.2F));
  EXPECT_THAT(data.X.row(1).values, ElementsAre(1.0F));
  EXPECT_THAT(data.X.row(2).columns, ElementsAre(3U));
  EXPECT_THAT(names(data, 0), ElementsAre("b"));
  EXPECT_THAT(names(data, 1), ElementsAre("b", "a"));  // by id, which is order of appearance
  EXPECT_TRUE(data.labels[2].empty());
}

TEST(SvmlightReader, line_ends_comments_and_query_ids_change_nothing) {
  const Dataset plain = parse("1 1:2 2:3\n2 1:4\n");
  for (const std::string_view text :
       {"1 1:2 2:3\r\n2 1:4\r\n", "1 1:2 2:3\n2 1:4", "# head\n1 1:2 2:3 # tail\n\n\r\n2 1:4\n",
        "1 qid:7 1:2 2:3\n2\tqid:8\t1:4 \t\n"}) {
    const Dataset data = parse(text);
    EXPECT_THAT(data.X.view().columns(), ::testing::ElementsAreArray(plain.X.view().columns()));
    EXPECT_THAT(data.X.view().values(), ::testing::ElementsAreArray(plain.X.view().values()));
    EXPECT_EQ(data.labels.num_rows(), 2U);
  }
}

TEST(SvmlightReader, a_value_may_follow_blanks_after_its_colon) {
  const Dataset data = parse("0   1:1.00   3: .50\n1 2: \t3 4:1\r\n1 5: 2\r\n1 1: 7");
  EXPECT_THAT(data.X.view().columns(), ElementsAre(0U, 2U, 1U, 3U, 4U, 0U));
  EXPECT_THAT(data.X.view().values(), ElementsAre(1.0F, 0.5F, 3.0F, 1.0F, 2.0F, 7.0F));
}

TEST(SvmlightReader, indices_count_from_0_where_the_options_or_the_header_say_so) {
  const Dataset one = parse("1 1:5 3:1\n"), zero = parse("1 0:5 2:1\n", {.first_index = 0}),
                headed = parse("1 3 2\n1 0:5 2:1\n"),
                both = parse("1 3 2\n1 1:5 3:1\n", {.first_index = 1});
  for (const Dataset* data : {&one, &zero, &headed, &both}) {
    EXPECT_THAT(data->X.view().columns(), ElementsAre(0U, 2U));
    EXPECT_EQ(data->X.num_columns(), 3U);
    EXPECT_EQ(data->first_index, data == &one || data == &both ? 1U : 0U);
  }
  EXPECT_EQ(error_of("1 3 2\n1 4:1\n", {.first_index = 1}),
            "f:2:3: feature index is 4, but must be at most 3, the header's number of features");
  EXPECT_EQ(error_of("1 2:1 2:1\n", {.first_index = 0}),
            "f:1:7: feature index is 2 after 2, but indices must increase");
}

TEST(SvmlightReader, a_blank_line_is_a_row_and_an_empty_line_is_none) {
  const Dataset data = parse("1 1:1\n\n \nlonely\n");
  ASSERT_EQ(data.X.num_rows(), 3U);
  EXPECT_EQ(data.X.row(1).size(), 0U);
  EXPECT_TRUE(data.labels[1].empty());
  EXPECT_THAT(names(data, 2), ElementsAre("lonely"));
}

TEST(SvmlightReader, labels_may_be_any_words) {
  const Dataset data = parse("+1,\xC3\xA9t\xC3\xA9,role::x,c#,1.5 1:1\n");
  EXPECT_THAT(names(data, 0), ElementsAre("+1", "\xC3\xA9t\xC3\xA9", "role::x", "c#", "1.5"));
}

TEST(SvmlightReader, a_label_twice_in_a_row_counts_once) {
  EXPECT_EQ(parse("1,1 1:1\n").labels[0].size(), 1U);
}

TEST(SvmlightReader, a_header_makes_indices_start_at_0) {
  const Dataset data = parse("3 5 4\n3,0 0:1 4:2\n1 1:1\n 2:1\n");
  EXPECT_EQ(data.X.num_columns(), 5U);
  EXPECT_THAT(data.X.row(0).columns, ElementsAre(0U, 4U));
  EXPECT_THAT(names(data, 0), ElementsAre("3", "0"));
  EXPECT_EQ(parse("# note\r\n1 7 1\r\n0 6:1\r\n").X.num_columns(), 7U);
}

TEST(SvmlightReader, num_features_is_a_lower_bound) {
  EXPECT_EQ(parse("1 2:1\n", {.num_features = 9}).X.num_columns(), 9U);
  EXPECT_EQ(parse("1 12:1\n", {.num_features = 9}).X.num_columns(), 12U);
}

TEST(SvmlightReader, a_codec_gives_known_labels_their_ids_and_new_ones_the_next) {
  const LabelCodec codec({"x", "y"});
  const Dataset data = parse("y 1:1\nz 1:1\n", {.codec = &codec});
  EXPECT_THAT(data.labels[0], ElementsAre(1U));
  EXPECT_THAT(data.labels[1], ElementsAre(2U));
  EXPECT_EQ(codec.size(), 2U);
}

TEST(SvmlightReader, unknown_labels_throw_on_demand) {
  const LabelCodec codec({"x", "y"});
  EXPECT_EQ(error_of("y 1:1\nx,z 1:1\n", {.codec = &codec, .known_labels_only = true}),
            "f:2:3: label is 'z', but must be one of the 2 known labels");
}

TEST(SvmlightReader, the_largest_index_fits) {
  EXPECT_EQ(parse("1 2147483647:1\n").X.num_columns(), 2147483647U);
}

TEST(SvmlightReader, stops_early_when_asked_to) {
  std::string text;
  while (text.size() < (3U << 20U)) text += "1 1:0.5 2:0.25\n";
  RunControl control([](const Progress&) { return false; });
  const Dataset data = parse_svmlight(text, "f", {}, &control);
  EXPECT_EQ(control.stop_reason(), Stop::interrupted);
  EXPECT_GT(data.X.num_rows(), 0U);
  EXPECT_LT(data.X.num_rows(), text.size() / 15);
}

struct Malformed {
  const char* name;
  std::string text;
  std::string message;
};
const std::string kOtherFormats =
    "; rows must be `label,label index:value ...`, separated by blanks. For CSV or JSON lines name "
    "the columns, with --format csv, --text-column, --label-column and so on";

class SvmlightErrors : public ::testing::TestWithParam<Malformed> {};
TEST_P(SvmlightErrors, say_where_and_what) {
  EXPECT_EQ(error_of(GetParam().text), GetParam().message);
}

using std::string_literals::operator""s;
INSTANTIATE_TEST_SUITE_P(
    All, SvmlightErrors,
    ::testing::Values(
        Malformed{"empty", "", "f: the file has no rows, but must have at least one"},
        Malformed{"only_comments", "# a\n\n",
                  "f: the file has no rows, but must have at least one"},
        Malformed{"nan", "1 1:1\n1 1:nan\n",
                  "f:2:5: value of feature 1 is 'nan', but must be a number that fits a 32-bit "
                  "float, not NaN or infinity"},
        Malformed{"inf", "1 12:-inf\n",
                  "f:1:6: value of feature 12 is '-inf', but must be a number that fits a 32-bit "
                  "float, not NaN or infinity"},
        Malformed{"overflow", "1 1:1e39\n",
                  "f:1:5: value of feature 1 is '1e39', but must be a number that fits a 32-bit "
                  "float, not NaN or infinity"},
        Malformed{"index_0", "1 0:1\n",
                  "f:1:3: feature index is 0, but must be at least 1; for a file whose indices "
                  "count from "
                  "0, train with option index_base 0 (--index-base 0), which the model keeps"},
        Malformed{"value_after_a_blank_is_a_feature", "1 1: 2:3\n",
                  "f:1:5: value of feature 1 is missing, but must be a number"},
        Malformed{"value_after_a_blank_is_a_comment", "1 1: # 2\n",
                  "f:1:5: value of feature 1 is missing, but must be a number"},
        Malformed{"value_after_a_blank_is_a_word", "1 1: x\n",
                  "f:1:6: value of feature 1 is 'x', but must be a number that fits a 32-bit "
                  "float, not NaN or infinity"},
        Malformed{"decreasing", "1 5:1 3:1\n",
                  "f:1:7: feature index is 3 after 5, but indices must increase"},
        Malformed{"repeated", "1 5:1\t5:1\n",
                  "f:1:7: feature index is 5 after 5, but indices must increase"},
        Malformed{"index_too_large", "1 2147483648:1\n",
                  "f:1:3: feature index is '2147483648', but must be at most 2147483647"},
        Malformed{"index_of_20_digits", "1 18446744073709551617:1\n",
                  "f:1:3: feature index is '18446744073709551617', but must be at most 2147483647"},
        Malformed{"negative_index", "1 -1:1\n",
                  "f:1:3: feature is '-1:1', but must be index:value"},
        Malformed{"missing_colon", "1 1:2 3\n",
                  "f:1:7: feature is '3', but must be index:value" + kOtherFormats},
        Malformed{"missing_index", "1 :2\n", "f:1:3: feature is ':2', but must be index:value"},
        Malformed{"missing_value", "1 7: 8:1\n",
                  "f:1:5: value of feature 7 is missing, but must be a number"},
        Malformed{"missing_value_at_the_end",
                  "1 7:", "f:1:5: value of feature 7 is missing, but must be a number"},
        Malformed{"garbage_value", "1 7:1x\n",
                  "f:1:5: value of feature 7 is '1x', but must be a number that fits a 32-bit "
                  "float, not NaN or infinity"},
        Malformed{"hexadecimal", "1 7:0x1\n",
                  "f:1:5: value of feature 7 is '0x1', but must be a number that fits a 32-bit "
                  "float, not NaN or infinity"},
        Malformed{"two_signs", "1 7:+-1\n",
                  "f:1:5: value of feature 7 is '+-1', but must be a number that fits a 32-bit "
                  "float, not NaN or infinity"},
        Malformed{"two_points", "1 7:1.2.3\n",
                  "f:1:5: value of feature 7 is '1.2.3', but must be a number that fits a 32-bit "
                  "float, not NaN or infinity"},
        Malformed{"garbage", "1 one:1\n", "f:1:3: feature is 'one:1', but must be index:value"},
        Malformed{"lone_cr", "1 1:1\r2 1:1\n",
                  "f:1:6: feature is '\\x0d2', but must be index:value" + kOtherFormats},
        Malformed{"nul_in_value", "1 1:1\0\n"s,
                  "f:1:5: value of feature 1 is '1\\x00', but must be a number that fits a 32-bit "
                  "float, not NaN or infinity"},
        Malformed{"nul_in_label", "1\0 1:1\n"s,
                  "f:1:1: label is '1\\x00', but must not contain blanks, commas or control "
                  "characters"},
        Malformed{"nul_in_comment", "1 1:1 # a\0\n"s,
                  "f:1:10: the comment has a NUL byte, but must be text"},
        Malformed{"overlong_label", std::string(2000, 'x') + " 1:1\n",
                  "f:1:1: label has 2000 bytes, but must have at most 1024"},
        Malformed{"label_not_utf8", "a,\xFF 1:1\n",
                  "f:1:3: label is '\\xff', but must be valid UTF-8"},
        Malformed{"label_like_a_comment", "a,#b 1:1\n",
                  "f:1:3: label is '#b', but must not start with '#', which starts comments"},
        Malformed{"empty_label", "1,,2 1:1\n",
                  "f:1:3: label is empty, but must have at least one character" + kOtherFormats},
        Malformed{"trailing_comma", "1, 1:1\n",
                  "f:1:3: label is empty, but must have at least one character" + kOtherFormats},
        Malformed{"no_label", "1:2 2:3\n",
                  "f:1:1: label is '1:2', which is a feature; a row without labels must start with "
                  "a blank"},
        Malformed{"bad_query", "1 qid:x 1:1\n", "f:1:3: query is 'qid:x', but must be qid:number"},
        Malformed{"query_after_features", "1 1:1 qid:3\n",
                  "f:1:7: feature is 'qid:3', but must be index:value"},
        Malformed{"header_rows", "# c\n3 5 2\n1 0:1\n",
                  "f:2:1: the header says 3 rows, but the file has 1"},
        Malformed{
            "header_features", "1 5 2\n1 5:1\n",
            "f:2:3: feature index is 5, but must be below 5, the header's number of features"},
        Malformed{
            "header_without_features", "1 0 2\n1 0:1\n",
            "f:2:3: feature index is 0, but must be below 0, the header's number of features"},
        Malformed{"header_labels", "1 5 2\n0,2 0:1\n",
                  "f:2:3: label is '2', but must be a whole number below 2, the header's number of "
                  "labels"},
        Malformed{"header_label_names", "1 5 2\nx 0:1\n",
                  "f:2:1: label is 'x', but must be a whole number below 2, the header's number of "
                  "labels"},
        Malformed{"header_repeated_index", "1 5 2\n1 3:1 3:1\n",
                  "f:2:7: feature index is 3 after 3, but indices must increase"},
        Malformed{"header_too_large", "1 2147483648 1\n",
                  "f:1:3: the header's number of features is 2147483648, but must be at most "
                  "2147483647"},
        Malformed{"header_in_the_middle", "1 1:1\n1 2 3\n",
                  "f:2:3: feature is '2', but must be index:value" + kOtherFormats},
        Malformed{"long_tokens_are_cut", "1 " + std::string(100, 'y') + "\n",
                  "f:1:3: feature is '" + std::string(40, 'y') + "...', but must be index:value" +
                      kOtherFormats}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(SvmlightReader, takes_no_csv_for_rows_with_labels_alone) {
  const auto error = [](std::string_view text) {
    return message_of([&] { parse_svmlight(text, "f", {.refuse_labels_alone = true}); });
  };
  EXPECT_EQ(error("# a comment\nlabel,time\nx,12:30\n"),
            "f:2:1: the row has no index:value, and no other row has one" + kOtherFormats);
  EXPECT_EQ(error("label,title\nx,two words\n"),
            "f:2:7: feature is 'words', but must be index:value" + kOtherFormats);
  EXPECT_EQ(parse_svmlight("x\ny 1:2\n", "f", {.refuse_labels_alone = true}).X.num_rows(), 2U);
}

TEST(SvmlightReader, names_the_method_for_sentences) {
  const std::string tokens =
      "; the file looks like sentences with a token and its tag on each line: train on them with "
      "method structured (--method structured)";
  const std::string documents =
      "; if rows are lines label<TAB>text, train with option text (--text)";
  EXPECT_EQ(error_of("a DET\ndog NOUN\n\na DET\n"),
            "f:1:3: feature is 'DET', but must be index:value" + tokens);
  EXPECT_EQ(error_of(", PUNCT\n\na DET\n"),
            "f:1:1: label is empty, but must have at least one character" + tokens);
  EXPECT_EQ(error_of("a\tDET\n\na\tDET\n"),
            "f:1:3: feature is 'DET', but must be index:value" + tokens + documents);
  EXPECT_EQ(error_of("# text = Hm\n1\tHm\thm\tINTJ\t_\t_\t0\troot\t_\t_\n\n"),
            "f:2:3: feature is 'Hm', but must be index:value; the file looks like CoNLL-U: train "
            "on sentences and their trees with method structured (--method structured --model "
            "dependency)");
  EXPECT_EQ(error_of("x 1:1\na DET\n\na DET\n"),
            "f:2:3: feature is 'DET', but must be index:value" + kOtherFormats);
}

TEST(SvmlightReader, errors_name_the_line_also_after_the_first_block) {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += "1 1:0.5 2:0.25\n";
  text += "1 1:x\n";
  EXPECT_EQ(error_of(text),
            "f:200001:5: value of feature 1 is 'x', but must be a number that fits a 32-bit float, "
            "not NaN or infinity");
}

TEST(SvmlightReader, a_missing_file_throws_with_its_path) {
  EXPECT_EQ(message_of([] { read_svmlight("/nonexistent/f"); }),
            "/nonexistent/f: cannot open: No such file or directory");
}

TEST(SvmlightReader, reads_real_data) {
  const auto path = testing::data_file("cellcycle-go/train.svm");
  if (!path) GTEST_SKIP() << "skipped: no data";
  const Dataset data = read_svmlight(*path);
  EXPECT_EQ(data.X.num_rows(), 1625U);
  EXPECT_EQ(data.X.num_columns(), 77U);
  EXPECT_EQ(data.codec.size(), 1869U);
}

}  // namespace
}  // namespace margrove
