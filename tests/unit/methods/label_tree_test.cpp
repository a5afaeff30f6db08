#include "methods/label_tree.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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

/// Labels l with words of their own and of their group l % num_groups; label 0 has no rows if
/// `first_label` is 1.
Rows grouped_rows(std::uint32_t num_labels, std::uint32_t num_groups, LabelId first_label = 0) {
  Rows rows{CsrMatrix(num_groups + num_labels + 1), {}};
  Random random(7);
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (LabelId label = first_label; label < num_labels; ++label) {
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
  return learned_label_tree(rows.X.view(), rows.labels, num_labels, options, control);
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

TEST(LabelTree, labels_without_rows_are_roots) {
  constexpr std::uint32_t kLabels = 9;
  const LabelGraph tree = tree_of(grouped_rows(kLabels, 3, 1), kLabels, {.max_leaves = 2});
  EXPECT_TRUE(tree.is_root(0));
  EXPECT_TRUE(tree.is_leaf(0));
  EXPECT_THAT(labels_below(tree, kLabels, kLabels), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(tree_of({CsrMatrix(3), {}}, 4, {}), LabelGraph::flat(4));
}

TEST(LabelTree, few_labels_are_the_children_of_one_node) {
  const LabelGraph tree = tree_of(grouped_rows(4, 2), 4, {});
  EXPECT_EQ(tree.num_nodes(), 5U);
  EXPECT_EQ(tree.children(4).size(), 4U);
}

TEST(LabelTree, is_that_of_the_seed) {
  const Rows rows = grouped_rows(40, 7);
  EXPECT_EQ(tree_of(rows, 40, {.max_leaves = 4, .seed = 3}),
            tree_of(rows, 40, {.max_leaves = 4, .seed = 3}));
  EXPECT_NE(tree_of(rows, 40, {.max_leaves = 4, .seed = 3}),
            tree_of(rows, 40, {.max_leaves = 4, .seed = 4}));
}

TEST(LabelTree, a_node_has_two_labels_at_least) {
  EXPECT_THROW(tree_of(grouped_rows(4, 2), 4, {.max_leaves = 1}), InvalidOption);
}

}  // namespace
}  // namespace margrove
