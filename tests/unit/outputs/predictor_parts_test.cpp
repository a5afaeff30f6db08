#include "outputs/predictor_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "files.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

template <class Load>
std::string error_of(const TensorMap& tensors, Load load) {
  return message_of<ModelFileError>([&] { load(tensors); });
}

TEST(PredictorParts, weights_must_be_finite_and_as_many_as_expected) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    TensorMap tensors("f");
    tensors.put<float>("w", std::vector<float>{1, bad});
    EXPECT_THAT(error_of(tensors, [](const TensorMap& in) { finite_weights(in, "w", 2); }),
                HasSubstr("f: w holds a number that is not finite"));
  }
  TensorMap tensors("f");
  tensors.put<float>("w", std::vector<float>{1, 2});
  EXPECT_THAT(finite_weights(tensors, "w", 2), ElementsAre(1, 2));
  EXPECT_THAT(error_of(tensors, [](const TensorMap& in) { finite_weights(in, "w", 3); }),
              HasSubstr("w"));
  EXPECT_THAT(error_of(tensors, [](const TensorMap& in) { finite_weights(in, "v", 2); }),
              HasSubstr("v"));
}

TEST(PredictorParts, names_must_be_one_for_each_label) {
  TensorMap tensors("f");
  tensors.put_strings("tags", std::vector<std::string>{"O", "X"});
  EXPECT_THAT(codec_of(tensors, "tags", 2).names(), ElementsAre("O", "X"));
  EXPECT_THAT(error_of(tensors, [](const TensorMap& in) { codec_of(in, "tags", 3); }),
              HasSubstr("f: tags has 2 names, but must have 3"));
}

TEST(PredictorParts, rows_must_have_a_number_of_features_and_a_bias_that_can_be) {
  TensorMap saved("f");
  RowShape{7, 0.5}.save("field", saved);
  const RowShape loaded = RowShape::load("field", saved);
  EXPECT_EQ(loaded.num_features, 7U);
  EXPECT_EQ(loaded.bias, 0.5);
  EXPECT_EQ(loaded.num_columns(), 8U);
  EXPECT_EQ((RowShape{7, 0}.num_columns()), 7U);
  const auto load = [](const TensorMap& in) { RowShape::load("field", in); };
  for (const auto& [key, value, message] :
       {std::tuple{"field.features", "4294967295",
                   "field.features is 4294967295, but must fit 32 bits"},
        {"field.features", "-1", "field.features"},
        {"field.features", "many", "field.features"},
        {"field.bias", "-1", "field.bias is -1, but must be >= 0"},
        {"field.bias", "inf", "field.bias"},
        {"field.bias", "nan", "field.bias"}}) {
    TensorMap tensors("f");
    RowShape{7, 0.5}.save("field", tensors);
    tensors.put_text(key, value);
    EXPECT_THAT(error_of(tensors, load), HasSubstr(message)) << key << " " << value;
  }
  EXPECT_THAT(error_of(TensorMap("f"), load), HasSubstr("field.features"));
}

TEST(PredictorParts, offsets_are_read_back_and_other_decisions_refused) {
  const auto load = [](const TensorMap& in) { load_offset(in, "chain", 2); };
  TensorMap none;
  save_offset({}, "chain", none);
  EXPECT_FALSE(none.has_text("chain.decision"));
  EXPECT_TRUE(std::holds_alternative<ArgmaxDecision>(load_offset(none, "chain", 2).rule));
  TensorMap tensors("f");
  save_offset(Decision(OffsetDecision{0.25}), "chain", tensors);
  const Decision decision = load_offset(tensors, "chain", 2);
  ASSERT_TRUE(std::holds_alternative<OffsetDecision>(decision.rule));
  EXPECT_EQ(std::get<OffsetDecision>(decision.rule).offset, 0.25);
  TensorMap other("f");
  Decision{ArgmaxDecision{}}.save(other, "chain");
  EXPECT_THAT(error_of(other, load),
              HasSubstr("f: metadata chain.decision is 'argmax', but must be offset"));
}

TEST(PredictorParts, rows_lose_unknown_features_and_gain_the_constant_one) {
  RowWithBias with({3, 2.0}), without({3, 0});
  const std::vector<FeatureId> columns{0, 2, 3, 9};
  const std::vector<float> values{1, 2, 3, 4};
  EXPECT_THAT(with({columns, values}).columns, ElementsAre(0, 2, 3));
  EXPECT_THAT(with({columns, values}).values, ElementsAre(1, 2, 2));
  EXPECT_THAT(without({columns, values}).columns, ElementsAre(0, 2));
}

}  // namespace
}  // namespace margrove
