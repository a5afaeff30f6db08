#include "data/json_rows.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "methods/training.hpp"
#include "served_models.hpp"

namespace margrove::serve {
namespace {

using ::testing::ElementsAre;
using testing::small_model;
using testing::small_record_model;
using testing::small_text_model;
using ::testing::StartsWith;

using Texts = std::vector<std::string_view>;

Examples read(const ModelParts& model, const Texts& rows, std::int64_t first = 1) {
  return read_request_rows(row_kind(model), {rows, "row", first, read_options(model), model.views});
}

std::string fault(const ModelParts& model, const Texts& rows, std::int64_t first = 1) {
  try {
    read(model, rows, first);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "none";
}

TEST(RequestRows, texts_may_have_line_ends) {
  const Examples raw = read(small_text_model(), Texts{R"("sea\nfur")", R"({"text":"a\tb"})"});
  EXPECT_THAT(raw.documents, ElementsAre("sea\nfur", "a\tb"));
  EXPECT_EQ(raw.num_rows(), 2U);
}

TEST(RequestRows, features_in_any_order_equal_the_line) {
  const Texts rows{R"({"features":{"3":1e-3,"1":0.1}})", R"("1:0.1 3:0.001")",
                   R"("cat 1:0.1 3:1e-3")", R"("")", R"({"features":{}})"};
  const Examples raw = read(small_model(), rows);
  for (const std::size_t i : {0U, 1U, 2U}) {
    EXPECT_THAT(raw.X.row(i).columns, ElementsAre(0, 2));
    EXPECT_THAT(raw.X.row(i).values, ElementsAre(0.1F, 0.001F));
  }
  EXPECT_EQ(raw.X.row(3).size(), 0U);
  EXPECT_EQ(raw.X.row(4).size(), 0U);
}

TEST(RequestRows, records_may_be_several_lines_and_lack_the_label) {
  const Examples raw =
      read(small_record_model(), Texts{"{\"size\":\n 1.5,\r\n\"colour\":\"red\"}", "{\"size\":2}"});
  ASSERT_EQ(raw.num_rows(), 2U);
  EXPECT_THAT(raw.fields.numeric[0], ElementsAre(1.5F, 2.0F));
}

TEST(RequestRows, faults_name_the_row) {
  const ModelParts numbers = small_model(), texts = small_text_model(),
                   records = small_record_model();
  EXPECT_EQ(fault(texts, {}), "row: there are no rows, but there must be at least one");
  EXPECT_THAT(fault(texts, {R"("a")", R"({"text":"a","b":1})"}),
              StartsWith("row:2: the row has other keys"));
  EXPECT_THAT(fault(texts, {R"("a")", "7"}, 10), StartsWith("row:11: the row is not a text"));
  EXPECT_THAT(fault(texts, {"\"a"}), StartsWith("row:1: the row is not JSON"));
  EXPECT_THAT(fault(texts, {R"("ab\u0000")"}), StartsWith("row:1:3: the text has a NUL byte"));
  EXPECT_THAT(fault(numbers, {R"("1:1")", R"("1:1 x")"}), StartsWith("row:2:6: feature is 'x'"));
  EXPECT_THAT(fault(numbers, {R"("1:1")", R"("1:1 x")"}, 41),
              StartsWith("row:42:6: feature is 'x'"));
  EXPECT_THAT(fault(numbers, {R"("1:x 2:1")"}), ::testing::HasSubstr("'x'"));
  EXPECT_THAT(fault(numbers, {R"("1:1\n2:1")"}), StartsWith("row:1: the row has a line end"));
  EXPECT_THAT(fault(numbers, {R"({"features":{"1":1,"1":2}})"}),
              StartsWith("row:1: index 1 is given twice"));
  EXPECT_THAT(fault(numbers, {R"({"features":{"01":1}})"}), StartsWith("row:1: index is '01'"));
  EXPECT_THAT(fault(numbers, {R"({"features":{"1":[1]}})"}), StartsWith("row:1: the value of"));
  EXPECT_THAT(fault(numbers, {R"({"features":3})"}),
              StartsWith("row:1: key 'features' must be an object"));
  EXPECT_THAT(fault(numbers, {"{}"}), StartsWith("row:1: the row has no key 'features'"));
  EXPECT_THAT(fault(numbers, {"3"}), StartsWith("row:1: the row is neither"));
  EXPECT_THAT(fault(records, {R"({"size":1})", R"({"size":"x"})"}, 7), StartsWith("row:8:9: "));
  EXPECT_THAT(fault(records, {R"("a")"}), StartsWith("row:1: the row is not an object"));
  EXPECT_THAT(fault(records, {R"({"other":1})"}),
              StartsWith("row:1:1: the record has none of the keys"));
}

}  // namespace
}  // namespace margrove::serve
