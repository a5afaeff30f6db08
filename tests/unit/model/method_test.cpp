#include "model/method.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace margrove {
namespace {

using ::testing::HasSubstr;

struct OptionsForTest : CommonOptions {
  int rounds = 3;
  static auto fields() {
    return std::tuple_cat(
        CommonOptions::fields(),
        std::tuple{field("rounds", &OptionsForTest::rounds, at_least(1), "how often")});
  }
};

template <class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const InvalidOption& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(SetOptions, reach_inherited_and_own_fields) {
  OptionsForTest options;
  OptionTable table(options);
  set_options(table, {{"lambda", "0.25"}, {"rounds", "7"}});
  EXPECT_EQ(options.rounds, 7);
  EXPECT_EQ(options.loss_weight(), 2.0);
  EXPECT_EQ(OptionsForTest{}.loss_weight(), 1.0);
}

TEST(SetOptions, C_with_lambda_and_repeated_options_throw) {
  OptionsForTest options;
  OptionTable table(options);
  EXPECT_THAT(message_of([&] {
                set_options(table, {{"C", "1"}, {"lambda", "1"}});
              }),
              HasSubstr("options C and lambda are both given"));
  EXPECT_THAT(message_of([&] {
                set_options(table, {{"C", "1"}, {"C", "2"}});
              }),
              HasSubstr("option C is given twice"));
  EXPECT_THAT(message_of([&] { set_options(table, {{"D", "1"}}); }), HasSubstr("unknown option D"));
  EXPECT_THAT(message_of([&] {
                set_options(table, {{"C", "0"}});
              }),
              HasSubstr("option C is 0, but must be > 0"));
}

TEST(SetOptions, take_back_what_option_values_gave) {
  OptionsForTest options;
  OptionTable table(options);
  table.set("C", "0.1");
  OptionsForTest other;
  OptionTable other_table(other);
  OptionValues values = option_values(table);
  std::erase_if(values, [](const auto& v) { return v.first == "lambda"; });
  set_options(other_table, values);
  EXPECT_EQ(other.C, options.C);
  EXPECT_EQ(option_values(other_table), option_values(table));
}

TEST(FindMethod, unknown_name_throws_with_the_known_ones) {
  EXPECT_THAT(message_of([] { find_method("svm"); }), HasSubstr("method is 'svm', but must be"));
}

}  // namespace
}  // namespace margrove
