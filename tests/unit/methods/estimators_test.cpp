#include "margrove/estimators.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/method.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;

/// Name, type, default, range and help of every option, one text each.
std::vector<std::string> texts_of(const std::vector<OptionInfo>& infos) {
  std::vector<std::string> texts;
  for (const OptionInfo& info : infos) {
    texts.push_back(concat(info.name, " ", info.type, " ", info.default_value, " ", info.range, " ",
                           info.help));
  }
  return texts;
}

template <class Options>
class Estimator : public testing::Test {};
using Estimators =
    testing::Types<FlatSvmOptions, FlatLrOptions, HSvmOptions, NhSvmOptions, SharedSvmOptions,
                   HrSvmOptions, HrLrOptions, TopDownSvmOptions, LevelSvmOptions, SpnMklOptions,
                   LpMklOptions, SimpleMklOptions, AverageMklOptions, KernelRidgeOptions>;
TYPED_TEST_SUITE(Estimator, Estimators);

TYPED_TEST(Estimator, has_the_options_of_its_method) {
  TypeParam options;
  EXPECT_EQ(texts_of(OptionTable(options).list()),
            texts_of(find_method(TypeParam::kMethod).start()->options().list()));
}

TYPED_TEST(Estimator, defaults_are_valid_and_C_is_the_first_member) {
  EXPECT_NO_THROW(validate(TypeParam{}));
  if constexpr (requires(TypeParam options) { options.C; }) {  // kernel-ridge has none
    EXPECT_NO_THROW(validate(TypeParam{.C = 3}));
    EXPECT_THROW(validate(TypeParam{.C = 0}), InvalidOption);
  }
}

TEST(Estimators, are_written_with_their_types) {
  NhSvmOptions options{.C = 10, .alpha = NodeWeightRule::parse("power:2")};
  EXPECT_EQ(OptionTable(options).get("alpha"), "power:2");
  EXPECT_EQ(options.surrogate.to_text(), "margin");
}

TEST(Estimators, refuse_values_that_the_method_does_not_have) {
  try {
    validate(TopDownSvmOptions{.loss = PointLossKind::logistic});
    FAIL() << "must throw";
  } catch (const InvalidOption& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("option loss is 'logistic', but must be one of hinge, squared-hinge"));
  }
  EXPECT_THROW(validate(SharedSvmOptions{.task_loss = TaskLoss::normalized}), InvalidOption);
}

TEST(NodeWeightHelp, lists_the_rules_once) {
  EXPECT_EQ(NodeWeightRule::known(),
            "uniform, leaves, power:RHO, directional, maxmin, share:S, relaxed:T");
  EXPECT_EQ(
      detail::node_weight_help("uniform (the paper's)"),
      concat("rule of the node weights: uniform (the paper's)", NodeWeightRule::known().substr(7)));
}

}  // namespace
}  // namespace margrove
