#include "label_sets/label_set_inference.hpp"

#include <coin/Cbc_C_Interface.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "margrove/errors.hpp"
#include "num_cases.hpp"
#include "random_graphs.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using Edges = std::vector<LabelEdge>;

struct Answer {
  double score = 0;
  std::vector<NodeId> nodes;
};

// All unions of A(l) over non-empty sets of leaves; up to 20 leaves and 64 nodes.
Answer brute_force(const LabelGraph& graph, std::span<const double> scores) {
  const auto leaves = graph.leaves();
  std::vector<std::uint64_t> above;
  for (const NodeId l : leaves) {
    std::uint64_t set = 0;
    for (const NodeId n : graph.ancestors(l)) set |= std::uint64_t{1} << n;
    above.push_back(set);
  }
  Answer best{-std::numeric_limits<double>::infinity(), {}};
  for (std::uint64_t chosen = 1; chosen < (std::uint64_t{1} << leaves.size()); ++chosen) {
    std::uint64_t set = 0;
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      if ((chosen >> k) & 1U) set |= above[k];
    }
    double score = 0;
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      if ((set >> n) & 1U) score += scores[n];
    }
    if (score <= best.score) continue;
    best = {score, {}};
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      if ((set >> n) & 1U) best.nodes.push_back(n);
    }
  }
  return best;
}

// The whole problem, as it stands in the header, to CBC.
double whole_ilp(const LabelGraph& graph, std::span<const double> scores) {
  Cbc_Model* model = Cbc_newModel();
  Cbc_setLogLevel(model, 0);
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    Cbc_addCol(model, concat('z', n).c_str(), 0, 1, scores[n], 1, 0, nullptr, nullptr);
  }
  const auto add_row = [&](std::vector<int> columns, std::vector<double> values, char sense,
                           double right) {
    Cbc_addRow(model, "r", static_cast<int>(columns.size()), columns.data(), values.data(), sense,
               right);
  };
  std::vector<int> leaves;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    std::vector<int> columns{static_cast<int>(n)};
    std::vector<double> values{-1.0};
    for (const NodeId c : graph.children(n)) {
      add_row({static_cast<int>(c), static_cast<int>(n)}, {1.0, -1.0}, 'L', 0);
      columns.push_back(static_cast<int>(c));
      values.push_back(1.0);
    }
    if (graph.is_leaf(n))
      leaves.push_back(static_cast<int>(n));
    else
      add_row(columns, values, 'G', 0);
  }
  add_row(leaves, std::vector<double>(leaves.size(), 1.0), 'G', 1);
  Cbc_setObjSense(model, -1);
  Cbc_setParameter(model, "log", "0");
  Cbc_setParameter(model, "increment", "1e-9");
  Cbc_setParameter(model, "ratioGap", "0");
  Cbc_setParameter(model, "allowableGap", "0");
  Cbc_solve(model);
  EXPECT_TRUE(Cbc_isProvenOptimal(model));
  const double* z = Cbc_getColSolution(model);
  double value = 0;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) value += z[n] * scores[n];
  Cbc_deleteModel(model);
  return value;
}

// A union of A(l), ascending, whose score is as reported.
void expect_label_set(const LabelGraph& graph, std::span<const double> scores,
                      const std::vector<NodeId>& nodes, double score) {
  EXPECT_TRUE(std::is_sorted(nodes.begin(), nodes.end()));
  std::vector<bool> chosen(graph.num_nodes(), false), closed(graph.num_nodes(), false);
  double sum = 0;
  for (const NodeId n : nodes) {
    chosen[n] = true;
    sum += scores[n];
  }
  bool any_leaf = false;
  for (const NodeId l : graph.leaves()) {
    if (!chosen[l]) continue;
    any_leaf = true;
    for (const NodeId n : graph.ancestors(l)) closed[n] = true;
  }
  EXPECT_TRUE(any_leaf);
  EXPECT_EQ(chosen, closed);
  EXPECT_NEAR(sum, score, 1e-9 * (1 + std::fabs(sum)));
}

enum class Scores { normal, integer, negative, optimistic, bottom_heavy };

std::vector<double> random_scores(const LabelGraph& graph, Scores kind, Random& random) {
  std::vector<double> scores(graph.num_nodes());
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    const double x = random.normal();
    switch (kind) {
      case Scores::normal:
        scores[n] = x;
        break;
      case Scores::integer:
        scores[n] = static_cast<double>(random.below(7)) - 3.0;
        break;
      case Scores::negative:
        scores[n] = -std::fabs(x);
        break;
      case Scores::optimistic:
        scores[n] = graph.is_leaf(n) ? -std::fabs(x) : x + 0.5;
        break;
      case Scores::bottom_heavy:
        scores[n] = graph.is_leaf(n) ? 2 * x + 1 : x - 0.5;
        break;
    }
  }
  return scores;
}
constexpr std::array kAllScores{Scores::normal, Scores::integer, Scores::negative,
                                Scores::optimistic, Scores::bottom_heavy};

TEST(LabelSetInference, trees_by_hand) {
  //    0        with scores
  //   / \          0.5
  //  1   2      -1     -0.2
  // / \         2  0.5
  const auto graph = LabelGraph::build(5, Edges{{0, 1}, {0, 2}, {1, 3}, {1, 4}});
  const LabelSetInference inference(graph);
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  auto best = inference.best(std::array{0.5, -1.0, -0.2, 2.0, 0.5}, workspace, nodes);
  EXPECT_THAT(nodes, ElementsAre(0, 1, 3, 4));
  EXPECT_DOUBLE_EQ(best.score, 2.0);
  EXPECT_EQ(best.stage, InferenceStage::tree);
  best = inference.best(std::array{-5.0, -1.0, -0.2, 0.5, -0.5}, workspace, nodes);
  EXPECT_THAT(nodes, ElementsAre(0, 2));
  best = inference.best(std::array{-5.0, -1.0, -1.0, 0.0, 0.0}, workspace, nodes);
  EXPECT_THAT(nodes, ElementsAre(0, 1, 3)) << "ties go to the lowest";
}

TEST(LabelSetInference, single_nodes_and_flat_sets) {
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  const LabelSetInference single(LabelGraph::flat(1));
  EXPECT_DOUBLE_EQ(single.best(std::array{-3.0}, workspace, nodes).score, -3.0);
  EXPECT_THAT(nodes, ElementsAre(0));
  const LabelSetInference flat(LabelGraph::flat(3));
  flat.best(std::array{-3.0, -1.0, -1.0}, workspace, nodes);
  EXPECT_THAT(nodes, ElementsAre(1));
  flat.best(std::array{3.0, -1.0, 1.0}, workspace, nodes);
  EXPECT_THAT(nodes, ElementsAre(0, 2));
}

TEST(LabelSetInference, wrong_sizes_throw) {
  const LabelSetInference inference(LabelGraph::flat(3));
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  std::vector<double> z(2);
  const auto message = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const InvalidInput& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message([&] { inference.best(std::array{1.0}, workspace, nodes); }),
            "label sets: scores has 1 entries, but must have one per node, 3");
  EXPECT_EQ(message([&] {
              inference.relaxed(std::array{1.0, 1.0, 1.0}, workspace, z);
            }),
            "label sets: z has 2 entries, but must have one per node, 3");
  EXPECT_EQ(message([] { LabelSetInference empty(LabelGraph::flat(0)); }),
            "label sets: the graph has 0 nodes, but must have at least 1");
}

TEST(LabelSetInference, random_trees_agree_with_brute_force) {
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  for (std::uint64_t seed = 0; seed < num_cases(500); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_tree(1 + std::uint32_t(random.below(18)), 0.15, random);
    const LabelSetInference inference(graph);
    for (const auto kind : kAllScores) {
      const auto scores = random_scores(graph, kind, random);
      const auto result = inference.best(scores, workspace, nodes);
      EXPECT_EQ(result.stage, InferenceStage::tree);
      EXPECT_NEAR(result.score, brute_force(graph, scores).score, 1e-12);
      expect_label_set(graph, scores, nodes, result.score);
    }
  }
}

TEST(LabelSetInference, every_dag_of_up_to_six_nodes_agrees_with_brute_force) {
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  Random random(7);
  for (std::uint32_t num_nodes = 1; num_nodes <= 6; ++num_nodes) {
    testing::for_each_dag(num_nodes, [&](const LabelGraph& graph) {
      const LabelSetInference inference(graph);
      for (const auto kind : kAllScores) {
        const auto scores = random_scores(graph, kind, random);
        const auto result = inference.best(scores, workspace, nodes);
        ASSERT_NEAR(result.score, brute_force(graph, scores).score, 1e-12);
        expect_label_set(graph, scores, nodes, result.score);
      }
    });
  }
}

TEST(LabelSetInference, random_dags_agree_with_brute_force_at_every_stage) {
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  std::map<InferenceStage, int> settled;
  for (std::uint64_t seed = 0; seed < num_cases(3000); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto num_nodes = 7 + std::uint32_t(random.below(18));
    const auto graph = testing::random_dag(num_nodes, 2 + std::uint32_t(random.below(3)), random);
    if (graph.leaves().size() > 12) continue;
    const LabelSetInference inference(graph);
    const auto kind = kAllScores[random.below(kAllScores.size())];
    const auto scores = random_scores(graph, kind, random);
    const auto expected = brute_force(graph, scores);
    const auto result = inference.best(scores, workspace, nodes);
    ++settled[result.stage];
    ASSERT_NEAR(result.score, expected.score, 1e-12);
    expect_label_set(graph, scores, nodes, result.score);
    if (kind != Scores::integer) {
      EXPECT_EQ(nodes, expected.nodes);
    }
    if (seed % 20 != 0) continue;
    const auto last_resort = inference.best(scores, workspace, nodes, {}, 0);
    ASSERT_NEAR(last_resort.score, expected.score, 1e-9);
    expect_label_set(graph, scores, nodes, last_resort.score);
  }
  EXPECT_GT(settled[InferenceStage::reduction], num_cases(30));
  EXPECT_GT(settled[InferenceStage::closure], num_cases(30));
  EXPECT_GT(settled[InferenceStage::branch_and_bound], num_cases(5));
}

TEST(LabelSetInference, larger_dags_agree_with_an_integer_programme) {
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  for (std::uint64_t seed = 0; seed < num_cases(40); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_dag(150, 2, random);
    const LabelSetInference inference(graph);
    const auto kind = kAllScores[seed % kAllScores.size()];
    auto scores = random_scores(graph, kind, random);
    const auto result = inference.best(scores, workspace, nodes);
    expect_label_set(graph, scores, nodes, result.score);
    EXPECT_NEAR(result.score, whole_ilp(graph, scores), 1e-6);
  }
}

// Everything hangs below node 0, close to it.
LabelGraph shallow_dag(NodeId num_nodes, Random& random) {
  std::vector<LabelEdge> edges;
  for (NodeId n = 1; n < num_nodes; ++n) {
    std::vector<NodeId> parents(1 + random.below(3));
    for (NodeId& p : parents) p = NodeId(random.below((n + 1) / 2));
    std::sort(parents.begin(), parents.end());
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    for (const NodeId p : parents) edges.push_back({p, n});
  }
  return LabelGraph::build(num_nodes, edges);
}

std::vector<double> shallow_scores(const LabelGraph& graph, Random& random) {
  std::vector<double> scores;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    scores.push_back((graph.is_leaf(n) ? -0.3 : -0.2) + 0.4 * random.normal());
  }
  return scores;
}

// Cuts leave gaps that take branching.
TEST(LabelSetInference, branching_finds_the_optimum_of_cbc) {
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  std::map<InferenceStage, int> settled;
  int much_branching = 0;
  for (std::uint64_t seed = 0; seed < num_cases(12); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = shallow_dag(seed < 6 ? 900 : 300, random);
    const LabelSetInference inference(graph);
    const std::vector<double> scores = shallow_scores(graph, random);
    const auto by_ilp = inference.best(scores, workspace, nodes, {}, 0);
    EXPECT_EQ(by_ilp.stage, InferenceStage::ilp);
    expect_label_set(graph, scores, nodes, by_ilp.score);
    for (const std::int64_t limit : {4, 30, 1000}) {
      const auto result = inference.best(scores, workspace, nodes, {}, limit);
      EXPECT_NEAR(result.score, by_ilp.score, 1e-7) << limit;
      expect_label_set(graph, scores, nodes, result.score);
      EXPECT_LE(result.num_branches, limit + 1);
      much_branching += result.num_branches > 31;
      ++settled[result.stage];
    }
  }
  EXPECT_GT(much_branching, 0);
  EXPECT_GT(settled[InferenceStage::branch_and_bound], num_cases(5));
  EXPECT_GT(settled[InferenceStage::ilp], num_cases(1));
}

SearchGoal approximate(double gap, double gain_share, double floor) {
  return {.accuracy = Accuracy::approximate, .gap = gap, .gain_share = gain_share, .floor = floor};
}

// Goals of every kind, at a true maximum of `best`.
void expect_goals_met(const LabelSetInference& inference, const LabelGraph& graph,
                      std::span<const double> scores, double best, int& num_open) {
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  std::vector<double> z(graph.num_nodes());
  const double relaxed = inference.relaxed(scores, workspace, z).score;
  for (const SearchGoal& goal : {SearchGoal{.gap = 0.3}, approximate(0.01, 0.5, best - 1),
                                 approximate(1e-3, 0.9, best), SearchGoal::heuristic()}) {
    const auto answer = inference.best(scores, workspace, nodes, goal);
    expect_label_set(graph, scores, nodes, answer.score);
    EXPECT_LE(answer.score, best + 1e-7);
    EXPECT_GE(answer.bound, best - 1e-7);
    if (!goal.is_heuristic()) {
      EXPECT_LE(answer.bound - answer.score, goal.allowed_gap(answer.score) + 1e-7);
    }
    num_open += answer.bound > answer.score + 1e-7;
    const auto found = inference.relaxed(scores, workspace, z, goal);
    double score = 0;
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      score += z[n] * scores[n];
      EXPECT_GE(z[n], 0);
      EXPECT_LE(z[n], 1 + 1e-9);
      double below = graph.is_leaf(n) ? 1 : 0;
      for (const NodeId c : graph.children(n)) {
        EXPECT_LE(z[c], z[n] + 1e-7);
        below += z[c];
      }
      EXPECT_GE(below, z[n] - 1e-7);
    }
    EXPECT_NEAR(found.score, score, 1e-9 * (1 + std::fabs(score)));
    EXPECT_LE(found.score, relaxed + 1e-7);
    EXPECT_GE(found.bound, relaxed - 1e-7);
    if (!goal.is_heuristic()) {
      EXPECT_LE(found.bound - found.score, goal.allowed_gap(found.score) + 1e-7);
    }
  }
}

// Graphs side by side; `scores` are those of each, one after the other.
struct SideBySide {
  LabelGraph graph;
  std::vector<double> scores;
};
SideBySide side_by_side(std::span<const LabelGraph> graphs,
                        std::span<const std::vector<double>> scores) {
  SideBySide result;
  std::vector<LabelEdge> edges;
  NodeId before = 0;
  for (std::size_t k = 0; k < graphs.size(); ++k) {
    for (NodeId n = 0; n < graphs[k].num_nodes(); ++n) {
      for (const NodeId c : graphs[k].children(n)) edges.push_back({before + n, before + c});
    }
    before += graphs[k].num_nodes();
    result.scores.insert(result.scores.end(), scores[k].begin(), scores[k].end());
  }
  result.graph = LabelGraph::build(before, edges);
  return result;
}

// Each graph has its best label set, or none; if none is worth anything, one graph has one anyway.
TEST(LabelSetInference, graphs_side_by_side_have_the_best_label_sets_of_each) {
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  int num_open = 0, much_branching = 0, some_empty = 0, all_empty = 0;
  for (std::uint64_t seed = 0; seed < num_cases(40); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<LabelGraph> graphs;
    std::vector<std::vector<double>> scores;
    double sum = 0, largest = -std::numeric_limits<double>::infinity();
    for (int k = 0; k < 4; ++k) {
      const auto graph = shallow_dag(40 + std::uint32_t(random.below(100)), random);
      auto score = shallow_scores(graph, random);
      score[0] -= seed % 2 == 0 ? 1.5 : 4.0;  // the root
      const LabelSetInference inference(graph);
      const double best = inference.best(score, workspace, nodes, {}, 0).score;
      sum += std::max(best, 0.0);
      largest = std::max(largest, best);
      some_empty += best < 0;
      graphs.push_back(graph);
      scores.push_back(score);
    }
    all_empty += largest < 0;
    const auto all = side_by_side(graphs, scores);
    const LabelSetInference inference(all.graph);
    const double best = largest < 0 ? largest : sum;
    for (const std::int64_t limit : {1000, 10, 3}) {
      const auto result = inference.best(all.scores, workspace, nodes, {}, limit);
      EXPECT_NEAR(result.score, best, 1e-7);
      expect_label_set(all.graph, all.scores, nodes, result.score);
      EXPECT_LE(result.num_branches, limit + 1);
      much_branching += result.num_branches > 10;
    }
    expect_goals_met(inference, all.graph, all.scores, best, num_open);
  }
  EXPECT_GT(much_branching, num_cases(5));
  EXPECT_GT(num_open, num_cases(10));
  EXPECT_GT(some_empty, num_cases(20));
  EXPECT_GT(all_empty, num_cases(2));
}

// Where the empty set would be best, the bound is its worth, and a branch that asks for a node
// makes it level with the answer.
TEST(LabelSetInference, no_rounding_makes_the_empty_set_an_answer) {
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  for (std::uint64_t seed = 0; seed < num_cases(400); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<LabelGraph> graphs;
    std::vector<std::vector<double>> scores;
    for (int k = 0; k < 3; ++k) {
      graphs.push_back(shallow_dag(30 + std::uint32_t(random.below(30)), random));
      scores.push_back(shallow_scores(graphs.back(), random));
      scores.back()[0] -= 3.0 + random.uniform();
    }
    const auto all = side_by_side(graphs, scores);
    const LabelSetInference inference(all.graph);
    for (const SearchGoal& goal : {SearchGoal{}, SearchGoal{.gap = 0.01}}) {
      for (const std::int64_t most_branches : {1, 2, 3, 5, 10}) {
        const auto found = inference.best(all.scores, workspace, nodes, goal, most_branches);
        expect_label_set(all.graph, all.scores, nodes, found.score);
      }
    }
  }
}

// The best label set is worth less than the empty one. Then the bound may be so too, and it may lie
// near the best label set while the empty set lies far above both.
TEST(LabelSetInference, no_branch_makes_the_empty_set_an_answer) {
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  int num_branched = 0;
  for (std::uint64_t seed = 0; seed < num_cases(60); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<LabelGraph> graphs;
    std::vector<std::vector<double>> scores;
    double largest = -std::numeric_limits<double>::infinity();
    for (int k = 0; k < 3; ++k) {
      graphs.push_back(shallow_dag(40 + std::uint32_t(random.below(40)), random));
      scores.push_back(shallow_scores(graphs.back(), random));
      const LabelSetInference inference(graphs.back());
      const double best = inference.best(scores.back(), workspace, nodes, {}, 0).score;
      const double wanted = -0.3 * (1 + 0.1 * random.uniform());
      scores.back()[0] -= best - wanted;  // the root
      largest = std::max(largest, wanted);
    }
    const auto all = side_by_side(graphs, scores);
    const LabelSetInference inference(all.graph);
    const auto found = inference.best(all.scores, workspace, nodes, {}, 1000);
    EXPECT_NEAR(found.score, largest, 1e-7);
    expect_label_set(all.graph, all.scores, nodes, found.score);
    num_branched += found.num_branches > 1;
  }
  EXPECT_GT(num_branched, num_cases(10));
}

TEST(LabelSetInference, a_good_answer_is_attained_and_the_best_is_within_its_bound) {
  int num_open = 0;
  for (std::uint64_t seed = 0; seed < num_cases(400); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_dag(7 + std::uint32_t(random.below(18)), 3, random);
    if (graph.leaves().size() > 12) continue;
    const LabelSetInference inference(graph);
    for (const auto kind : kAllScores) {
      const auto scores = random_scores(graph, kind, random);
      expect_goals_met(inference, graph, scores, brute_force(graph, scores).score, num_open);
    }
  }
  LabelSetInference::Workspace workspace;
  for (std::uint64_t seed = 0; seed < num_cases(12); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = shallow_dag(seed < 6 ? 900 : 300, random);
    const std::vector<double> scores = shallow_scores(graph, random);
    const LabelSetInference inference(graph);
    std::vector<NodeId> best;
    const double score = inference.best(scores, workspace, best).score;
    expect_goals_met(inference, graph, scores, score, num_open);
  }
  EXPECT_GT(num_open, num_cases(50));  // so that the goals have been of use
}

TEST(LabelSetInference, haste_misses_some_best_label_sets) {
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  int misses = 0;
  for (std::uint64_t seed = 0; seed < num_cases(30); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = shallow_dag(300, random);
    const std::vector<double> scores = shallow_scores(graph, random);
    const LabelSetInference inference(graph);
    const double score = inference.best(scores, workspace, nodes).score;
    const auto hasty = inference.best(scores, workspace, nodes, SearchGoal::heuristic());
    EXPECT_EQ(hasty.num_branches, 1);
    EXPECT_GE(hasty.bound, score - 1e-9);
    misses += hasty.score < score - 1e-9;
  }
  EXPECT_GT(misses, 0);
}

TEST(LabelSetInference, the_relaxation_bounds_the_best_label_set_and_is_feasible) {
  LabelSetInference::Workspace workspace;
  std::vector<NodeId> nodes;
  int fractional = 0, integral = 0;
  for (std::uint64_t seed = 0; seed < num_cases(1000); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_dag(7 + std::uint32_t(random.below(30)), 3, random);
    const LabelSetInference inference(graph);
    const auto scores = random_scores(graph, kAllScores[seed % kAllScores.size()], random);
    const auto best = inference.best(scores, workspace, nodes);
    std::vector<double> z(graph.num_nodes());
    const auto relaxed = inference.relaxed(scores, workspace, z);
    EXPECT_GE(relaxed.score, best.score - 1e-9);
    if (relaxed.integral) {
      EXPECT_NEAR(relaxed.score, best.score, 1e-9);
    }
    ++(relaxed.integral ? integral : fractional);
    double leaf_sum = 0;
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      EXPECT_GE(z[n], -1e-9);
      EXPECT_LE(z[n], 1 + 1e-9);
      double below = 0;
      for (const NodeId c : graph.children(n)) {
        EXPECT_LE(z[c], z[n] + 1e-9);
        below += z[c];
      }
      if (graph.is_leaf(n))
        leaf_sum += z[n];
      else
        EXPECT_GE(below, z[n] - 1e-9);
    }
    EXPECT_GE(leaf_sum, 1 - 1e-9);
  }
  EXPECT_GT(fractional, num_cases(5));
  EXPECT_GT(integral, num_cases(500));
}

TEST(LabelSetInference, renaming_the_nodes_renames_the_answer) {
  LabelSetInference::Workspace workspace;
  for (std::uint64_t seed = 0; seed < num_cases(200); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_dag(40, 2, random);
    const auto scores = random_scores(graph, Scores::normal, random);
    std::vector<NodeId> name(graph.num_nodes());
    for (NodeId n = 0; n < graph.num_nodes(); ++n) name[n] = n;
    random.shuffle(std::span(name));
    Edges edges;
    std::vector<double> renamed_scores(graph.num_nodes());
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      renamed_scores[name[n]] = scores[n];
      for (const NodeId c : graph.children(n)) edges.push_back({name[n], name[c]});
    }
    std::vector<NodeId> nodes, renamed;
    LabelSetInference(graph).best(scores, workspace, nodes);
    LabelSetInference(LabelGraph::build(graph.num_nodes(), edges))
        .best(renamed_scores, workspace, renamed);
    for (NodeId& n : nodes) n = name[n];
    std::sort(nodes.begin(), nodes.end());
    EXPECT_EQ(nodes, renamed);
  }
}

}  // namespace
}  // namespace margrove
