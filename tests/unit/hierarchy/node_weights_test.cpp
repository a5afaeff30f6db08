#include "margrove/node_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "hierarchy/weight_paths.hpp"
#include "hierarchy/weight_program.hpp"
#include "interior_point.hpp"
#include "margrove/errors.hpp"
#include "num_cases.hpp"
#include "random_graphs.hpp"

namespace margrove {
namespace {

using ::testing::DoubleEq;
using ::testing::Each;
using ::testing::ElementsAre;
using Edges = std::vector<LabelEdge>;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidOption& error) {
    return error.what();
  }
  return "no error";
}

void expect_path_sums_one(const LabelGraph& graph, std::span<const double> alpha) {
  for (const double sum : path_sums(graph, alpha)) EXPECT_NEAR(sum, 1.0, 1e-12);
  for (const double a : alpha) EXPECT_GE(a, 0.0);
}

Eigen::MatrixXd path_matrix(const LabelGraph& graph) {
  const auto num_leaves = static_cast<Eigen::Index>(graph.leaves().size());
  Eigen::MatrixXd paths = Eigen::MatrixXd::Zero(num_leaves, graph.num_nodes());
  for (Eigen::Index k = 0; k < num_leaves; ++k) {
    for (const NodeId n : graph.ancestors(graph.leaves()[static_cast<std::size_t>(k)])) {
      paths(k, n) = 1;
    }
  }
  return paths;
}

// The referee's weights for power(rho).
Eigen::VectorXd referee_power(const LabelGraph& graph, double rho) {
  const Eigen::MatrixXd paths = path_matrix(graph);
  const Eigen::Index n = paths.cols();
  return testing::solve_interior_point({rho, paths, Eigen::VectorXd::Ones(paths.rows()),
                                        Eigen::MatrixXd::Identity(n, n), Eigen::VectorXd::Zero(n)},
                                       Eigen::VectorXd::Constant(n, 0.5));
}

TEST(NodeWeightRule, text_round_trips) {
  for (const auto* text : {"uniform", "leaves", "power:2", "power:1.2", "directional", "maxmin",
                           "share:0.3", "share:1", "relaxed:1.5", "relaxed:1"}) {
    EXPECT_EQ(NodeWeightRule::parse(text).to_text(), text);
  }
  EXPECT_EQ(NodeWeightRule::parse("power"), (NodeWeightRule{"power", 2.0}));
  EXPECT_EQ(NodeWeightRule::parse("relaxed"), (NodeWeightRule{"relaxed", 1.5}));
}

TEST(NodeWeightRule, bad_text_throws_with_the_remedy) {
  const auto message = [](std::string_view text) {
    return message_of([&] { NodeWeightRule::parse(text); });
  };
  EXPECT_EQ(message("even"),
            "node weights: rule is 'even', but must be one of uniform, leaves, power:RHO, "
            "directional, maxmin, share:S, relaxed:T");
  EXPECT_EQ(message("maxmin:2"), "node weights: rule is 'maxmin:2', but maxmin takes no parameter");
  EXPECT_EQ(message("power:two"),
            "node weights: parameter of power is 'two', but must be a number");
  EXPECT_EQ(message("power:2x"), "node weights: parameter of power is '2x', but must be a number");
  EXPECT_EQ(message("power:"), "node weights: parameter of power is '', but must be a number");
  EXPECT_EQ(message("power:nan"),
            "node weights: parameter of power is 'nan', but must be a number");
  EXPECT_EQ(message("power:1"),
            "node weights: RHO of power is 1, but must be > 1; use maxmin for RHO = 1");
  EXPECT_EQ(message("relaxed:0.5"), "node weights: T of relaxed is 0.5, but must be >= 1");
  EXPECT_EQ(message("share:0"),
            "node weights: S of share is 0, but must be > 0; use leaves for S = 0");
  EXPECT_EQ(message("share:1.5"), "node weights: S of share is 1.5, but must be <= 1");
}

TEST(NodeWeights, unknown_rules_and_parameters_out_of_range_are_refused) {
  const auto graph = LabelGraph::flat(3);
  const auto message = [&](const NodeWeightRule& rule) {
    return message_of([&] { node_weights(graph, rule); });
  };
  EXPECT_EQ(message({"even"}),
            "node weights: rule is 'even', but must be one of uniform, leaves, power:RHO, "
            "directional, maxmin, share:S, relaxed:T");
  EXPECT_EQ(message({"power"}),
            "node weights: RHO of power is 0, but must be > 1; use maxmin for RHO = 1");
  EXPECT_EQ(message({"relaxed", 0.5}), "node weights: T of relaxed is 0.5, but must be >= 1");
}

TEST(NodeWeights, uniform_and_leaves) {
  const auto graph = LabelGraph::build(4, Edges{{0, 1}, {0, 2}, {1, 3}});
  EXPECT_THAT(node_weights(graph, {"uniform"}).alpha, Each(1.0));
  EXPECT_THAT(node_weights(graph, {"leaves"}).alpha, ElementsAre(0.0, 0.0, 1.0, 1.0));
}

TEST(NodeWeights, power_on_a_hand_made_tree) {
  // Root with two leaves, rho = 2: S = 2, k = 2/3.
  const auto graph = LabelGraph::build(3, Edges{{0, 1}, {0, 2}});
  EXPECT_THAT(node_weights(graph, {"power", 2.0}).alpha,
              ElementsAre(DoubleEq(2.0 / 3), DoubleEq(1.0 / 3), DoubleEq(1.0 / 3)));
}

TEST(NodeWeights, power_handles_forests_single_nodes_and_the_empty_graph) {
  EXPECT_THAT(node_weights(LabelGraph::flat(3), {"power", 2.0}).alpha, Each(1.0));
  EXPECT_TRUE(node_weights(LabelGraph::flat(0), {"power", 2.0}).alpha.empty());
  const auto forest = LabelGraph::build(4, Edges{{0, 2}, {1, 3}});
  EXPECT_THAT(node_weights(forest, {"power", 3.0}).alpha, Each(DoubleEq(0.5)));
}

TEST(NodeWeights, power_on_trees_is_the_optimum_of_the_convex_program) {
  for (std::uint64_t seed = 0; seed < num_cases(40); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_tree(1 + std::uint32_t(random.below(30)), 0.1, random);
    for (const double rho : {1.2, 1.5, 2.0, 3.0, 4.0}) {
      const auto alpha = node_weights(graph, {"power", rho}).alpha;
      expect_path_sums_one(graph, alpha);
      const Eigen::VectorXd referee = referee_power(graph, rho);
      for (NodeId n = 0; n < graph.num_nodes(); ++n) EXPECT_NEAR(alpha[n], referee[n], 1e-6);
    }
  }
}

TEST(NodeWeights, power_stays_finite_near_one_and_on_deep_trees) {
  Edges edges;
  for (NodeId n = 1; n < 3000; ++n) edges.push_back({n % 3 == 0 ? n - 1 : n - (n % 3), n});
  const auto graph = LabelGraph::build(3000, edges);
  for (const double rho : {1.0 + 1e-9, 1.001, 1.1, 50.0}) {
    expect_path_sums_one(graph, node_weights(graph, {"power", rho}).alpha);
  }
}

TEST(NodeWeights, power_moves_to_the_top_as_rho_falls) {
  // Two leaves below a root: as rho -> 1 the root takes everything.
  const auto graph = LabelGraph::build(3, Edges{{0, 1}, {0, 2}});
  EXPECT_NEAR(node_weights(graph, {"power", 1.01}).alpha[0], 1.0, 1e-12);
}

// The referee's weights for all rules that are convex programmes.
Eigen::VectorXd referee(const LabelGraph& graph, double rho, double longest, bool directional) {
  const Eigen::MatrixXd paths = path_matrix(graph);
  const Eigen::Index n = paths.cols(), leaves = paths.rows();
  std::vector<Eigen::RowVectorXd> rows;
  std::vector<double> low;
  const auto add = [&](const Eigen::RowVectorXd& row, double right) {
    rows.push_back(row);
    low.push_back(right);
  };
  for (Eigen::Index k = 0; k < n; ++k) add(Eigen::RowVectorXd::Unit(n, k), 0);
  if (longest > 1) {
    for (Eigen::Index l = 0; l < leaves; ++l) {
      add(paths.row(l), 1);
      add(-paths.row(l), -longest);
    }
  }
  for (NodeId p = 0; directional && p < graph.num_nodes(); ++p) {
    for (const NodeId c : graph.children(p)) {
      add(Eigen::RowVectorXd::Unit(n, c) - Eigen::RowVectorXd::Unit(n, p), 0);
    }
  }
  testing::PowerProgram program{rho, paths, Eigen::VectorXd::Ones(leaves), {}, {}};
  if (longest > 1) {
    program.A.resize(0, n);
    program.b.resize(0);
  }
  program.G.resize(Eigen::Index(rows.size()), n);
  program.h.resize(Eigen::Index(rows.size()));
  for (std::size_t k = 0; k < rows.size(); ++k) {
    program.G.row(Eigen::Index(k)) = rows[k];
    program.h[Eigen::Index(k)] = low[k];
  }
  return testing::solve_interior_point(program, Eigen::VectorXd::Constant(n, 0.5));
}

TEST(NodeWeights, programmes_on_dags_agree_with_an_interior_point_method) {
  for (std::uint64_t seed = 0; seed < num_cases(40); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_dag(2 + std::uint32_t(random.below(25)), 3, random);
    struct Case {
      NodeWeightRule rule;
      Eigen::VectorXd expected;
    };
    for (const auto& [rule, expected] : {Case{{"power", 2.0}, referee(graph, 2, 1, false)},
                                         Case{{"power", 1.5}, referee(graph, 1.5, 1, false)},
                                         Case{{"power", 1.2}, referee(graph, 1.2, 1, false)},
                                         Case{{"power", 3.0}, referee(graph, 3, 1, false)},
                                         Case{{"relaxed", 1.5}, referee(graph, 2, 1.5, false)},
                                         Case{{"relaxed", 1.1}, referee(graph, 2, 1.1, false)},
                                         Case{{"directional", 0}, referee(graph, 2, 1, true)}}) {
      SCOPED_TRACE(rule.to_text());
      const auto weights = node_weights(graph, rule);
      EXPECT_EQ(weights.stop, Stop::converged) << weights.kkt_residual;
      EXPECT_LE(weights.kkt_residual, 1e-9);
      const double longest = rule.name == "relaxed" ? rule.parameter : 1.0;
      for (const double sum : path_sums(graph, weights.alpha)) {
        EXPECT_GE(sum, 1 - 1e-9);
        EXPECT_LE(sum, longest + 1e-9);
      }
      // Where a weight is 0 the referee stops a little above it, the more so for large RHO.
      const double tolerance = rule.parameter > 2 ? 1e-4 : 1e-6;
      for (NodeId n = 0; n < graph.num_nodes(); ++n) {
        EXPECT_NEAR(weights.alpha[n], expected[n], tolerance);
        EXPECT_GE(weights.alpha[n], 0.0);
        for (const NodeId p : graph.parents(n)) {
          if (rule.name == "directional") {
            EXPECT_GE(weights.alpha[n], weights.alpha[p] - 1e-9);
          }
        }
      }
    }
  }
}

TEST(NodeWeights, directional_on_trees_agrees_with_an_interior_point_method) {
  for (std::uint64_t seed = 0; seed < num_cases(40); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_tree(2 + std::uint32_t(random.below(25)), 0.1, random);
    const auto weights = node_weights(graph, {"directional", 0});
    const auto expected = referee(graph, 2, 1, true);
    EXPECT_LE(weights.kkt_residual, 1e-9);
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      EXPECT_NEAR(weights.alpha[n], expected[n], 1e-6);
    }
  }
}

TEST(NodeWeights, a_relaxed_tree_is_power_2) {
  Random random(3);
  const auto graph = testing::random_tree(25, 0.1, random);
  const auto alpha = node_weights(graph, {"relaxed", 1.5}).alpha;
  const auto expected = referee(graph, 2, 1.5, false);
  for (NodeId n = 0; n < 25; ++n) EXPECT_NEAR(alpha[n], expected[n], 1e-6);
}

TEST(NodeWeights, both_solvers_of_programmes_agree) {
  for (std::uint64_t seed = 0; seed < num_cases(10); ++seed) {
    Random random(seed);
    const auto graph = testing::random_dag(30 + std::uint32_t(random.below(60)), 3, random);
    for (const detail::WeightProgram& program :
         {detail::WeightProgram{2, 1, false}, detail::WeightProgram{1.5, 1, false},
          detail::WeightProgram{2, 1.3, false}, detail::WeightProgram{2, 1, true}}) {
      SCOPED_TRACE(concat(seed, ' ', program.rho, ' ', program.longest, ' ', program.directional));
      RunControl control;
      const auto interior = detail::solve_by_interior_points(graph, program, 1e-9, 1000, control);
      ASSERT_TRUE(interior.has_value());
      EXPECT_LE(interior->kkt_residual, 1e-9);
      const auto dual = detail::solve_by_dual_newton(graph, program, 1e-9, 1000, control);
      EXPECT_LE(dual.kkt_residual, 1e-9);
      for (NodeId n = 0; n < graph.num_nodes(); ++n) {
        EXPECT_NEAR(interior->alpha[n], dual.alpha[n], 1e-7);
      }
    }
  }
}

TEST(NodeWeights, a_graph_of_hundreds_takes_some_dozens_of_steps) {
  Random random(5);
  const auto graph = testing::random_dag(600, 3, random);
  for (const char* rule : {"power:2", "power:1.5", "directional", "relaxed:1.5"}) {
    SCOPED_TRACE(rule);
    const auto weights = node_weights(graph, NodeWeightRule::parse(rule));
    EXPECT_EQ(weights.stop, Stop::converged);
    EXPECT_LE(weights.kkt_residual, 1e-9);
    EXPECT_LE(weights.iterations, 30);
  }
}

TEST(NodeWeights, an_interrupt_stops_the_solver) {
  Random random(4);
  const auto graph = testing::random_dag(200, 3, random);
  RunControl control([](const Progress& progress) { return progress.done < 2; });
  const auto weights = node_weights(graph, {"directional", 0}, {}, &control);
  EXPECT_EQ(weights.stop, Stop::interrupted);
  EXPECT_EQ(weights.alpha.size(), 200U);
}

// Lexicographic max-min straight from its definition: raise the smallest free weight as far as a
// linear bound allows, by brute force over the order in which paths fill up. Nodes for which
// `rises` is false have 0.
template <class Predicate>
std::vector<double> filled_step_by_step(const LabelGraph& graph, double most, Predicate rises) {
  std::vector<double> alpha(graph.num_nodes(), 0.0);
  std::vector<bool> frozen(graph.num_nodes(), false);
  for (NodeId n = 0; n < graph.num_nodes(); ++n) frozen[n] = !rises(n);
  double level = 0;
  while (std::count(frozen.begin(), frozen.end(), false) > 0) {
    double next = 2;
    for (const NodeId l : graph.leaves()) {
      double fixed = 0, free = 0;
      for (const NodeId n : graph.ancestors(l))
        (frozen[n] ? fixed : free) += frozen[n] ? alpha[n] : 1;
      if (free > 0) next = std::min(next, (most - fixed) / free);
    }
    EXPECT_GE(next, level - 1e-12);
    level = next;
    std::vector<NodeId> full;
    for (const NodeId l : graph.leaves()) {
      double sum = 0;
      for (const NodeId n : graph.ancestors(l)) sum += frozen[n] ? alpha[n] : level;
      if (sum > most - 1e-12) full.push_back(l);
    }
    for (const NodeId l : full) {
      for (const NodeId n : graph.ancestors(l)) {
        if (!frozen[n]) alpha[n] = level;
        frozen[n] = true;
      }
    }
  }
  return alpha;
}

TEST(NodeWeights, maxmin_fills_progressively_and_is_directional) {
  for (std::uint64_t seed = 0; seed < num_cases(200); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_dag(1 + std::uint32_t(random.below(30)), 3, random);
    const auto alpha = node_weights(graph, {"maxmin", 0}).alpha;
    expect_path_sums_one(graph, alpha);
    const auto expected = filled_step_by_step(graph, 1.0, [](NodeId) { return true; });
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      EXPECT_NEAR(alpha[n], expected[n], 1e-12);
      for (const NodeId p : graph.parents(n)) EXPECT_GE(alpha[n], alpha[p] - 1e-12);
    }
  }
}

TEST(NodeWeights, share_leaves_the_rest_of_a_path_to_its_leaf) {
  for (std::uint64_t seed = 0; seed < num_cases(200); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_dag(1 + std::uint32_t(random.below(30)), 3, random);
    for (const double share : {0.3, 1.0}) {
      const auto alpha = node_weights(graph, {"share", share}).alpha;
      expect_path_sums_one(graph, alpha);
      const auto is_inner = [&](NodeId n) { return !graph.is_leaf(n); };
      const auto above = filled_step_by_step(graph, share, is_inner);
      for (NodeId n = 0; n < graph.num_nodes(); ++n) {
        if (is_inner(n)) {
          EXPECT_NEAR(alpha[n], above[n], 1e-12);
        } else if (share < 1) {
          EXPECT_GE(alpha[n], 1 - share - 1e-12);
        } else {
          EXPECT_TRUE(alpha[n] == 0 || alpha[n] > 1e-12) << alpha[n];
        }
      }
    }
  }
}

TEST(NodeWeights, maxmin_is_not_below_any_random_feasible_point_lexicographically) {
  for (std::uint64_t seed = 0; seed < num_cases(50); ++seed) {
    Random random(seed);
    const auto graph = testing::random_dag(12, 2, random);
    auto best = node_weights(graph, {"maxmin", 0}).alpha;
    std::sort(best.begin(), best.end());
    const Eigen::MatrixXd paths = path_matrix(graph);
    for (int trial = 0; trial < 20; ++trial) {
      // Random inner weights, scaled to fit; leaves take the rest of their path.
      std::vector<double> other(graph.num_nodes(), 0.0);
      for (NodeId n = 0; n < graph.num_nodes(); ++n) {
        if (!graph.is_leaf(n)) other[n] = random.uniform();
      }
      auto sums = path_sums(graph, other);
      const double largest = *std::max_element(sums.begin(), sums.end());
      const double scale = largest > 0 ? random.uniform() / largest : 1.0;
      for (double& a : other) a *= scale;
      for (std::size_t k = 0; k < sums.size(); ++k) {
        other[graph.leaves()[k]] = 1.0 - scale * sums[k];
      }
      std::sort(other.begin(), other.end());
      bool decided = false;
      for (std::size_t k = 0; k < best.size() && !decided; ++k) {
        EXPECT_GE(best[k], other[k] - 1e-9);
        decided = best[k] > other[k] + 1e-9;
      }
    }
  }
}

TEST(MergeDuplicates, classes_are_the_sets_of_leaves_below) {
  for (std::uint64_t seed = 0; seed < num_cases(200); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_dag(1 + std::uint32_t(random.below(20)), 2, random);
    const auto merged = merge_duplicates(graph);
    const Eigen::MatrixXd paths = path_matrix(graph);
    std::vector<std::uint32_t> copies(merged.graph.num_nodes(), 0);
    for (NodeId a = 0; a < graph.num_nodes(); ++a) {
      ++copies[merged.class_of[a]];
      for (NodeId b = 0; b < graph.num_nodes(); ++b) {
        EXPECT_EQ(paths.col(a) == paths.col(b), merged.class_of[a] == merged.class_of[b]);
      }
    }
    EXPECT_EQ(copies, merged.num_copies);
    EXPECT_EQ(merge_duplicates(merged.graph).graph.num_nodes(), merged.graph.num_nodes());
    EXPECT_EQ(merged.graph.leaves().size(), graph.leaves().size());
  }
}

// Every inner node of `graph` with an odd number gets a copy between it and its parents.
LabelGraph with_copies(const LabelGraph& graph, std::vector<NodeId>& original) {
  Edges edges;
  NodeId next = graph.num_nodes();
  for (NodeId n = 0; n < graph.num_nodes(); ++n) original.push_back(n);
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    NodeId entry = n;
    if (!graph.is_leaf(n) && n % 2 == 1) {
      entry = next++;
      original.push_back(n);
      edges.push_back({entry, n});
    }
    for (const NodeId p : graph.parents(n)) edges.push_back({p, entry});
  }
  return LabelGraph::build(next, edges);
}

TEST(MergeDuplicates, weights_of_copies_add_up_to_the_weight_without_copies) {
  for (std::uint64_t seed = 0; seed < num_cases(30); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_tree(25, 0.1, random);
    std::vector<NodeId> original;
    const auto copied = with_copies(graph, original);
    for (const NodeWeightRule& rule : {NodeWeightRule{"power", 2.0}, NodeWeightRule{"power", 1.3},
                                       NodeWeightRule{"maxmin", 0}}) {
      NodeWeightOptions options;
      options.merge_duplicates = true;
      const auto without = node_weights(graph, rule, options).alpha;
      const auto with = node_weights(copied, rule, options).alpha;
      expect_path_sums_one(copied, with);
      const auto merged = merge_duplicates(graph);
      std::vector<double> class_sum(merged.graph.num_nodes(), 0.0);
      std::vector<double> class_sum_with(merged.graph.num_nodes(), 0.0);
      for (NodeId n = 0; n < graph.num_nodes(); ++n) class_sum[merged.class_of[n]] += without[n];
      for (NodeId n = 0; n < copied.num_nodes(); ++n) {
        class_sum_with[merged.class_of[original[n]]] += with[n];
      }
      for (std::size_t k = 0; k < class_sum.size(); ++k) {
        EXPECT_NEAR(class_sum[k], class_sum_with[k], 1e-12);
      }
    }
  }
}

}  // namespace
}  // namespace margrove
