#include "linear/point_loss.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

template <class Loss>
class EveryPointLoss : public testing::Test {};
using Losses = testing::Types<HingeLoss, SquaredHingeLoss, LogisticLoss>;
TYPED_TEST_SUITE(EveryPointLoss, Losses);

TYPED_TEST(EveryPointLoss, derivative_is_the_numeric_slope_of_the_value) {
  for (double m = -6.03; m < 6; m += 0.17) {
    const double slope = (TypeParam::value(m + 1e-6) - TypeParam::value(m - 1e-6)) / 2e-6;
    EXPECT_NEAR(TypeParam::derivative(m), slope, 1e-6) << "m = " << m;
  }
}

TYPED_TEST(EveryPointLoss, curvature_is_the_numeric_slope_of_the_derivative) {
  for (double m = -6.03; m < 6; m += 0.17) {
    const double slope = (TypeParam::derivative(m + 1e-6) - TypeParam::derivative(m - 1e-6)) / 2e-6;
    EXPECT_NEAR(TypeParam::curvature(m), slope, 1e-6) << "m = " << m;
  }
}

TYPED_TEST(EveryPointLoss, values_stay_finite_at_huge_margins) {
  for (const double m : {-1e6, -800.0, 800.0, 1e6}) {
    EXPECT_TRUE(std::isfinite(TypeParam::value(m)));
    EXPECT_TRUE(std::isfinite(TypeParam::derivative(m)));
    EXPECT_LE(TypeParam::derivative(m), 0.0);
  }
}

TEST(PointLossKind, names_read_back) {
  for (const auto loss :
       {PointLossKind::hinge, PointLossKind::squared_hinge, PointLossKind::logistic}) {
    EXPECT_EQ(parse_enum<PointLossKind>("loss", name_of(loss)), loss);
  }
}

}  // namespace
}  // namespace margrove
