#include "outputs/label_set/node_sets.hpp"

#include <gtest/gtest.h>

#include <set>

#include "margrove/errors.hpp"
#include "margrove/surrogates.hpp"
#include "model_checks.hpp"
#include "structured/convex_hull.hpp"
#include "structured/surrogate.hpp"

namespace margrove {
namespace {

static_assert(StructuredModel<NodeSetModel> && EvaluatingOracle<NodeSetOracle> &&
              KBestOracle<NodeSetOracle> && BanListOracle<NodeSetOracle> &&
              LossFrontOracle<NodeSetOracle>);

// Every union of A(l) over a non-empty set of leaves.
std::vector<NodeSet> all_sets(const LabelGraph& graph) {
  const auto leaves = graph.leaves();
  std::set<NodeSet> sets;
  for (std::size_t bits = 1; bits < (std::size_t{1} << leaves.size()); ++bits) {
    std::set<NodeId> nodes;
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      if (!((bits >> k) & 1U)) continue;
      for (const NodeId n : graph.ancestors(leaves[k])) nodes.insert(n);
    }
    sets.insert(NodeSet(nodes.begin(), nodes.end()));
  }
  return {sets.begin(), sets.end()};
}

TEST(NodeSets, equal_enumeration_for_every_lambda_on_trees_and_dags) {
  Random random(1);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const auto size = static_cast<std::uint32_t>(2 + random.below(6));
    std::vector<LabelEdge> edges;
    for (NodeId n = 1; n < size; ++n) {
      const auto parent = static_cast<NodeId>(random.below(n));
      edges.push_back({parent, n});
      const auto second = static_cast<NodeId>(random.below(n));
      if (round % 2 && second != parent) edges.push_back({second, n});
    }
    const LabelGraph graph = LabelGraph::build(size, edges);
    const CsrMatrix X = testing::random_rows(random, 1, 4);
    std::vector<NodeId> leaves;
    for (const NodeId leaf : graph.leaves()) {
      if (leaves.empty() || random.below(2)) leaves.push_back(leaf);
    }
    const std::vector<std::vector<NodeId>> labels{leaves};
    const NodeSetModel model(X, labels, graph);
    const auto w = testing::random_weights(random, model.num_weights(), round % 5 ? 1.0 : 0.0);
    NodeSetWorkspace workspace;
    const NodeSet truth = model.truth(0);
    const auto reference =
        testing::enumerate(model, 0, {w}, all_sets(graph), [&](const NodeSet& y) {
          double wrong = 0;
          for (NodeId n = 0; n < size; ++n) {
            wrong += std::binary_search(y.begin(), y.end(), n) !=
                     std::binary_search(truth.begin(), truth.end(), n);
          }
          return std::pair(0.0, wrong);
        });
    testing::expect_same_answers(model.oracle(0, {w}, workspace), reference, random);
    auto some = all_sets(graph);
    some.resize(std::min<std::size_t>(some.size(), 6));
    testing::expect_implicit_differences(model, 0, some, random);
  }
}

// 2 roots, 4 inner nodes, 8 leaves, one of them deep.
LabelGraph small_tree() {
  const std::vector<LabelEdge> edges{{0, 2}, {0, 3}, {1, 4},  {1, 5},  {2, 6}, {2, 7},
                                     {3, 8}, {4, 9}, {4, 10}, {6, 11}, {6, 12}};
  return LabelGraph::build(13, edges);
}

struct WithoutFront {
  using Labelling = NodeSet;
  const NodeSetOracle& oracle;
  Candidate<NodeSet> argmax(double w_m, double w_g) const { return oracle.argmax(w_m, w_g); }
  Candidate<NodeSet> truth() const { return oracle.truth(); }
  std::optional<Candidate<NodeSet>> argmax_without(double w_m, double w_g,
                                                   std::span<const NodeSet> banned) const {
    return oracle.argmax_without(w_m, w_g, banned);
  }
};

template <class O>
SearchResult<NodeSet> search_anew(const ConvexHullSearch& search, const O& oracle,
                                  const DynamicSurrogate& psi) {
  LabelCache<NodeSet> cache;
  return search(oracle, psi, cache);
}

TEST(NodeSets, convex_hull_search_is_exact_on_trees_under_slack_rescaling) {
  const LabelGraph graph = small_tree();
  int fractional = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const CsrMatrix X = testing::random_rows(random, 1, 4);
    const std::vector<std::vector<NodeId>> labels{{5, 11}};
    const NodeSetModel model(X, labels, graph);
    const auto w = testing::random_weights(random, model.num_weights(), 0.7);
    NodeSetWorkspace workspace;
    const auto oracle = model.oracle(0, {w}, workspace);
    double best = 0.0;
    for (const NodeSet& y : all_sets(graph)) {
      const auto c = oracle.evaluate(y);
      best = std::max(best, SlackRescaling{}.value(c.m, c.g));
    }
    const DynamicSurrogate psi{SlackRescaling{}};
    const auto by_front = search_anew(ConvexHullSearch{}, oracle, psi);
    EXPECT_NEAR(by_front.value, best, 1e-9 * best);
    EXPECT_NEAR(by_front.upper_bound, best, 1e-9 * best);
    // As on trees too large for the front.
    const auto by_bans = search_anew(ConvexHullSearch{.max_bans = 500}, WithoutFront{oracle}, psi);
    EXPECT_NEAR(by_bans.value, best, 1e-9 * best);
    EXPECT_NEAR(by_bans.upper_bound, best, 1e-8 * best);
    const auto hull = search_anew(ConvexHullSearch{.max_bans = 0}, oracle, psi);
    fractional += hull.upper_bound > best * (1 + 1e-6) ? 1 : 0;
  }
  EXPECT_GT(fractional, 10);
}

TEST(NodeSets, on_dags_have_no_k_best_and_their_search_says_what_it_may_miss) {
  const std::vector<LabelEdge> edges{{0, 2}, {1, 2}, {1, 3}, {0, 4}};
  const LabelGraph graph = LabelGraph::build(5, edges);
  Random random(3);
  const CsrMatrix X = testing::random_rows(random, 1, 3);
  const std::vector<std::vector<NodeId>> labels{{2}};
  const NodeSetModel model(X, labels, graph);
  const auto w = testing::random_weights(random, model.num_weights());
  NodeSetWorkspace workspace;
  const auto oracle = model.oracle(0, {w}, workspace);
  EXPECT_FALSE(has_k_best(oracle));
  LabelCache<NodeSet> cache;
  const auto found = ConvexHullSearch{}(oracle, DynamicSurrogate(SlackRescaling{}), cache);
  double best = 0.0;
  for (const NodeSet& y : all_sets(graph)) {
    const auto c = oracle.evaluate(y);
    best = std::max(best, SlackRescaling{}.value(c.m, c.g));
  }
  EXPECT_LE(found.value, best + 1e-12);
  EXPECT_GE(found.upper_bound, best - 1e-9);
}

TEST(NodeSets, rows_without_a_leaf_throw) {
  Random random(2);
  const CsrMatrix X = testing::random_rows(random, 1, 2);
  const std::vector<LabelEdge> edges{{0, 1}};
  const LabelGraph graph = LabelGraph::build(2, edges);
  const auto message_of = [&](const std::vector<std::vector<NodeId>>& labels) {
    try {
      NodeSetModel(X, labels, graph);
    } catch (const InvalidInput& error) {
      return std::string(error.what());
    }
    return std::string("nothing thrown");
  };
  EXPECT_EQ(message_of({}),
            "node-set model: there are 0 label sets, but 1 rows; there must be one per row");
  EXPECT_EQ(message_of({{}}),
            "node-set model: row 0 has no label, but must have at least one leaf");
  EXPECT_EQ(message_of({{0}}), "node-set model: a label of row 0 is 0, but must be a leaf");
}

}  // namespace
}  // namespace margrove
