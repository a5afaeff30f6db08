#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "margrove/base/random.hpp"
#include "margrove/loss/point_loss.hpp"
#include "margrove/solver/binary_linear.hpp"
#include "margrove/solver/one_vs_rest.hpp"
#include "margrove/solver/recursive.hpp"

namespace margrove {
namespace {

struct Instance {
  CsrMatrix X;
  LabelSets labels;
  LabelGraph graph;
  std::vector<NodeId> targets;
  std::vector<double> alpha;
  AdditiveProblem problem() const {
    AdditiveProblem p;
    p.X = X.view();
    p.labels = &labels;
    p.graph = &graph;
    p.alpha = alpha;
    p.targets = targets;
    return p;
  }
};

Instance random_instance(std::uint64_t seed, LabelGraph graph, std::size_t rows, bool multi_label) {
  Random random(seed);
  Instance made;
  made.graph = std::move(graph);
  made.targets.assign(made.graph.leaves().begin(), made.graph.leaves().end());
  for (NodeId n = 0; n < made.graph.num_nodes(); ++n) {
    made.alpha.push_back(0.5 + random.uniform());
  }
  made.X = CsrMatrix(7);
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<FeatureId> columns;
    std::vector<float> values;
    for (FeatureId j = 0; j < 6; ++j) {
      if (random.uniform() < 0.6) {
        columns.push_back(j);
        values.push_back(static_cast<float>(random.normal()));
      }
    }
    columns.push_back(6);
    values.push_back(1.0F);
    made.X.append_row(columns, values);
    std::vector<LabelId> set{made.targets[random.below(made.targets.size())]};
    if (multi_label) set.push_back(made.targets[random.below(made.targets.size())]);
    made.labels.append(set);
  }
  return made;
}

LabelGraph small_tree() {
  return LabelGraph::build(
      8, std::vector<LabelEdge>{{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}, {2, 6}, {2, 7}});
}
LabelGraph small_dag() {
  return LabelGraph::build(
      7, std::vector<LabelEdge>{{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 4}, {2, 5}, {1, 6}, {2, 6}});
}
LabelGraph small_forest() {
  return LabelGraph::build(6, std::vector<LabelEdge>{{0, 1}, {0, 2}, {3, 4}});  // 5 stands alone
}

/// The same problem as one binary classifier over (row, leaf) pairs, whose features are the row's,
/// times sqrt(alpha_m), in the block of each node m on the leaf's path.
double stacked_optimum(const Instance& instance, PointLossKind loss, double C) {
  const auto sets = ancestor_sets(instance.graph);
  const FeatureId d = instance.X.num_columns();
  CsrMatrix stacked(d * instance.graph.num_nodes());
  std::vector<std::uint32_t> positives;
  for (std::size_t i = 0; i < instance.X.num_rows(); ++i) {
    const SparseRow x = instance.X.row(i);
    for (const NodeId t : instance.targets) {
      std::vector<FeatureId> columns;
      std::vector<float> values;
      for (const NodeId m : sets[t]) {
        for (std::size_t k = 0; k < x.size(); ++k) {
          columns.push_back(m * d + x.columns[k]);
          values.push_back(static_cast<float>(x.values[k] * std::sqrt(instance.alpha[m])));
        }
      }
      const auto labels = instance.labels[i];
      if (std::find(labels.begin(), labels.end(), t) != labels.end()) {
        positives.push_back(static_cast<std::uint32_t>(stacked.num_rows()));
      }
      stacked.append_row(columns, values);
    }
  }
  const auto norms = squared_norms(stacked);
  BinaryProblem problem;
  problem.X = stacked.view();
  problem.squared_norms = norms;
  problem.positives = positives;
  problem.C = C;
  BinaryState state;
  RunControl control;
  return solve_binary(problem, loss, {.tolerance = 1e-8, .max_passes = 100000}, state, control)
      .primal;
}

struct Case {
  const char* name;
  LabelGraph (*graph)();
  bool multi_label;
};
class JointDual : public testing::TestWithParam<std::tuple<Case, std::string>> {};

TEST_P(JointDual, reaches_the_optimum_of_the_stacked_problem) {
  const auto& [which, loss] = GetParam();
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const Instance instance = random_instance(seed, which.graph(), 40, which.multi_label);
    Executor executor;
    RunControl control;
    const auto fit = train_joint_dual(
        instance.problem(), {.loss = loss, .C = 0.7, .tolerance = 1e-6, .max_passes = 100000},
        executor, control);
    const double optimum = stacked_optimum(instance, point_loss_from_string(loss), 0.7);
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
                     testing::Values(std::string("hinge"), std::string("squared-hinge"))),
    [](const auto& instance) {
      return std::string(std::get<0>(instance.param).name) +
             (std::get<1>(instance.param) == "hinge" ? "_hinge" : "_squared_hinge");
    });

/// sum_m |v_m|^2 / (2 alpha_m) + C sum of hinge losses, from the returned weights alone.
double hinge_objective(const Instance& instance, const WeightMatrix& W, double C) {
  const auto sets = ancestor_sets(instance.graph);
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
