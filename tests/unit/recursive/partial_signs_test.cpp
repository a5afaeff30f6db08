// Recursive regularisation of rows with partial labels (hierarchy/partial_labels.hpp).
#include <gtest/gtest.h>

#include <cmath>

#include "hierarchy/partial_labels.hpp"
#include "recursive/recursive.hpp"
#include "recursive_problems.hpp"

namespace margrove {
namespace {

using namespace testing_support;

/// Two of five rows have a random ancestor of their leaf as label. Dense rows have every column.
Instance partly_labelled(std::uint64_t seed, const LabelGraph& graph, std::size_t rows,
                         bool is_dense) {
  Instance instance = random_instance(seed, graph, rows, false);
  Random random(seed, 1);
  LabelSets labels;
  for (std::size_t i = 0; i < rows; ++i) {
    NodeId label = instance.labels[i].front();
    const auto above = graph.ancestors(label);
    if (random.below(5) < 2) label = above[random.below(above.size())];
    labels.append(std::span(&label, 1));
  }
  instance.labels = labels;
  if (!is_dense) return instance;
  instance.X = CsrMatrix(7);
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<float> values;
    for (int j = 0; j < 6; ++j) values.push_back(static_cast<float>(random.normal()));
    values.push_back(1.0F);
    instance.X.append_row(std::vector<FeatureId>{0, 1, 2, 3, 4, 5, 6}, values);
  }
  return instance;
}

/// What the solvers get.
struct Given {
  explicit Given(const Instance& instance)
      : partial(instance.graph, instance.labels),
        known(known_leaves(instance.graph, instance.labels)),
        problem(instance.problem()) {
    problem.labels = &known;
    problem.partial = &partial;
  }
  Given(const Given&) = delete;
  Given& operator=(const Given&) = delete;
  PartialLabels partial;
  LabelSets known;
  AdditiveProblem problem;
};

TEST(PartialLabels, a_row_has_no_sign_for_exactly_the_leaves_below_its_label) {
  for (const LabelGraph& graph : {small_tree(), small_dag(), small_forest()}) {
    const Instance instance = partly_labelled(1, graph, 50, false);
    const PartialLabels partial(graph, instance.labels);
    const LabelSets known = known_leaves(graph, instance.labels);
    for (const NodeId leaf : graph.leaves()) {
      std::vector<int> count(instance.labels.num_rows(), 0);
      partial.for_each_without_sign(leaf, [&](std::uint32_t i) { ++count[i]; });
      for (std::size_t i = 0; i < count.size(); ++i) {
        const NodeId label = instance.labels[i].front();
        const auto below = graph.descendants(label);
        const bool is_below = !graph.is_leaf(label) && std::ranges::count(below, leaf) > 0;
        EXPECT_EQ(count[i], is_below ? 1 : 0);
        EXPECT_EQ(known[i].empty(), !graph.is_leaf(label));
      }
    }
  }
}

TEST(PartialLabels, leaves_are_the_same_above_where_the_same_rows_have_no_sign) {
  const LabelGraph graph = small_tree();  // 0 above 1 and 2, 1 above 3 and 4, 2 above 5, 6 and 7
  LabelSets labels;
  for (const LabelId label : {1U, 3U, 1U}) labels.append(std::span(&label, 1));
  const PartialLabels partial(graph, labels);
  EXPECT_EQ(partial.labels_above(3), std::vector<NodeId>{1});
  EXPECT_EQ(partial.labels_above(4), std::vector<NodeId>{1});
  EXPECT_TRUE(partial.labels_above(6).empty());
  EXPECT_TRUE(PartialLabels(graph, known_leaves(graph, labels)).empty());
}

class PartialSigns : public testing::TestWithParam<LabelGraph (*)()> {};

TEST_P(PartialSigns, joint_duals_reach_the_optimum_of_the_stacked_problem) {
  for (const bool is_dense : {false, true}) {
    const Instance instance = partly_labelled(2, GetParam()(), is_dense ? 130 : 50, is_dense);
    const Given given(instance);
    const double tolerance = is_dense ? 1e-4 : 1e-5;
    for (const auto loss : {PointLossKind::hinge, PointLossKind::squared_hinge}) {
      SCOPED_TRACE(name_of(loss));
      Executor executor;
      RunControl control;
      const auto fit = train_joint_dual(
          given.problem, {.loss = loss, .C = 0.7, .tolerance = tolerance, .max_passes = 100000},
          executor, control);
      const double optimum = stacked_optimum(instance, loss, 0.7);
      EXPECT_EQ(fit.stop, Stop::converged);
      EXPECT_NEAR(fit.primal, optimum, 2 * tolerance * optimum);
      EXPECT_LE(fit.dual, optimum * (1 + 1e-5));  // float32 scores of dense rows
    }
  }
}

TEST_P(PartialSigns, joint_newton_reaches_the_optimum_of_the_stacked_problem) {
  const Instance instance = partly_labelled(3, GetParam()(), 60, false);
  const Given given(instance);
  if (!suits_joint_newton(given.problem)) GTEST_SKIP();
  Executor executor;
  RunControl control;
  const auto fit =
      train_joint_newton(given.problem, {.C = 0.7, .tolerance = 1e-5}, executor, control);
  const double optimum = stacked_optimum(instance, PointLossKind::logistic, 0.7);
  EXPECT_NEAR(fit.primal, optimum, 2e-5 * optimum);
  EXPECT_LE(fit.dual, optimum * (1 + 1e-6));
}

TEST_P(PartialSigns, alternation_reaches_the_optimum_of_the_stacked_problem) {
  const Instance instance = partly_labelled(4, GetParam()(), 60, false);
  const Given given(instance);
  for (const auto loss :
       {PointLossKind::hinge, PointLossKind::squared_hinge, PointLossKind::logistic}) {
    SCOPED_TRACE(name_of(loss));
    Executor executor;
    RunControl control;
    const auto fit = train_alternating(given.problem, {.loss = loss, .C = 0.7, .tolerance = 1e-8},
                                       executor, control);
    const double optimum = stacked_optimum(instance, loss, 0.7);
    EXPECT_NEAR(fit.primal, optimum, 1e-3 * optimum);
    EXPECT_GE(fit.primal, optimum * (1 - 1e-5));
  }
}

TEST_P(PartialSigns, free_intercepts_have_a_gap_and_agree_with_a_weak_regulariser) {
  // The intercept's column is regularised by 1 / value^2 times what it is at value 1.
  Instance weak = partly_labelled(5, GetParam()(), 130, true);
  const Given exact(weak);
  Executor executor;
  RunControl control;
  AdditiveProblem problem = exact.problem;
  problem.free_intercept = true;
  const auto hinge = train_joint_dual(
      problem, {.loss = PointLossKind::squared_hinge, .tolerance = 1e-4, .max_passes = 20000},
      executor, control);
  EXPECT_LE(hinge.relative_gap(), 1e-4);
  CsrMatrix scaled(7);
  for (std::size_t i = 0; i < weak.X.num_rows(); ++i) {
    std::vector<float> values(weak.X.row(i).values.begin(), weak.X.row(i).values.end());
    values.back() = 300;
    scaled.append_row(weak.X.row(i).columns, values);
  }
  weak.X = scaled;
  EXPECT_NEAR(hinge.primal, stacked_optimum(weak, PointLossKind::squared_hinge, 1.0),
              1e-3 * hinge.primal);
  if (!suits_joint_newton(problem)) return;
  const auto logistic = train_joint_newton(problem, {.tolerance = 1e-4}, executor, control);
  EXPECT_LE(logistic.relative_gap(), 1e-4);
  EXPECT_NEAR(logistic.primal, stacked_optimum(weak, PointLossKind::logistic, 1.0),
              1e-3 * logistic.primal);
}

INSTANTIATE_TEST_SUITE_P(graphs, PartialSigns, testing::Values(small_tree, small_dag, small_forest),
                         [](const auto& graph) {
                           return graph.param == small_tree  ? "tree"
                                  : graph.param == small_dag ? "dag"
                                                             : "forest";
                         });

}  // namespace
}  // namespace margrove
