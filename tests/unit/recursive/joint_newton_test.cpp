#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "data/csr_operations.hpp"
#include "hierarchy/graph_operations.hpp"
#include "linear/one_vs_rest.hpp"
#include "linear/point_loss.hpp"
#include "margrove/errors.hpp"
#include "recursive/label_kernel.hpp"
#include "recursive/node_precision.hpp"
#include "recursive/recursive.hpp"
#include "recursive_problems.hpp"

namespace margrove {
namespace {

using namespace testing_support;

/// Paths that meet below the top, and a link across levels.
LabelGraph crossed_dag() {
  return LabelGraph::build(12, std::vector<LabelEdge>{{0, 1},
                                                      {0, 2},
                                                      {0, 3},
                                                      {1, 4},
                                                      {2, 4},
                                                      {2, 5},
                                                      {3, 5},
                                                      {0, 5},
                                                      {4, 6},
                                                      {5, 6},
                                                      {4, 7},
                                                      {5, 8},
                                                      {6, 9},
                                                      {6, 10},
                                                      {3, 10},
                                                      {1, 11},
                                                      {8, 11}});
}

LabelGraph random_dag(std::uint64_t seed) {
  Random random(seed);
  std::vector<LabelEdge> edges;
  for (NodeId n = 1; n < 20; ++n) {
    std::vector<NodeId> parents;
    for (std::size_t k = 0; k < 1 + random.below(3); ++k) {
      parents.push_back(static_cast<NodeId>(random.below(std::min<NodeId>(n, 11))));
    }
    std::sort(parents.begin(), parents.end());
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    for (const NodeId p : parents) edges.push_back({p, n});
  }
  return LabelGraph::build(20, edges);
}

TEST(JointNewtonTail, gives_the_answer_of_rows_without_one) {
  const Instance with = instance_with_tail(3, small_dag(), 43);
  const auto fit = [](const Instance& instance) {
    Executor executor;
    RunControl control;
    return train_joint_newton(instance.problem(), {.C = 0.7, .tolerance = 1e-5}, executor, control);
  };
  const RecursiveFit found = fit(with), other = fit(without_tail(with));
  EXPECT_EQ(found.stop, Stop::converged);
  EXPECT_NEAR(found.primal, other.primal, 1e-5 * other.primal);
  EXPECT_NEAR(found.dual, other.dual, 1e-5 * other.primal);
}

/// Of the additive problem at v.
double objective_of(const Instance& instance, const WeightMatrix& v,
                    const JointNewtonOptions& options) {
  const auto sets = ancestor_sets(instance.graph, instance.graph.topological_order());
  double value = 0;
  for (NodeId n = 0; n < instance.graph.num_nodes(); ++n) {
    double squares = 0;
    for (FeatureId j = 0; j < v.num_features(); ++j) squares += v.at(j, n) * v.at(j, n);
    if (squares > 0) value += 0.5 * squares / instance.alpha[n];
  }
  for (std::size_t i = 0; i < instance.X.num_rows(); ++i) {
    const SparseRow x = instance.X.row(i);
    const auto labels = instance.labels[i];
    double logistic = 0, exponentials = 0, of_own = 0;
    for (const NodeId t : instance.targets) {
      double score = 0;
      for (const NodeId m : sets[t]) {
        for (std::size_t k = 0; k < x.size(); ++k) score += x.values[k] * v.at(x.columns[k], m);
      }
      const bool own = std::find(labels.begin(), labels.end(), t) != labels.end();
      logistic += LogisticLoss::value(own ? score : -score);
      exponentials += std::exp(score);
      if (own) of_own = score;
    }
    value += options.C * (options.softmax ? std::log(exponentials) - of_own : logistic);
  }
  return value;
}

constexpr JointNewtonOptions kTight{.C = 0.7, .tolerance = 1e-6, .max_passes = 5000};

RecursiveFit fit_of(const Instance& instance, const JointNewtonOptions& options, int threads = 1) {
  Executor executor(threads);
  RunControl control;
  return train_joint_newton(instance.problem(), options, executor, control);
}

TEST(JointNewton, reaches_the_optimum_of_the_stacked_problem) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    for (const bool multi_label : {false, true}) {
      for (const auto& graph : {small_tree(), small_forest(), small_dag(), crossed_dag()}) {
        SCOPED_TRACE(seed);
        const Instance instance = random_instance(seed, graph, 40, multi_label);
        const auto fit = fit_of(instance, kTight);
        const double optimum = stacked_optimum(instance, PointLossKind::logistic, 0.7);
        EXPECT_EQ(fit.stop, Stop::converged);
        EXPECT_NEAR(fit.primal, optimum, 1e-5 * optimum);
        EXPECT_LE(fit.dual, optimum * (1 + 1e-6));
      }
    }
  }
}

TEST(JointNewton, softmax_ends_where_the_objective_is_flat_and_the_dual_below_it) {
  const JointNewtonOptions options{
      .softmax = true, .C = 0.7, .tolerance = 1e-6, .max_passes = 5000};
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (const auto& graph : {small_tree(), small_forest(), small_dag(), crossed_dag()}) {
      SCOPED_TRACE(seed);
      Instance instance = random_instance(seed, graph, 40, false);
      if (seed % 2 == 1) instance.X = with_intercept(instance.X.view(), 1.0);
      const auto fit = fit_of(instance, options);
      EXPECT_EQ(fit.stop, Stop::converged);
      EXPECT_LE(fit.relative_gap(), 1e-6);
      const double objective = objective_of(instance, fit.weights, options);
      EXPECT_NEAR(objective, fit.primal, 1e-5 * objective);
      // No weight can be moved by h for a gain beyond the gap.
      WeightMatrix moved = WeightMatrix::dense(fit.weights.num_features(), fit.weights.num_nodes());
      for (FeatureId j = 0; j < fit.weights.num_features(); ++j) {
        for (NodeId n = 0; n < fit.weights.num_nodes(); ++n) {
          moved.dense_values()[j * fit.weights.num_nodes() + n] = fit.weights.at(j, n);
        }
      }
      for (float& weight : moved.dense_values()) {
        if (weight == 0) continue;  // nodes without a part in a score
        for (const float h : {-0.05F, 0.05F}) {
          weight += h;
          EXPECT_GT(objective_of(instance, moved, options), fit.dual);
          weight -= h;
        }
      }
    }
  }
}

TEST(JointNewton, softmax_needs_one_label_in_each_row) {
  const Instance instance = random_instance(3, small_tree(), 40, true);
  EXPECT_THROW(fit_of(instance, {.softmax = true}), InvalidInput);
}

TEST(JointNewton, reaches_the_optimum_and_the_alternating_solvers_on_random_dags) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    Instance instance = random_instance(seed, random_dag(seed), 40, seed % 2 == 0);
    if (seed >= 4) {  // inner nodes without weight
      for (NodeId n = 0; n < 6; ++n) {
        if (!instance.graph.is_leaf(n)) instance.alpha[n] = 0;
      }
    }
    const double optimum = stacked_optimum(instance, PointLossKind::logistic, 0.7);
    const auto fit = fit_of(instance, kTight);
    EXPECT_NEAR(fit.primal, optimum, 1e-5 * optimum);
    EXPECT_LE(fit.relative_gap(), 1e-6);
    EXPECT_NEAR(objective_of(instance, fit.weights, kTight), fit.primal, 1e-5 * optimum);
    Executor executor;
    RunControl control;
    const auto alternated = train_alternating(
        instance.problem(), {.C = 0.7, .tolerance = 1e-9, .max_passes = 5000}, executor, control);
    EXPECT_NEAR(fit.primal, alternated.primal, 1e-5 * optimum);
  }
}

TEST(JointNewton, pulls_along_edges_reach_the_alternating_solvers_optimum) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    Instance instance = random_instance(seed, random_dag(seed), 40, true);
    if (seed % 2 == 0) instance.X = with_intercept(instance.X.view(), 1.0);
    SimilarityGraph graph = SimilarityGraph::of_hierarchy(instance.graph);
    if (seed >= 3) {  // a label graph: neighbours have classifiers too
      instance.targets.resize(20);
      std::iota(instance.targets.begin(), instance.targets.end(), 0U);
    }
    SimilarityProblem problem;
    problem.X = instance.X.view();
    problem.labels = &instance.labels;
    problem.graph = &graph;
    problem.targets = instance.targets;
    Executor executor;
    RunControl control;
    const auto joint = train_joint_newton(problem, kTight, executor, control);
    const auto alternated = train_alternating(
        problem, {.C = 0.7, .tolerance = 1e-9, .max_passes = 5000}, executor, control);
    EXPECT_NEAR(joint.primal, alternated.primal, 1e-5 * joint.primal);
    EXPECT_LE(joint.relative_gap(), 1e-6);
    for (NodeId n = 0; n < 20; ++n) {
      for (FeatureId j = 0; j < 7; ++j) {
        // As near as the gap lets them be.
        EXPECT_NEAR(joint.weights.at(j, n), alternated.weights.at(j, n), 6e-3);
      }
    }
  }
}

TEST(JointNewton, label_graphs_with_a_part_without_anchor_are_not_suited) {
  const Instance instance = random_instance(9, LabelGraph::flat(4), 10, false);
  SimilarityGraph graph{.num_nodes = 4, .edges = {{0, 1}}, .anchors = {}};
  SimilarityProblem problem;
  problem.X = instance.X.view();
  problem.labels = &instance.labels;
  problem.graph = &graph;
  problem.targets = instance.targets;
  EXPECT_FALSE(suits_joint_newton(problem));
  graph.anchors = {1, 0, 0, 0};
  EXPECT_TRUE(suits_joint_newton(problem));
}

TEST(JointNewton, dags_with_many_cycles_are_found_unsuited_before_their_matrix_is_made) {
  int num_suited = 0;
  for (const int parents : {1, 2, 3, 6}) {
    for (const NodeId size : {30, 200, 600}) {
      Random random(size + static_cast<NodeId>(parents));
      std::set<std::pair<NodeId, NodeId>> pairs;
      for (NodeId n = 1; n < size; ++n) {
        for (int p = 0; p < parents; ++p) pairs.emplace(random.below(n), n);
      }
      std::vector<LabelEdge> edges;
      for (const auto& [parent, child] : pairs) edges.push_back({parent, child});
      const Instance instance = random_instance(1, LabelGraph::build(size, edges), 10, false);
      const bool is_suited = suits_joint_newton(instance.problem());
      num_suited += is_suited ? 1 : 0;
      EXPECT_EQ(is_suited,
                detail::LabelKernel::is_suited(detail::node_precision(instance.problem())))
          << parents << " parents, " << size << " nodes";
    }
  }
  EXPECT_GT(num_suited, 3);
  EXPECT_LT(num_suited, 12);
}

TEST(JointNewton, an_intercept_column_is_settled_without_leaving_the_optimum) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    Instance instance = random_instance(seed, small_tree(), 40, false);
    instance.X = with_intercept(instance.X.view(), 1.5);
    const auto fit = fit_of(instance, kTight);
    const double optimum = stacked_optimum(instance, PointLossKind::logistic, 0.7);
    EXPECT_NEAR(fit.primal, optimum, 1e-5 * optimum);
    EXPECT_LE(fit.relative_gap(), 1e-6);
  }
}

TEST(JointNewton, a_forest_of_single_leaves_gives_the_one_vs_rest_objective) {
  Instance instance = random_instance(5, LabelGraph::flat(20), 60, false);
  instance.alpha.assign(20, 1.0);
  instance.X = with_intercept(instance.X.view(), 1.0);
  Executor executor;
  RunControl control;
  const auto joint = fit_of(instance, {.tolerance = 1e-5});
  const auto flat =
      train_one_vs_rest(instance.X, instance.labels, 20,
                        {.loss = PointLossKind::logistic, .tolerance = 1e-5}, executor, control);
  EXPECT_NEAR(joint.primal, flat.primal, 1e-5 * flat.primal);
}

// What their sum gains is small beside the terms, which are kept in halves of a float32.
TEST(JointNewton, many_leaves_that_share_nearly_all_their_weight_reach_the_tolerance) {
  std::vector<LabelEdge> edges;
  for (NodeId leaf = 1; leaf <= 1500; ++leaf) edges.push_back({0, leaf});
  Instance instance = random_instance(9, LabelGraph::build(1501, edges), 800, false);
  instance.alpha.assign(1501, 1e-3);
  instance.alpha[0] = 1.0 - 1e-3;
  instance.X = with_intercept(instance.X.view(), 1.0);
  const auto fit = fit_of(instance, {.C = 10, .tolerance = 1e-2, .max_passes = 400});
  EXPECT_EQ(fit.stop, Stop::converged);
  EXPECT_LE(fit.relative_gap(), 1e-2);
}

// Where scores are far from 0, the second derivative is next to nothing and a Newton step on an
// intercept may end anywhere.
TEST(JointNewton, the_objective_never_rises_at_a_large_C) {
  struct Case {
    NodeId leaves;
    std::size_t rows;
    double C, alpha;
  };
  for (const auto& [leaves, rows, C, alpha] :
       {Case{20, 1000, 1e4, 1.0}, {200, 1000, 1e4, 1.0}, {20, 100, 1e4, 100.0}}) {
    SCOPED_TRACE(leaves);
    std::vector<LabelEdge> edges;
    for (NodeId leaf = 1; leaf <= leaves; ++leaf) edges.push_back({0, leaf});
    Instance instance = random_instance(1, LabelGraph::build(leaves + 1, edges), rows, false);
    std::fill(instance.alpha.begin() + 1, instance.alpha.end(), alpha);
    instance.X = with_intercept(instance.X.view(), 4.0);
    Executor executor;
    std::vector<double> objectives;
    RunControl control([&](const Progress& progress) {
      objectives.push_back(progress.objective);
      return true;
    });
    const auto fit =
        train_joint_newton(instance.problem(), {.C = C, .max_passes = 100}, executor, control);
    objectives.push_back(fit.primal);
    ASSERT_GT(objectives.size(), 3);
    for (std::size_t k = 1; k < objectives.size(); ++k) {
      EXPECT_LE(objectives[k], objectives[k - 1] * (1 + 1e-6));
    }
  }
}

TEST(JointNewton, row_weights_count_a_row_as_often_as_they_say) {
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
  const double a = train_joint_newton(weighted, kTight, executor, control).primal;
  const double b = fit_of(twice, kTight).primal;
  EXPECT_NEAR(a, b, 1e-5 * b);
}

void expect_same_bits(const Instance& instance, const JointNewtonOptions& options) {
  std::vector<std::vector<float>> all;
  for (const int threads : {1, 2, 5}) {
    const auto fit = fit_of(instance, options, threads);
    std::vector<float> weights;
    for (FeatureId j = 0; j < fit.weights.num_features(); ++j) {
      for (NodeId n = 0; n < fit.weights.num_nodes(); ++n) weights.push_back(fit.weights.at(j, n));
    }
    all.push_back(weights);
  }
  EXPECT_EQ(all[0], all[1]);
  EXPECT_EQ(all[0], all[2]);
}

TEST(JointNewton, same_bits_on_1_2_and_5_threads) {
  for (const bool softmax : {false, true}) {
    Instance instance = random_instance(4, crossed_dag(), 80, !softmax);
    instance.X = with_intercept(instance.X.view(), 1.0);
    expect_same_bits(instance, {.softmax = softmax, .max_passes = 7});
  }
}

TEST(JointNewton, stops_when_told_and_says_so) {
  const Instance instance = random_instance(7, small_tree(), 40, false);
  Executor executor;
  RunControl interrupted([](const Progress&) { return false; });
  EXPECT_EQ(train_joint_newton(instance.problem(), {}, executor, interrupted).stop,
            Stop::interrupted);
  EXPECT_EQ(fit_of(instance, {.tolerance = 1e-12, .max_passes = 2}).stop, Stop::pass_limit);
}

std::string message_of(const Instance& instance) {
  try {
    fit_of(instance, {});
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(JointNewton, wrong_input_throws_naming_it) {
  Instance weightless_leaf = random_instance(8, small_dag(), 5, false);
  weightless_leaf.alpha[4] = 0;  // below both 1 and 2
  EXPECT_FALSE(suits_joint_newton(weightless_leaf.problem()));
  EXPECT_NE(message_of(weightless_leaf).find("train_alternating() takes it"), std::string::npos);
  Instance label = random_instance(8, small_tree(), 5, false);
  label.targets.pop_back();
  label.labels.append(std::vector<LabelId>{7});
  label.X.append_row({}, {});
  EXPECT_NE(message_of(label).find("is not a target"), std::string::npos);
  Instance weightless = random_instance(8, small_tree(), 5, false);
  weightless.alpha.assign(weightless.alpha.size(), 0.0);
  EXPECT_NE(message_of(weightless).find("are all 0"), std::string::npos);
  Instance short_alpha = random_instance(8, small_tree(), 5, false);
  short_alpha.alpha.pop_back();
  EXPECT_NE(message_of(short_alpha).find("node weights, but"), std::string::npos);
}

}  // namespace
}  // namespace margrove
