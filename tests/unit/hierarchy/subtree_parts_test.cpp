#include "hierarchy/subtree_parts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margrove/errors.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(SubtreeParts, cut_where_subtrees_are_small_enough) {
  // 0 -> 1 -> {3, 4}, 0 -> 2 -> {5, 6, 7}, and a root 8
  const LabelEdge edges[] = {{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}, {2, 6}, {2, 7}};
  const SubtreeParts cut = subtree_parts(LabelGraph::build(9, edges), 3);
  EXPECT_EQ(cut.num_top, 2U);
  EXPECT_THAT(cut.order, ElementsAre(0, 2, 8, 1, 3, 4, 5, 6, 7));
  ASSERT_EQ(cut.parts.size(), 3U);
  EXPECT_EQ(cut.parts[0].above, SubtreeParts::kNone);
  EXPECT_EQ(cut.parts[1].above, 0U);
  EXPECT_EQ(cut.parts[2].above, 1U);
  EXPECT_EQ(cut.parts[2].begin, 6U);
  EXPECT_EQ(cut.parts[2].end, 9U);
}

TEST(SubtreeParts, hold_every_node_once_below_its_parent) {
  Random random(4);
  for (std::uint32_t size = 1; size < 60; ++size) {
    const LabelGraph tree = testing::random_graph(size, 0.0, random);
    const auto max_nodes = static_cast<std::uint32_t>(1 + random.below(10));
    const SubtreeParts cut = subtree_parts(tree, max_nodes);
    std::vector<NodeId> nodes = cut.order;
    std::sort(nodes.begin(), nodes.end());
    ASSERT_EQ(nodes.size(), size);
    for (NodeId n = 0; n < size; ++n) EXPECT_EQ(nodes[n], n);
    for (std::uint32_t p = 0; p < size; ++p) {
      const std::uint32_t parent = cut.parents[p];
      if (tree.is_root(cut.order[p])) {
        EXPECT_EQ(parent, SubtreeParts::kNone);
      } else {
        ASSERT_LT(parent, p);
        EXPECT_EQ(cut.order[parent], tree.parents(cut.order[p]).front());
      }
    }
    std::uint32_t end = cut.num_top;
    for (const auto& part : cut.parts) {
      EXPECT_EQ(part.begin, end);
      end = part.end;
      EXPECT_LE(part.end - part.begin, max_nodes);
      for (std::uint32_t p = part.begin; p < part.end; ++p) {
        EXPECT_TRUE(cut.parents[p] == part.above || cut.parents[p] >= part.begin);
      }
    }
    EXPECT_EQ(end, size);
    for (std::uint32_t p = 0; p < cut.num_top; ++p) {
      EXPECT_GT(tree.descendants(cut.order[p]).size(), max_nodes);
    }
  }
}

TEST(SubtreeParts, wrong_arguments_throw) {
  const LabelEdge edges[] = {{0, 2}, {1, 2}};
  EXPECT_THAT([&] { subtree_parts(LabelGraph::build(3, edges), 4); },
              ThrowsMessage<InvalidInput>(HasSubstr("several parents, but must be a tree")));
  EXPECT_THAT([] { subtree_parts(LabelGraph::flat(2), 0); },
              ThrowsMessage<InvalidInput>(HasSubstr("max_nodes is 0, but must be >= 1")));
}

}  // namespace
}  // namespace margrove
