#include "methods/label_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/out_of_time.hpp"
#include "base/random.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

struct Rows {
  CsrMatrix X;
  LabelSets labels;
};

/// Labels l with words of their own and of their group l % num_groups.
Rows grouped_rows(std::uint32_t num_labels, std::uint32_t num_groups) {
  Rows rows{CsrMatrix(num_groups + num_labels + 1), {}};
  Random random(7);
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (LabelId label = 0; label < num_labels; ++label) {
      const std::vector<FeatureId> columns{label % num_groups, num_groups + label,
                                           num_groups + num_labels};
      const std::vector<float> values{2.0F, static_cast<float>(random.uniform()), 0.1F};
      rows.X.append_row(columns, values);
      rows.labels.append(std::vector<LabelId>{label});
    }
  }
  return rows;
}

LabelGraph tree_of(const Rows& rows, std::uint32_t num_labels, const LabelTreeOptions& options) {
  RunControl control;
  return learned_label_trees(rows.X.view(), rows.labels, num_labels, options, control);
}

std::vector<LabelId> labels_below(const LabelGraph& tree, NodeId node, std::uint32_t num_labels) {
  std::vector<LabelId> labels;
  for (const NodeId n : tree.descendants(node)) {
    if (n < num_labels) labels.push_back(n);
  }
  return labels;
}

TEST(LabelTree, separates_groups_of_similar_labels) {
  constexpr std::uint32_t kLabels = 12;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const LabelGraph tree =
        tree_of(grouped_rows(kLabels, 2), kLabels, {.max_leaves = 6, .seed = seed});
    ASSERT_EQ(tree.num_nodes(), kLabels + 3);
    const auto halves = tree.children(kLabels);
    ASSERT_EQ(halves.size(), 2U);
    EXPECT_THAT(
        (std::vector{labels_below(tree, halves[0], kLabels),
                     labels_below(tree, halves[1], kLabels)}),
        UnorderedElementsAre(ElementsAre(0, 2, 4, 6, 8, 10), ElementsAre(1, 3, 5, 7, 9, 11)));
  }
}

TEST(LabelTree, halves_differ_by_one_label_at_most) {
  constexpr std::uint32_t kLabels = 37;
  const LabelGraph tree = tree_of(grouped_rows(kLabels, 5), kLabels, {.max_leaves = 3});
  EXPECT_TRUE(tree.is_tree());
  EXPECT_THAT(std::vector(tree.roots().begin(), tree.roots().end()), ElementsAre(kLabels));
  EXPECT_EQ(tree.leaves().size(), kLabels);
  for (NodeId node = kLabels; node < tree.num_nodes(); ++node) {
    const auto children = tree.children(node);
    if (children[0] < kLabels) {
      EXPECT_LE(children.size(), 3U);
      EXPECT_LT(children.back(), kLabels);
      continue;
    }
    ASSERT_EQ(children.size(), 2U);
    const auto first = labels_below(tree, children[0], kLabels).size();
    const auto second = labels_below(tree, children[1], kLabels).size();
    EXPECT_LE(std::max(first, second) - std::min(first, second), 1U);
    EXPECT_GT(first + second, 3U);
  }
}

TEST(LabelTree, several_trees_have_leaves_of_their_own) {
  constexpr std::uint32_t kLabels = 12;
  const Rows rows = grouped_rows(kLabels, 2);
  const LabelGraph trees = tree_of(rows, kLabels, {.trees = 3, .max_leaves = 6, .seed = 5});
  ASSERT_EQ(trees.num_nodes(), 3 * (kLabels + 3));
  EXPECT_TRUE(trees.is_tree());
  ASSERT_THAT(std::vector(trees.roots().begin(), trees.roots().end()), ElementsAre(36, 39, 42));
  for (NodeId tree = 0; tree < 3; ++tree) {
    std::vector<NodeId> leaves;
    for (const NodeId n : trees.descendants(trees.roots()[tree])) {
      if (trees.is_leaf(n)) leaves.push_back(n - tree * kLabels);
    }
    std::sort(leaves.begin(), leaves.end());
    EXPECT_THAT(leaves, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  }
}

TEST(LabelTree, few_labels_are_the_children_of_one_node) {
  const LabelGraph tree = tree_of(grouped_rows(4, 2), 4, {});
  EXPECT_EQ(tree.num_nodes(), 5U);
  EXPECT_EQ(tree.children(4).size(), 4U);
}

TEST(LabelTree, one_vs_rest_is_the_last_tree) {
  const LabelGraph trees =
      tree_of(grouped_rows(12, 2), 12, {.trees = 2, .one_vs_rest = true, .max_leaves = 6});
  ASSERT_EQ(trees.roots().size(), 3U);
  EXPECT_EQ(trees.children(trees.roots()[2]).size(), 12U);
  EXPECT_EQ(trees.children(trees.roots()[2]).front(), 24U);
  // Up to max_leaves labels all trees are the same, and there is one.
  EXPECT_EQ(tree_of(grouped_rows(4, 2), 4, {.trees = 2, .one_vs_rest = true}).num_nodes(), 5U);
}

TEST(LabelTree, is_that_of_the_seed) {
  const Rows rows = grouped_rows(40, 7);
  EXPECT_EQ(tree_of(rows, 40, {.max_leaves = 4, .seed = 3}),
            tree_of(rows, 40, {.max_leaves = 4, .seed = 3}));
  EXPECT_NE(tree_of(rows, 40, {.max_leaves = 4, .seed = 3}),
            tree_of(rows, 40, {.max_leaves = 4, .seed = 4}));
}

TEST(LabelTree, learning_ends_where_the_control_asks_to) {
  const Rows rows = grouped_rows(12, 2);
  RunControl control;
  control.interrupt();
  EXPECT_THROW(learned_label_trees(rows.X.view(), rows.labels, 12, {.max_leaves = 2}, control),
               OutOfTime);
}

TEST(LabelTree, options_out_of_range_throw) {
  EXPECT_THROW(tree_of(grouped_rows(4, 2), 4, {.max_leaves = 1}), InvalidOption);
  EXPECT_THROW(tree_of(grouped_rows(4, 2), 4, {.trees = 0}), InvalidOption);
}

}  // namespace
}  // namespace margrove
