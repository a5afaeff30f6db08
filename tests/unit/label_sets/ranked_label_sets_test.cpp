#include "label_sets/ranked_label_sets.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.hpp"
#include "files.hpp"
#include "label_set_lists.hpp"
#include "label_sets/label_set_inference.hpp"

namespace margrove {
namespace {

using Nodes = std::vector<NodeId>;
using testing::all_label_sets;
using testing::score_of;

std::vector<Nodes> ranked(const RankedLabelSets& ranking, const std::vector<double>& scores,
                          RankedLabelSets::Workspace& workspace) {
  std::vector<Nodes> sets;
  Nodes nodes;
  ranking.start(scores, workspace);
  while (ranking.next(workspace, nodes)) sets.push_back(nodes);
  EXPECT_FALSE(ranking.next(workspace, nodes)) << "what is over stays over";
  return sets;
}

// The list holds every label set once, by descending score, and starts with inference's answer.
void expect_right_order(const LabelGraph& graph, const std::vector<double>& scores,
                        RankedLabelSets::Workspace& workspace) {
  const RankedLabelSets ranking(graph);
  const auto sets = ranked(ranking, scores, workspace);
  auto expected = all_label_sets(graph), sorted = sets;
  std::sort(expected.begin(), expected.end());
  std::sort(sorted.begin(), sorted.end());
  ASSERT_EQ(sorted, expected);
  for (std::size_t k = 1; k < sets.size(); ++k) {
    EXPECT_GE(score_of(sets[k - 1], scores), score_of(sets[k], scores) - 1e-12) << "rank " << k;
  }
  const LabelSetInference inference(graph);
  LabelSetInference::Workspace its;
  Nodes best;
  inference.best(scores, its, best);
  EXPECT_EQ(sets.front(), best);
}

// Parents are lower, so that counting through parent[n] <= n, n itself for a root, finds every
// forest of this size up to renaming.
template <class Visit>
void for_each_forest(std::uint32_t size, const Visit& visit) {
  std::vector<std::uint32_t> parent(size, 0);
  while (true) {
    std::vector<LabelEdge> edges;
    for (NodeId n = 1; n < size; ++n) {
      if (parent[n] != n) edges.push_back({parent[n], n});
    }
    visit(LabelGraph::build(size, edges));
    std::uint32_t at = 1;
    while (at < size && parent[at] == at) parent[at++] = 0;
    if (at >= size) return;
    ++parent[at];
  }
}

TEST(RankedLabelSets, list_every_set_of_every_forest_up_to_6_nodes_in_order) {
  Random random(1);
  RankedLabelSets::Workspace workspace;  // one for all
  int forests = 0;
  for (std::uint32_t size = 1; size <= 6; ++size) {
    for_each_forest(size, [&](const LabelGraph& graph) {
      SCOPED_TRACE(++forests);
      std::vector<double> scores(size);
      for (double& s : scores) s = random.normal();
      expect_right_order(graph, scores, workspace);
    });
  }
  EXPECT_EQ(forests, 1 + 2 + 6 + 24 + 120 + 720);
}

TEST(RankedLabelSets, list_ties_once_each_and_first_what_inference_answers) {
  Random random(2);
  RankedLabelSets::Workspace workspace;
  for (std::uint32_t size = 2; size <= 5; ++size) {
    for_each_forest(size, [&](const LabelGraph& graph) {
      std::vector<double> scores(size, 0.0);
      expect_right_order(graph, scores, workspace);
      for (double& s : scores) s = static_cast<double>(random.below(3)) - 1.0;
      SCOPED_TRACE(::testing::PrintToString(scores));
      expect_right_order(graph, scores, workspace);
    });
  }
}

TEST(RankedLabelSets, order_is_right_on_larger_random_trees) {
  RankedLabelSets::Workspace workspace;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto size = static_cast<std::uint32_t>(8 + random.below(10));
    std::vector<LabelEdge> edges;
    for (NodeId n = 1; n < size; ++n) {
      edges.push_back({static_cast<NodeId>(random.below(std::min<NodeId>(n, 6))), n});
    }
    std::vector<double> scores(size);
    for (double& s : scores) s = random.normal();
    expect_right_order(LabelGraph::build(size, edges), scores, workspace);
  }
}

TEST(RankedLabelSets, deep_and_broad_trees_need_no_deep_stack) {
  constexpr std::uint32_t kSize = 60000;
  std::vector<LabelEdge> edges;  // a path with a leaf beside every node
  for (NodeId n = 1; n < kSize; ++n) edges.push_back({(n - 1) / 2 * 2, n});
  std::vector<double> scores(kSize, 1.0);
  for (NodeId n = 1; n < kSize; n += 2) scores[n] = -1.0;
  scores[kSize - 1] = -0.5;
  for (const LabelGraph& graph : {LabelGraph::build(kSize, edges), LabelGraph::flat(kSize)}) {
    const RankedLabelSets ranking(graph);
    RankedLabelSets::Workspace workspace;
    ranking.start(scores, workspace);
    Nodes nodes;
    double last = std::numeric_limits<double>::infinity();
    for (int k = 0; k < 5; ++k) {
      ASSERT_TRUE(ranking.next(workspace, nodes));
      EXPECT_LE(score_of(nodes, scores), last);
      last = score_of(nodes, scores);
    }
  }
}

TEST(RankedLabelSets, other_graphs_and_scores_throw) {
  EXPECT_EQ(testing::message_of([] { RankedLabelSets{LabelGraph{}}; }),
            "ranked label sets: the graph has 0 nodes, but must have some");
  const std::vector<LabelEdge> edges{{0, 2}, {1, 2}};
  EXPECT_EQ(testing::message_of([&] { RankedLabelSets{LabelGraph::build(3, edges)}; }),
            "ranked label sets: the graph has a node with several parents, but must be a tree");
  EXPECT_EQ(testing::message_of([] {
              RankedLabelSets::Workspace workspace;
              const std::vector<double> scores{1.0};
              RankedLabelSets{LabelGraph::flat(2)}.start(scores, workspace);
            }),
            "ranked label sets: scores has 1 entries, but must have one per node, 2");
}

}  // namespace
}  // namespace margrove
