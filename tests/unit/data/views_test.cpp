#include "data/views.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CsrMatrix rows(std::initializer_list<std::vector<FeatureId>> lists) {
  CsrMatrix X;
  for (const auto& columns : lists) {
    X.append_row(columns, std::vector<float>(columns.size(), 1.0F));
  }
  return X;
}

template <class Function>
std::string message_of(const Function& function) {
  try {
    function();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Views, side_by_side_shift_columns_and_drop_what_lies_beyond) {
  const auto a = rows({{0, 2}, {}});
  const auto b = rows({{1}, {0, 5}});
  const std::vector<View> views{{"a", 0, 2}, {"b", 2, 7}};
  const auto X = side_by_side(std::vector<ViewRows>{a.view(), b.view()}, views);
  EXPECT_EQ(X.num_columns(), 7U);
  EXPECT_THAT(X.row(0).columns, ElementsAre(0, 3));
  EXPECT_THAT(X.row(1).columns, ElementsAre(2));
}

TEST(Views, of_different_lengths_throw_with_both_names) {
  const auto a = rows({{0}, {0}});
  const auto b = rows({{0}});
  const std::vector<View> views{{"a", 0, 1}, {"b", 1, 2}};
  EXPECT_THAT(message_of([&] {
                side_by_side(std::vector<ViewRows>{a.view(), b.view()}, views);
              }),
              HasSubstr("view 'b' has 1 rows, but must have 2 as view 'a'"));
}

TEST(Views, with_gaps_or_without_columns_or_of_one_name_throw) {
  const auto message = [](std::vector<View> views) {
    return message_of([&] { check_views(views); });
  };
  EXPECT_THAT(message({{"a", 0, 2}, {"b", 3, 4}}), HasSubstr("view 'b': its columns [3, 4)"));
  EXPECT_THAT(message({{"a", 0, 0}}), HasSubstr("must begin at 0 and not be empty"));
  EXPECT_THAT(message({{"a", 0, 2}, {"a", 2, 4}}), HasSubstr("view 'a' occurs twice"));
  EXPECT_EQ(message({{"a", 0, 2}, {"b", 2, 4}}), "nothing was thrown");
  EXPECT_EQ(message({}), "nothing was thrown");
}

}  // namespace
}  // namespace margrove
