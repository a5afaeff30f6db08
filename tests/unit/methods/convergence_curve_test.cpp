#include "methods/convergence_curve.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace margrove {
namespace {

Progress pass(int number, double objective, double gap) {
  return {.stage = "test", .done = number, .objective = objective, .relative_gap = gap};
}

TEST(ConvergenceCurve, keeps_the_passes_of_the_last_training_and_passes_reports_on) {
  int num_reports = 0;
  RunControl control([&](const Progress&) { return ++num_reports < 5; });
  ConvergenceCurve curve(control);
  EXPECT_TRUE(curve.control().proceed(pass(1, 9, 1)));  // of a fold
  EXPECT_TRUE(curve.control().proceed(pass(2, 8, 0.5)));
  EXPECT_TRUE(curve.control().proceed(pass(1, 10, 0.5)));
  Progress labels = pass(2, 1, 0);
  labels.unit = Progress::Unit::labels;
  EXPECT_TRUE(curve.control().proceed(labels));
  EXPECT_FALSE(curve.control().proceed(pass(3, 4, NAN)));
  EXPECT_EQ(curve.control().stop_reason(), Stop::interrupted);
  const auto points = curve.points();
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].pass, 1);
  EXPECT_EQ(points[0].primal, 10);
  EXPECT_EQ(points[0].dual, 5);
  EXPECT_EQ(points[1].pass, 3);
  EXPECT_TRUE(std::isnan(points[1].dual));
}

TEST(ConvergenceCurve, of_many_passes_has_few_points_with_the_first_and_the_last) {
  for (const int num_passes : {1, 400, 401, 402, 10007}) {
    RunControl control;
    ConvergenceCurve curve(control);
    for (int k = 1; k <= num_passes; ++k) curve.control().proceed(pass(k, 1.0 / k, 0));
    const auto points = curve.points();
    ASSERT_LE(points.size(), ConvergenceCurve::kMaxPoints + 1);
    ASSERT_GE(points.size(), std::min<std::size_t>(num_passes, ConvergenceCurve::kMaxPoints / 2));
    EXPECT_EQ(points.front().pass, 1);
    EXPECT_EQ(points.back().pass, num_passes);
    for (std::size_t k = 2; k + 1 < points.size(); ++k) {
      EXPECT_EQ(points[k].pass - points[k - 1].pass, points[1].pass - points[0].pass);
    }
  }
}

TEST(ConvergenceCurve, without_reports_is_empty) {
  RunControl control;
  EXPECT_TRUE(ConvergenceCurve(control).points().empty());
}

}  // namespace
}  // namespace margrove
