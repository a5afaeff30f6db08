#include "serve/request_body.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margrove/errors.hpp"

namespace margrove::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Pair;
using ::testing::StartsWith;

std::string fault(std::string_view text) {
  try {
    parse_request_body(text);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "none";
}

TEST(RequestBody, rows_are_the_text_of_their_values) {
  const RequestBody body = parse_request_body(
      "{ \"rows\" : [ \"a\\n[\" ,{\"rows\":[1,{\"row\" : 2}]}\n, \"\" ] , \"top\":3 }");
  EXPECT_TRUE(body.has_rows);
  EXPECT_THAT(body.rows, ElementsAre("\"a\\n[\"", "{\"rows\":[1,{\"row\" : 2}]}", "\"\""));
  EXPECT_THAT(body.options, ElementsAre(Pair("top", "3")));
}

TEST(RequestBody, one_row_may_stand_between_options) {
  const RequestBody body =
      parse_request_body(R"({"scores":true,"row":{"a":{}},"x":1.50,"y":"text","z":-1})");
  EXPECT_THAT(body.rows, ElementsAre(R"({"a":{}})"));
  EXPECT_THAT(body.options, ElementsAre(Pair("scores", "true"), Pair("x", "1.50"),
                                        Pair("y", "text"), Pair("z", "-1")));
}

TEST(RequestBody, empty_object_and_empty_list_have_no_rows) {
  EXPECT_FALSE(parse_request_body("{}").has_rows);
  const RequestBody body = parse_request_body(R"({"rows":[]})");
  EXPECT_TRUE(body.has_rows);
  EXPECT_TRUE(body.rows.empty());
}

TEST(RequestBody, faults_throw_with_line_and_column) {
  EXPECT_THAT(fault(""), StartsWith("body:1:1: the body is not JSON: "));
  EXPECT_THAT(fault("{\"rows\":[\"a\"],\n\n  \"top\" 3}"),
              StartsWith("body:3:9: the body is not JSON: "));
  EXPECT_THAT(fault("{\"rows\": [{\"features\":\n {\"1\": 1e999}}]}"),
              StartsWith("body:2:8: number is '1e999', but must fit a 64-bit float"));
  EXPECT_THAT(fault("{} {}"), StartsWith("body:1:4: the body is not JSON: "));
  EXPECT_EQ(fault("\"a\""), "body:1:1: the body is a single value, but must be an object {...}");
  EXPECT_EQ(fault(" []"), "body:1:2: the body is a list, but must be an object {...}");
  EXPECT_EQ(fault(R"({"rows":["a",3]})"),
            "body:1:14: an element of 'rows' is a single value, but must be a string, an object or "
            "a list");
  EXPECT_EQ(fault(R"({"rows":{}})"),
            "body:1:9: key 'rows' is an object, but must be a list of rows");
  EXPECT_EQ(fault(R"({"top":null})"),
            "body:1:8: key 'top' is null, but must be a text, a number, true or false");
  EXPECT_EQ(fault(R"({"row":"a","row":"b"})"),
            "body:1:12: key 'row' is given beside another 'row' or 'rows'");
  EXPECT_EQ(fault("{\"row\":" + std::string(70, '[')),
            "body:1:71: the body is nested more than 64 levels deep");
  EXPECT_EQ(fault(R"({"row":true})"),
            "body:1:8: key 'row' is a single value, but must be a string, an object or a list");
  EXPECT_THAT(fault("{\"row\":{\"a\":" + std::string(70, '[')),
              StartsWith("body:1:75: the body is nested more than 64 levels deep"));
}

std::string fault_of_form(std::string_view form) {
  try {
    parse_form_body(form);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "none";
}

TEST(ParseFormBody, text_and_options_are_decoded_and_others_skipped) {
  const FormBody body = parse_form_body(
      "metadata_title=x%26y&text=S%C3%A4vel+%26%0a1%2B1%3d2&&project=shop&limit=100&a&a=b");
  EXPECT_EQ(body.text, "S\u00e4vel &\n1+1=2");
  EXPECT_THAT(body.options, ElementsAre(Pair("model", "shop"), Pair("limit", "100")));
  EXPECT_EQ(parse_form_body("text=").text, "");
  EXPECT_EQ(parse_form_body("text").text, "");
  EXPECT_FALSE(parse_form_body("").text.has_value());
  EXPECT_FALSE(parse_form_body("TEXT=a").text.has_value());
}

TEST(ParseFormBody, faults_name_the_body) {
  EXPECT_EQ(fault_of_form("text=100%"),
            "body: '%' is not a percent sign and two hexadecimal digits");
  EXPECT_EQ(fault_of_form("x=%zz&text=a"),
            "body: '%zz' is not a percent sign and two hexadecimal digits");
  EXPECT_THAT(fault_of_form("text=%C3"), EndsWith(" is not UTF-8"));
  EXPECT_EQ(fault_of_form("text=a&text=b"), "body: field 'text' is given twice");
  EXPECT_EQ(fault_of_form("limit=1&limit=1"), "body: option limit is given twice");
  EXPECT_EQ(fault_of_form("model=a&project=a"), "body: option model is given twice");
}

TEST(ParseQuery, options_are_percent_decoded) {
  EXPECT_THAT(parse_query("top=3&show=%70ath&&a+b=c%20d&scores"),
              ElementsAre(Pair("top", "3"), Pair("show", "path"), Pair("a b", "c d"),
                          Pair("scores", "true")));
  EXPECT_TRUE(parse_query("").empty());
  for (const char* wrong : {"a=%", "a=%2", "a=%2g", "a=%ff"}) {
    EXPECT_THROW(parse_query(wrong), InvalidInput) << wrong;
  }
}

}  // namespace
}  // namespace margrove::serve
