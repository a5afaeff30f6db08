#include <gtest/gtest.h>

#include "margrove/errors.hpp"
#include "recursive/recursive.hpp"
#include "recursive_problems.hpp"

namespace margrove {
namespace {

using namespace testing_support;

AlternatingOptions tight(PointLossKind loss, double C) {
  return {.loss = loss, .C = C, .tolerance = 1e-9, .max_passes = 5000};
}

SimilarityProblem pull_problem(const Instance& instance, const SimilarityGraph& graph) {
  SimilarityProblem p;
  p.X = instance.X.view();
  p.labels = &instance.labels;
  p.graph = &graph;
  p.targets = instance.targets;
  return p;
}

class Alternating : public testing::TestWithParam<PointLossKind> {};

TEST_P(Alternating, additive_trees_dags_and_forests_reach_the_stacked_optimum) {
  for (const auto& graph : {small_tree(), small_dag(), small_forest()}) {
    const Instance instance = random_instance(1, graph, 30, true);
    Executor executor;
    RunControl control;
    const auto fit =
        train_alternating(instance.problem(), tight(GetParam(), 0.7), executor, control);
    const double optimum = stacked_optimum(instance, GetParam(), 0.7);
    EXPECT_NEAR(fit.primal, optimum, 1e-5 * optimum);
  }
}

TEST_P(Alternating, rows_with_a_dense_tail_have_the_answer_of_rows_without_one) {
  const Instance with = instance_with_tail(3, small_tree(), 40);
  const auto fit = [](const Instance& instance) {
    Executor executor;
    RunControl control;
    return train_alternating(instance.problem(), tight(GetParam(), 0.7), executor, control);
  };
  const double other = fit(without_tail(with)).primal;
  EXPECT_NEAR(fit(with).primal, other, 1e-5 * other);
}

TEST_P(Alternating, pulls_along_a_trees_edges_give_the_additive_trees_answer) {
  Instance instance = random_instance(2, small_tree(), 30, false);
  instance.alpha.assign(instance.graph.num_nodes(), 1.0);
  const SimilarityGraph graph = SimilarityGraph::of_hierarchy(instance.graph);
  Executor executor;
  RunControl control;
  const auto fit =
      train_alternating(pull_problem(instance, graph), tight(GetParam(), 0.7), executor, control);
  const double optimum = stacked_optimum(instance, GetParam(), 0.7);
  EXPECT_NEAR(fit.primal, optimum, 1e-5 * optimum);
}

TEST_P(Alternating, an_edge_to_a_fixed_zero_vector_is_an_anchor) {
  // The fixed zero vector is a node without loss whose anchor is all but infinite.
  const Instance instance = random_instance(3, small_tree(), 30, false);
  const SimilarityGraph anchored = SimilarityGraph::of_hierarchy(instance.graph);
  SimilarityGraph edged = anchored;
  edged.anchors[0] = 0;
  edged.anchors.push_back(1e12);
  edged.edges.push_back({0, edged.num_nodes++, 1.0});
  Executor executor;
  RunControl control;
  const double a =
      train_alternating(pull_problem(instance, anchored), tight(GetParam(), 1.0), executor, control)
          .primal;
  const double b =
      train_alternating(pull_problem(instance, edged), tight(GetParam(), 1.0), executor, control)
          .primal;
  EXPECT_NEAR(a, b, 1e-5 * a);
}

TEST_P(Alternating, the_objective_never_rises) {
  const Instance instance = random_instance(4, small_dag(), 40, true);
  const SimilarityGraph graph = SimilarityGraph::of_hierarchy(instance.graph);
  Executor executor;
  RunControl control;
  for (const auto& objectives :
       {train_alternating(instance.problem(), tight(GetParam(), 3.0), executor, control).objectives,
        train_alternating(pull_problem(instance, graph), tight(GetParam(), 3.0), executor, control)
            .objectives}) {
    for (std::size_t k = 1; k < objectives.size(); ++k) {
      EXPECT_LE(objectives[k], objectives[k - 1] * (1 + 1e-6));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(losses, Alternating,
                         testing::Values(PointLossKind::hinge, PointLossKind::squared_hinge,
                                         PointLossKind::logistic),
                         [](const auto& tested) {
                           std::string name(name_of(tested.param));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(AlternatingGraph, joins_and_isolated_nodes_work_and_threads_keep_the_bits) {
  // 0 - 1 - 2 joined, 3 alone, 4 without loss between 1 and 2.
  Instance instance = random_instance(5, LabelGraph::flat(4), 40, true);
  SimilarityGraph graph;
  graph.num_nodes = 5;
  graph.edges = {{0, 1, 1.0}, {1, 2, 0.5}, {1, 4, 2.0}, {2, 4, 2.0}};
  graph.anchors = {0.1, 0.1, 0.1, 0, 0};
  std::vector<double> primal;
  std::vector<float> first;
  for (const int threads : {1, 2, 5}) {
    Executor executor(threads);
    RunControl control;
    const auto fit = train_alternating(pull_problem(instance, graph),
                                       tight(PointLossKind::logistic, 1.0), executor, control);
    std::vector<float> weights;
    for (FeatureId j = 0; j < 7; ++j) {
      for (NodeId n = 0; n < 5; ++n) weights.push_back(fit.weights.at(j, n));
      // A node without loss lies at the mean of its neighbours.
      EXPECT_NEAR(fit.weights.at(j, 4), 0.5 * (fit.weights.at(j, 1) + fit.weights.at(j, 2)), 1e-4);
    }
    if (first.empty()) first = weights;
    EXPECT_EQ(weights, first);
  }
}

TEST(AlternatingGraph, wrong_edges_and_anchors_throw_naming_them) {
  const Instance instance = random_instance(6, LabelGraph::flat(3), 10, false);
  Executor executor;
  RunControl control;
  const auto message = [&](SimilarityGraph graph) -> std::string {
    try {
      train_alternating(pull_problem(instance, graph), {}, executor, control);
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "nothing thrown";
  };
  EXPECT_EQ(message({3, {{0, 3, 1.0}}, {}}),
            "label graph: edge 0 - 3 must join two nodes in [0, 3)");
  EXPECT_EQ(message({3, {{1, 1, 1.0}}, {}}),
            "label graph: edge 1 - 1 must join two nodes in [0, 3)");
  EXPECT_EQ(message({3, {{0, 1, -1.0}}, {}}),
            "label graph: edge 0 - 1 has weight -1, but must be > 0");
  EXPECT_EQ(message({3, {}, {0, -2, 0}}), "label graph: anchor of node 1 is -2, but must be >= 0");
}

}  // namespace
}  // namespace margrove
