#include "model/level_weights.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "margrove/label_graph.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;

TEST(GraphLevels, are_depths_of_inner_nodes_and_one_for_all_leaves) {
  const std::vector<LabelEdge> of_dag{{0, 3}, {0, 4}, {1, 4}, {1, 5}, {2, 6}, {5, 7}};
  const LabelGraph graph = LabelGraph::build(8, of_dag);
  const GraphLevels levels(graph);
  std::vector<std::uint32_t> found;
  for (NodeId n = 0; n < 8; ++n) found.push_back(levels.of(n));
  EXPECT_THAT(found, ElementsAre(0, 0, 0, 2, 2, 1, 2, 2));
  EXPECT_EQ(levels.size(), 3U);
  std::vector<LabelEdge> edges;
  for (NodeId n = 0; n < 99; ++n) edges.push_back({n, n + 1});
  const LabelGraph chain = LabelGraph::build(100, edges);
  const GraphLevels of_chain(chain);
  EXPECT_EQ(of_chain.size(), GraphLevels::kMost);
  EXPECT_EQ(of_chain.of(61), 61U);
  EXPECT_EQ(of_chain.of(98), 62U) << "shared with all deeper inner nodes";
  EXPECT_EQ(of_chain.of(99), 63U);
  const LabelGraph flat = LabelGraph::build(3, {});
  EXPECT_EQ(GraphLevels(flat).size(), 1U);
  EXPECT_EQ(GraphLevels(flat).of(2), 0U);
}

}  // namespace
}  // namespace margrove
