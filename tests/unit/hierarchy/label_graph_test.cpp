#include "margrove/label_graph.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include "hierarchy/closed_sets.hpp"
#include "hierarchy/graph_operations.hpp"
#include "margrove/errors.hpp"
#include "random_graphs.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Edges = std::vector<LabelEdge>;

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "no error";
}

std::string build_message(std::uint32_t num_nodes, const Edges& edges) {
  return message_of([&] { LabelGraph::build(num_nodes, edges); });
}

//      0     5
//     / \    |
//    1   2   6
//     \ / \ /
//      3   4
LabelGraph two_roots() {
  return LabelGraph::build(7, Edges{{6, 4}, {0, 2}, {2, 4}, {0, 1}, {2, 3}, {1, 3}, {5, 6}});
}

TEST(LabelGraph, neighbours_leaves_and_roots_are_ascending) {
  const auto graph = two_roots();
  EXPECT_EQ(graph.num_nodes(), 7U);
  EXPECT_EQ(graph.num_edges(), 7U);
  EXPECT_THAT(graph.children(0), ElementsAre(1, 2));
  EXPECT_THAT(graph.children(2), ElementsAre(3, 4));
  EXPECT_THAT(graph.parents(4), ElementsAre(2, 6));
  EXPECT_THAT(graph.parents(0), IsEmpty());
  EXPECT_THAT(graph.leaves(), ElementsAre(3, 4));
  EXPECT_THAT(graph.roots(), ElementsAre(0, 5));
  EXPECT_TRUE(graph.is_leaf(3) && graph.is_root(5) && !graph.is_leaf(6) && !graph.is_root(6));
  EXPECT_FALSE(graph.is_tree());
}

TEST(LabelGraph, ancestors_and_descendants_include_the_node) {
  const auto graph = two_roots();
  EXPECT_THAT(graph.ancestors(4), ElementsAre(0, 2, 4, 5, 6));
  EXPECT_THAT(graph.ancestors(0), ElementsAre(0));
  EXPECT_THAT(graph.descendants(0), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(graph.descendants(5), ElementsAre(4, 5, 6));
  EXPECT_THAT(graph.descendants(3), ElementsAre(3));
}

TEST(LabelGraph, depth_is_the_longest_path_and_orders_the_nodes) {
  const auto graph = LabelGraph::build(5, Edges{{4, 3}, {3, 2}, {2, 0}, {4, 0}, {4, 1}});
  EXPECT_EQ(graph.depth(4), 0U);
  EXPECT_EQ(graph.depth(1), 1U);
  EXPECT_EQ(graph.depth(0), 3U);
  EXPECT_THAT(graph.topological_order(), ElementsAre(4, 1, 3, 2, 0));
}

TEST(LabelGraph, empty_single_and_flat_graphs) {
  const auto empty = LabelGraph::build(0, {});
  EXPECT_EQ(empty.num_nodes(), 0U);
  EXPECT_THAT(empty.topological_order(), IsEmpty());
  EXPECT_TRUE(empty.is_tree());
  EXPECT_TRUE(ancestor_sets(empty, {}).items.empty());
  EXPECT_EQ(without_common_roots(empty).graph.num_nodes(), 0U);

  const auto single = LabelGraph::build(1, {});
  EXPECT_THAT(single.leaves(), ElementsAre(0));
  EXPECT_THAT(single.roots(), ElementsAre(0));
  EXPECT_THAT(single.ancestors(0), ElementsAre(0));

  const auto flat = LabelGraph::flat(3);
  EXPECT_THAT(flat.leaves(), ElementsAre(0, 1, 2));
  EXPECT_THAT(flat.roots(), ElementsAre(0, 1, 2));
  EXPECT_EQ(flat.num_edges(), 0U);
  EXPECT_TRUE(flat.is_tree());
}

TEST(LabelGraph, forests_are_trees) {
  const auto forest = LabelGraph::build(5, Edges{{0, 2}, {1, 3}, {1, 4}});
  EXPECT_TRUE(forest.is_tree());
  EXPECT_THAT(forest.roots(), ElementsAre(0, 1));
  EXPECT_THAT(forest.ancestors(4), ElementsAre(1, 4));
}

TEST(LabelGraph, an_edge_out_of_range_throws_with_the_edge) {
  EXPECT_EQ(build_message(3, {{0, 1}, {1, 3}}),
            "label graph: edge 1 -> 3 names node 3, but nodes must be below 3");
  EXPECT_EQ(build_message(3, {{4000000000U, 1}}),
            "label graph: edge 4000000000 -> 1 names node 4000000000, but nodes must be below 3");
}

TEST(LabelGraph, a_self_edge_throws_with_the_edge) {
  EXPECT_EQ(build_message(3, {{0, 1}, {2, 2}}),
            "label graph: edge 2 -> 2 is a self-edge, but a node must not be its own parent");
}

TEST(LabelGraph, a_repeated_edge_throws_with_the_edge) {
  EXPECT_EQ(build_message(3, {{0, 2}, {0, 1}, {0, 2}}),
            "label graph: edge 0 -> 2 repeats, but each edge must be given once");
}

TEST(LabelGraph, a_cycle_throws_with_its_nodes_only) {
  // 0 leads into the cycle 1 -> 2 -> 3 -> 1, 4 hangs below it.
  EXPECT_EQ(build_message(5, {{0, 1}, {1, 2}, {2, 3}, {3, 1}, {3, 4}}),
            "label graph: edge 3 -> 1 closes the cycle 1 -> 2 -> 3 -> 1, but a hierarchy must not "
            "have cycles");
  EXPECT_THAT(build_message(2, {{0, 1}, {1, 0}}), HasSubstr("the cycle 0 -> 1 -> 0,"));
}

TEST(LabelGraph, a_long_cycle_is_cut_in_the_message) {
  Edges edges;
  for (NodeId n = 0; n < 50; ++n) edges.push_back({n, (n + 1) % 50});
  EXPECT_THAT(build_message(50, edges), HasSubstr("18 -> 19 -> ... (30 more) -> 0, but"));
}

TEST(LabelGraph, random_graphs_agree_with_the_transitive_closure) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_dag(1 + std::uint32_t(random.below(25)), 3, random);
    const auto num_nodes = graph.num_nodes();
    std::vector<std::vector<bool>> above(num_nodes, std::vector<bool>(num_nodes, false));
    for (NodeId n = 0; n < num_nodes; ++n) {
      above[n][n] = true;
      for (const NodeId p : graph.parents(n)) above[n][p] = true;
    }
    for (NodeId k = 0; k < num_nodes; ++k) {
      for (NodeId i = 0; i < num_nodes; ++i) {
        for (NodeId j = 0; j < num_nodes; ++j) {
          if (above[i][k] && above[k][j]) above[i][j] = true;
        }
      }
    }
    const auto sets = ancestor_sets(graph, graph.topological_order());
    const ListedAncestors listed(graph);
    std::vector<NodeId> scratch;
    std::vector<std::size_t> place(num_nodes);
    for (std::size_t k = 0; k < num_nodes; ++k) place[graph.topological_order()[k]] = k;
    for (NodeId n = 0; n < num_nodes; ++n) {
      std::vector<NodeId> up, down;
      for (NodeId m = 0; m < num_nodes; ++m) {
        if (above[n][m]) up.push_back(m);
        if (above[m][n]) down.push_back(m);
      }
      EXPECT_EQ(graph.ancestors(n), up);
      EXPECT_EQ(graph.descendants(n), down);
      EXPECT_EQ(std::vector<NodeId>(sets[n].begin(), sets[n].end()), up);
      EXPECT_TRUE(std::ranges::equal(listed.of(graph, n, scratch), up));
      for (const NodeId p : graph.parents(n)) {
        EXPECT_LT(place[p], place[n]);
        EXPECT_LT(graph.depth(p), graph.depth(n));
      }
    }
  }
}

TEST(NodeLists, of_some_nodes_have_nothing_of_the_others) {
  const auto graph = LabelGraph::build(5, Edges{{0, 1}, {0, 2}, {1, 3}, {1, 4}});
  const auto sets = ancestor_sets(graph, std::vector<NodeId>{4});
  EXPECT_THAT(sets.items, ElementsAre(0, 1, 4));
  EXPECT_EQ(sets[4].size(), 3U);
  EXPECT_TRUE(sets[3].empty());
}

TEST(ListedAncestors, of_a_long_chain_with_two_parents_are_found_anew) {
  std::vector<LabelEdge> edges{{0, 2}};
  constexpr NodeId kLength = 3000;
  for (NodeId n = 0; n + 1 < kLength; ++n) edges.push_back({n, n + 1});
  const auto graph = LabelGraph::build(kLength, edges);
  const ListedAncestors listed(graph);
  std::vector<NodeId> scratch;
  const auto all = listed.of(graph, kLength - 1, scratch);
  EXPECT_EQ(all.size(), kLength);
  EXPECT_EQ(all.data(), scratch.data());
}

TEST(WithoutCommonRoots, of_a_long_chain_takes_one_walk) {
  std::vector<LabelEdge> edges;
  constexpr NodeId kLength = 200'000;
  for (NodeId n = 0; n + 1 < kLength; ++n) edges.push_back({n, n + 1});
  EXPECT_EQ(without_common_roots(LabelGraph::build(kLength, edges)).kept,
            std::vector<NodeId>{kLength - 1});
}

TEST(AboveEveryLeaf, is_what_the_ancestors_of_every_leaf_have_in_common) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    // A random graph of up to 200 nodes, below a chain with a second way past its middle.
    const auto size = 1 + std::uint32_t(random.below(200));
    const auto below = testing::random_dag(size, seed % 4 == 0 ? 1 : 3, random);
    const auto length = static_cast<std::uint32_t>(seed % 3 == 0 ? 0 : 5);
    Edges edges;
    for (NodeId n = 0; n + 1 < length; ++n) edges.push_back({n, n + 1});
    if (length > 0) edges.push_back({1, 3});
    for (NodeId n = 0; n < size; ++n) {
      if (length > 0 && below.is_root(n)) edges.push_back({length - 1, length + n});
      for (const NodeId c : below.children(n)) edges.push_back({length + n, length + c});
    }
    const auto graph = LabelGraph::build(length + size, edges);
    std::vector<std::size_t> count(graph.num_nodes(), 0);
    for (const NodeId leaf : graph.leaves()) {
      for (const NodeId n : graph.ancestors(leaf)) ++count[n];
    }
    const auto common = above_every_leaf(graph);
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      EXPECT_EQ(common[n], count[n] == graph.leaves().size()) << n;
    }
  }
}

TEST(SetCloser, gives_the_ancestors_of_all_labels_whether_they_are_few_or_many) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto graph = testing::random_dag(300, 2, random);
    SetCloser counted(graph), all(graph, SetCloser::Nodes::all);
    std::vector<NodeId> closed;
    for (const std::size_t size : {0, 1, 2, 40}) {  // the last of nearly all nodes
      std::vector<LabelId> labels;
      for (std::size_t k = 0; k < size; ++k) {
        labels.push_back(static_cast<LabelId>(random.below(k % 5 == 4 ? 320 : 300)));
      }
      std::set<NodeId> known, unknown;
      for (const LabelId label : labels) {
        if (label >= 300) {
          unknown.insert(label);
        } else {
          for (const NodeId n : graph.ancestors(label)) known.insert(n);
        }
      }
      all.close(labels, closed);
      EXPECT_TRUE(std::ranges::equal(closed, known));
      if (const auto root = uncounted_root(graph)) known.erase(*root);
      counted.close(labels, closed);
      std::vector<NodeId> expected(known.begin(), known.end());
      expected.insert(expected.end(), unknown.begin(), unknown.end());
      closed.erase(std::unique(closed.begin(), closed.end()), closed.end());
      EXPECT_EQ(closed, expected);
    }
  }
}

TEST(SpawnLeaves, gives_every_inner_label_with_data_a_leaf) {
  const auto graph = LabelGraph::build(5, Edges{{0, 1}, {0, 2}, {1, 3}, {1, 4}});
  const auto spawned = spawn_leaves(graph, {true, true, true, false, true});
  EXPECT_EQ(spawned.graph.num_nodes(), 7U);
  EXPECT_THAT(spawned.leaf_of_label, ElementsAre(5, 6, 2, 3, 4));
  EXPECT_THAT(spawned.label_of_node, ElementsAre(0, 1, 2, 3, 4, 0, 1));
  EXPECT_THAT(spawned.graph.parents(5), ElementsAre(0));
  EXPECT_THAT(spawned.graph.children(1), ElementsAre(3, 4, 6));
  EXPECT_THAT(spawned.graph.leaves(), ElementsAre(2, 3, 4, 5, 6));

  const auto unchanged = spawn_leaves(graph, {false, false, true, true, true});
  EXPECT_EQ(unchanged.graph.num_nodes(), 5U);
  EXPECT_THAT(unchanged.leaf_of_label, ElementsAre(0, 1, 2, 3, 4));
}

TEST(SpawnLeaves, a_flag_missing_throws) {
  EXPECT_EQ(message_of([] { spawn_leaves(LabelGraph::flat(3), {true}); }),
            "spawn_leaves: carries_data has 1 entries, but must have one per node, 3");
}

TEST(DepthFirstOrder, is_the_preorder_of_a_tree) {
  const auto forest = LabelGraph::build(8, Edges{{0, 4}, {0, 2}, {2, 7}, {2, 3}, {4, 1}, {5, 6}});
  EXPECT_THAT(depth_first_order(forest), ElementsAre(0, 2, 3, 7, 4, 1, 5, 6));
  EXPECT_THAT(depth_first_order(LabelGraph::flat(3)), ElementsAre(0, 1, 2));
}

TEST(DepthFirstOrder, has_parents_before_their_children) {
  EXPECT_THAT(depth_first_order(two_roots()), ElementsAre(0, 1, 2, 3, 5, 6, 4));
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    const auto graph = testing::random_dag(30, 3, random);
    const std::vector<NodeId> order = depth_first_order(graph);
    std::vector<std::size_t> place(graph.num_nodes(), order.size());
    for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      EXPECT_LT(place[n], order.size());
      for (const NodeId parent : graph.parents(n)) EXPECT_LT(place[parent], place[n]);
    }
  }
}

TEST(WithoutCommonRoots, removes_what_all_leaves_share) {
  // 0 -> 1 -> {2, 3}, 2 -> {4, 5}: nodes 0 and 1 are above every leaf, 2 is not.
  const auto tree = LabelGraph::build(6, Edges{{0, 1}, {1, 2}, {1, 3}, {2, 4}, {2, 5}});
  const auto cut = without_common_roots(tree);
  EXPECT_THAT(cut.kept, ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(cut.graph.roots(), ElementsAre(0, 1));
  EXPECT_THAT(cut.graph.children(0), ElementsAre(2, 3));

  const auto dag = LabelGraph::build(4, Edges{{0, 2}, {0, 3}, {1, 2}, {1, 3}});
  EXPECT_THAT(without_common_roots(dag).kept, ElementsAre(2, 3));
}

TEST(WithoutCommonRoots, keeps_forests_and_single_leaves) {
  EXPECT_THAT(without_common_roots(two_roots()).kept, ElementsAre(1, 3, 4, 5, 6));
  const auto forest = LabelGraph::build(4, Edges{{0, 2}, {1, 3}});
  EXPECT_THAT(without_common_roots(forest).kept, ElementsAre(0, 1, 2, 3));
  const auto chain = LabelGraph::build(3, Edges{{0, 1}, {1, 2}});
  EXPECT_THAT(without_common_roots(chain).kept, ElementsAre(2));
}

}  // namespace
}  // namespace margrove
