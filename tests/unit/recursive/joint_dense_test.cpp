// Rows that fill their few columns, which train_joint_dual() gives to Newton's method with factors.

#include <gtest/gtest.h>

#include "linear/point_loss.hpp"
#include "recursive/recursive.hpp"
#include "recursive_problems.hpp"

namespace margrove {
namespace {

using namespace testing_support;

Instance full_instance(std::uint64_t seed, LabelGraph graph, bool multi_label) {
  Instance instance = random_instance(seed, std::move(graph), 160, multi_label);
  Random random(seed + 100);
  CsrMatrix X(5);
  for (std::size_t i = 0; i < 160; ++i) {
    std::vector<float> values;
    for (int j = 0; j < 4; ++j) values.push_back(static_cast<float>(random.normal()));
    values[0] += static_cast<float>(instance.labels[i][0]) / 3;
    values.push_back(1.0F);
    X.append_row(std::vector<FeatureId>{0, 1, 2, 3, 4}, values);
  }
  instance.X = std::move(X);
  return instance;
}

RecursiveFit fit_of(const Instance& instance, PointLossKind loss, double tolerance, int threads = 1,
                    int max_passes = 1000) {
  Executor executor(threads);
  RunControl control;
  return train_joint_dual(
      instance.problem(),
      {.loss = loss, .C = 0.7, .tolerance = tolerance, .max_passes = max_passes}, executor,
      control);
}

class JointDense : public testing::TestWithParam<PointLossKind> {};

TEST_P(JointDense, reaches_the_optimum_of_the_stacked_problem) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    for (const bool multi_label : {false, true}) {
      for (const auto& graph : {small_tree(), small_forest()}) {
        SCOPED_TRACE(seed);
        const Instance instance = full_instance(seed, graph, multi_label);
        const bool smooth = GetParam() != PointLossKind::hinge;
        const double tolerance = smooth ? 1e-5 : 5e-4;  // smoothing costs digits
        const auto fit = fit_of(instance, GetParam(), tolerance);
        const double optimum = stacked_optimum(instance, GetParam(), 0.7);
        EXPECT_EQ(fit.stop, Stop::converged);
        EXPECT_LE(fit.relative_gap(), tolerance);
        EXPECT_NEAR(fit.primal, optimum, tolerance * optimum);
        EXPECT_LE(fit.dual, optimum * (1 + 1e-5));  // float32 scores
      }
    }
  }
}

TEST_P(JointDense, same_bits_on_1_2_and_5_threads) {
  const Instance instance = full_instance(4, small_tree(), true);
  const auto one = fit_of(instance, GetParam(), 1e-3, 1, 7);
  for (const int threads : {2, 5}) {
    const auto other = fit_of(instance, GetParam(), 1e-3, threads, 7);
    EXPECT_EQ(one.primal, other.primal);
    for (FeatureId j = 0; j < one.weights.num_features(); ++j) {
      for (NodeId n = 0; n < one.weights.num_nodes(); ++n) {
        EXPECT_EQ(one.weights.at(j, n), other.weights.at(j, n));
      }
    }
  }
}

TEST(JointDenseLimit, stops_at_the_pass_limit_and_says_so) {
  const Instance instance = full_instance(7, small_tree(), false);
  EXPECT_EQ(fit_of(instance, PointLossKind::hinge, 1e-9, 1, 2).stop, Stop::pass_limit);
}

INSTANTIATE_TEST_SUITE_P(losses, JointDense,
                         testing::Values(PointLossKind::hinge, PointLossKind::squared_hinge),
                         [](const auto& instance) {
                           std::string name(name_of(instance.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace margrove
