#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.hpp"
#include "hierarchy/graph_operations.hpp"
#include "linear/binary_linear.hpp"
#include "linear/one_vs_rest.hpp"
#include "linear/point_loss.hpp"
#include "num_cases.hpp"
#include "recursive/recursive.hpp"
#include "recursive_problems.hpp"

namespace margrove {
namespace {

using namespace testing_support;

struct Case {
  const char* name;
  LabelGraph (*graph)();
  bool multi_label;
};
class JointDual : public testing::TestWithParam<std::tuple<Case, PointLossKind>> {};

TEST_P(JointDual, reaches_the_optimum_of_the_stacked_problem) {
  const auto& [which, loss] = GetParam();
  for (std::uint64_t seed = 0; seed < num_cases(5); ++seed) {
    SCOPED_TRACE(seed);
    const Instance instance = random_instance(seed, which.graph(), 40, which.multi_label);
    Executor executor;
    RunControl control;
    const auto fit = train_joint_dual(
        instance.problem(), {.loss = loss, .C = 0.7, .tolerance = 1e-6, .max_passes = 100000},
        executor, control);
    const double optimum = stacked_optimum(instance, loss, 0.7);
    EXPECT_EQ(fit.stop, Stop::converged);
    EXPECT_NEAR(fit.primal, optimum, 1e-5 * optimum);
    EXPECT_LE(fit.dual, optimum * (1 + 1e-6));
  }
}

INSTANTIATE_TEST_SUITE_P(
    graphs, JointDual,
    testing::Combine(testing::Values(Case{"tree", small_tree, false}, Case{"dag", small_dag, false},
                                     Case{"forest", small_forest, false},
                                     Case{"multi_label_tree", small_tree, true}),
                     testing::Values(PointLossKind::hinge, PointLossKind::squared_hinge)),
    [](const auto& instance) {
      return std::string(std::get<0>(instance.param).name) +
             (std::get<1>(instance.param) == PointLossKind::hinge ? "_hinge" : "_squared_hinge");
    });

TEST(JointDualTail, gives_the_answer_of_rows_without_one) {
  for (const auto loss : {PointLossKind::hinge, PointLossKind::squared_hinge}) {
    for (const bool has_common : {true, false}) {
      Instance with = instance_with_tail(3, small_dag(), 40);
      if (!has_common) with.alpha[with.targets[0]] = 0;  // a leaf without weights of its own
      const Instance without = without_tail(with);
      const auto fit = [&](const Instance& instance, int threads) {
        Executor executor(threads);
        RunControl control;
        return train_joint_dual(instance.problem(),
                                {.loss = loss, .C = 0.7, .tolerance = 1e-6, .max_passes = 100000},
                                executor, control);
      };
      const RecursiveFit found = fit(with, 1);
      const RecursiveFit other = fit(without, 1);
      EXPECT_EQ(found.stop, Stop::converged);
      EXPECT_NEAR(found.primal, other.primal, 1e-5 * other.primal);
      EXPECT_LE(found.dual, other.primal * (1 + 1e-6));
      const RecursiveFit threaded = fit(with, 3);
      EXPECT_EQ(threaded.primal, found.primal);
      EXPECT_EQ(threaded.dual, found.dual);
    }
  }
}

/// sum_m |v_m|^2 / (2 alpha_m) + C sum of hinge losses, from the returned weights alone.
double hinge_objective(const Instance& instance, const WeightMatrix& W, double C) {
  const auto sets = ancestor_sets(instance.graph, instance.graph.topological_order());
  double value = 0;
  for (NodeId m = 0; m < instance.graph.num_nodes(); ++m) {
    for (FeatureId j = 0; j < W.num_features(); ++j) {
      value += 0.5 * W.at(j, m) * W.at(j, m) / instance.alpha[m];
    }
  }
  std::vector<float> scores(instance.graph.num_nodes());
  for (std::size_t i = 0; i < instance.X.num_rows(); ++i) {
    W.scores(instance.X.row(i), scores);
    const auto labels = instance.labels[i];
    for (const NodeId t : instance.targets) {
      double score = 0;
      for (const NodeId m : sets[t]) score += scores[m];
      const bool positive = std::find(labels.begin(), labels.end(), t) != labels.end();
      value += C * HingeLoss::value(positive ? score : -score);
    }
  }
  return value;
}

TEST(JointDual, reported_primal_is_that_of_the_returned_weights) {
  const Instance instance = random_instance(3, small_tree(), 60, false);
  Executor executor;
  RunControl control;
  const auto fit = train_joint_dual(instance.problem(), {.C = 2.0}, executor, control);
  EXPECT_NEAR(fit.primal, hinge_objective(instance, fit.weights, 2.0), 1e-4 * fit.primal);
  EXPECT_LE(fit.relative_gap(), 1e-3);
}

TEST(JointDual, same_bits_on_1_2_and_5_threads) {
  const Instance instance = random_instance(4, small_dag(), 80, true);
  std::vector<std::vector<float>> all;
  for (const int threads : {1, 2, 5}) {
    Executor executor(threads);
    RunControl control;
    const auto fit =
        train_joint_dual(instance.problem(), {.max_passes = 7, .seed = 9}, executor, control);
    std::vector<float> weights;
    for (FeatureId j = 0; j < fit.weights.num_features(); ++j) {
      for (NodeId n = 0; n < fit.weights.num_nodes(); ++n) weights.push_back(fit.weights.at(j, n));
    }
    all.push_back(weights);
  }
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
}

TEST(JointDual, leaves_without_weight_of_their_own_share_what_is_above_them) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(seed);
    Instance instance = random_instance(seed, small_tree(), 40, false);
    instance.alpha[3] = instance.alpha[6] = 0;
    Executor executor;
    RunControl control;
    for (const auto loss : {PointLossKind::hinge, PointLossKind::squared_hinge}) {
      const auto fit = train_joint_dual(
          instance.problem(), {.loss = loss, .C = 0.7, .tolerance = 1e-6, .max_passes = 100000},
          executor, control);
      const double optimum = stacked_optimum(instance, loss, 0.7);
      EXPECT_NEAR(fit.primal, optimum, 1e-5 * optimum);
      EXPECT_LE(fit.dual, optimum * (1 + 1e-6));
    }
  }
}

TEST(JointDual, a_graph_without_edges_gives_the_one_vs_rest_objective) {
  Instance instance = random_instance(5, LabelGraph::flat(4), 60, false);
  instance.alpha.assign(4, 1.0);
  Executor executor;
  RunControl control;
  const auto joint = train_joint_dual(instance.problem(), {.tolerance = 1e-6, .max_passes = 10000},
                                      executor, control);
  const auto flat = train_one_vs_rest(instance.X, instance.labels, 4,
                                      {.tolerance = 1e-6, .max_passes = 10000}, executor, control);
  EXPECT_NEAR(joint.primal, flat.primal, 1e-5 * flat.primal);
}

TEST(JointDual, row_weights_count_a_row_as_often_as_they_say) {
  Instance once = random_instance(6, small_tree(), 20, false);
  Instance twice = random_instance(6, small_tree(), 20, false);
  for (std::size_t i = 0; i < 20; ++i) {
    twice.X.append_row(once.X.row(i).columns, once.X.row(i).values);
    twice.labels.append(once.labels[i]);
  }
  const std::vector<double> weights(20, 2.0);
  AdditiveProblem weighted = once.problem();
  weighted.row_weights = weights;
  Executor executor;
  RunControl control;
  const JointDualOptions options{.tolerance = 1e-6, .max_passes = 10000};
  const double a = train_joint_dual(weighted, options, executor, control).primal;
  const double b = train_joint_dual(twice.problem(), options, executor, control).primal;
  EXPECT_NEAR(a, b, 1e-5 * b);
}

TEST(JointDual, stops_when_told_and_says_so) {
  const Instance instance = random_instance(7, small_tree(), 40, false);
  Executor executor;
  RunControl interrupted([](const Progress&) { return false; });
  EXPECT_EQ(train_joint_dual(instance.problem(), {}, executor, interrupted).stop,
            Stop::interrupted);
  RunControl control;
  EXPECT_EQ(
      train_joint_dual(instance.problem(), {.tolerance = 1e-12, .max_passes = 2}, executor, control)
          .stop,
      Stop::pass_limit);
}

TEST(JointDual, a_time_limit_leaves_the_gap_of_the_returned_weights_or_none) {
  Instance instance = random_instance(7, small_dag(), 40, false);
  instance.X = CsrMatrix(2000);  // too wide for the dense solver
  Random random(3);
  for (std::size_t i = 0; i < instance.labels.num_rows(); ++i) {
    std::vector<FeatureId> columns;
    for (FeatureId j = 0; j < 2000; ++j) {
      if (random.uniform() < 0.02) columns.push_back(j);
    }
    instance.X.append_row(columns, std::vector<float>(columns.size(), 0.3F));
  }
  Executor executor;
  for (const double seconds : {0.0, 1e-4, 2e-3}) {
    RunControl control([](const Progress&) { return true; }, seconds);
    const auto fit = train_joint_dual(
        instance.problem(), {.tolerance = 1e-15, .max_passes = 1'000'000}, executor, control);
    EXPECT_EQ(fit.stop, Stop::time_limit);
    if (std::isnan(fit.primal)) {
      EXPECT_TRUE(std::isnan(fit.dual));
      EXPECT_TRUE(std::isnan(fit.relative_gap()));
    } else {
      EXPECT_NEAR(fit.primal, hinge_objective(instance, fit.weights, 1.0), 1e-4 * fit.primal);
      EXPECT_LE(fit.dual, fit.primal);
    }
  }
}

TEST(JointDual, a_label_that_is_not_a_target_throws_with_its_row) {
  Instance instance = random_instance(8, small_tree(), 5, false);
  instance.targets.pop_back();
  instance.labels.append(std::vector<LabelId>{7});
  instance.X.append_row({}, {});
  Executor executor;
  RunControl control;
  try {
    train_joint_dual(instance.problem(), {}, executor, control);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_NE(std::string(error.what()).find("is not a target"), std::string::npos);
  }
}

}  // namespace
}  // namespace margrove
