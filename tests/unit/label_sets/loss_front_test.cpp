#include "label_sets/loss_front.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/random.hpp"
#include "files.hpp"

namespace margrove {
namespace {

using Nodes = std::vector<NodeId>;

struct Place {
  double score;
  std::uint32_t loss;
};

Place place_of(const Nodes& y, const Nodes& t, const std::vector<double>& scores) {
  Nodes different;
  std::set_symmetric_difference(y.begin(), y.end(), t.begin(), t.end(),
                                std::back_inserter(different));
  double score = 0;
  for (const NodeId n : y) score += scores[n];
  return {score, static_cast<std::uint32_t>(different.size())};
}

Nodes union_of_paths(const LabelGraph& graph, std::size_t bits) {
  std::set<NodeId> nodes;
  for (std::size_t k = 0; k < graph.leaves().size(); ++k) {
    if (!((bits >> k) & 1U)) continue;
    for (const NodeId n : graph.ancestors(graph.leaves()[k])) nodes.insert(n);
  }
  return {nodes.begin(), nodes.end()};
}

// Every loss has the score that the list of all label sets says, and a label set to show for it.
void expect_front(const LabelGraph& graph, const Nodes& t, const std::vector<double>& scores,
                  LossFront::Workspace& workspace) {
  std::map<std::uint32_t, double> expected;
  for (std::size_t bits = 1; bits < (std::size_t{1} << graph.leaves().size()); ++bits) {
    const Place p = place_of(union_of_paths(graph, bits), t, scores);
    const auto [it, is_new] = expected.try_emplace(p.loss, p.score);
    it->second = std::max(it->second, p.score);
  }
  const LossFront front(graph);
  const auto found = front.solve(scores, t, workspace);
  for (std::uint32_t g = 0; g < found.size(); ++g) {
    SCOPED_TRACE(g);
    ASSERT_EQ(std::isfinite(found[g]), expected.contains(g));
    if (!expected.contains(g)) continue;
    EXPECT_NEAR(found[g], expected[g], 1e-12);
    Nodes y;
    front.collect(g, workspace, y);
    EXPECT_EQ(place_of(y, t, scores).loss, g);
    EXPECT_NEAR(place_of(y, t, scores).score, expected[g], 1e-12);
    Nodes closed;
    for (const NodeId n : y) {
      const auto above = graph.ancestors(n);
      closed.insert(closed.end(), above.begin(), above.end());
      bool has_child = graph.is_leaf(n);
      for (const NodeId c : graph.children(n))
        has_child |= std::binary_search(y.begin(), y.end(), c);
      EXPECT_TRUE(has_child) << "node " << n;
    }
    std::sort(closed.begin(), closed.end());
    closed.erase(std::unique(closed.begin(), closed.end()), closed.end());
    EXPECT_EQ(y, closed);
  }
  EXPECT_LT(expected.rbegin()->first, found.size());
}

TEST(LossFront, equals_the_list_of_all_label_sets_on_random_forests) {
  LossFront::Workspace workspace;  // one for all
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto size = static_cast<std::uint32_t>(1 + random.below(12));
    const auto inner = static_cast<std::uint32_t>(1 + random.below(size));
    std::vector<LabelEdge> edges;
    for (NodeId n = 1; n < size; ++n) {
      const auto parent = static_cast<NodeId>(random.below(std::min<NodeId>(n, inner) + 1));
      if (parent < n) edges.push_back({parent, n});
    }
    const LabelGraph graph = LabelGraph::build(size, edges);
    std::vector<double> scores(size);
    for (double& s : scores) s = seed % 4 ? random.normal() : 0.0;
    const auto all = std::size_t{1} << graph.leaves().size();
    expect_front(graph, union_of_paths(graph, 1 + random.below(all - 1)), scores, workspace);
  }
}

TEST(LossFront, other_graphs_and_scores_throw) {
  EXPECT_EQ(testing::message_of([] { LossFront{LabelGraph{}}; }),
            "loss front: the graph has 0 nodes, but must have some");
  const std::vector<LabelEdge> edges{{0, 2}, {1, 2}};
  EXPECT_EQ(testing::message_of([&] { LossFront{LabelGraph::build(3, edges)}; }),
            "loss front: the graph has a node with several parents, but must be a tree");
  EXPECT_EQ(testing::message_of([] {
              LossFront::Workspace workspace;
              const std::vector<double> scores{1.0};
              LossFront{LabelGraph::flat(2)}.solve(scores, {}, workspace);
            }),
            "loss front: scores has 1 entries, but must have one per node, 2");
}

}  // namespace
}  // namespace margrove
