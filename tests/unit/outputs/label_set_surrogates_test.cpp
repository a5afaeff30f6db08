// Label sets of which every node counts, and what surrogates other than margin ask of them.
#include "outputs/label_set/label_set_oracle.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "label_set_lists.hpp"
#include "margrove/errors.hpp"
#include "margrove/surrogates.hpp"
#include "model_checks.hpp"
#include "structured/convex_hull.hpp"
#include "structured/surrogate.hpp"

namespace margrove {
namespace {

using SetOracle = LabelSetModel::Oracle;
static_assert(StructuredModel<LabelSetModel> && EvaluatingOracle<SetOracle> &&
              KBestOracle<SetOracle> && BanListOracle<SetOracle> && LossFrontOracle<SetOracle>);

/// Uneven ones.
std::vector<double> weights_of_nodes(const LabelGraph& graph) {
  std::vector<double> alpha;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) alpha.push_back(0.1 + 0.3 * (n * 7 % 5));
  return alpha;
}

LabelSetModel model_of(const CsrMatrix& X, const std::vector<NodeId>& leaves,
                       const LabelGraph& graph, LabelSetLoss loss,
                       Criteria criteria = Criteria::hamming) {
  LabelSets sets;
  sets.append(leaves);
  const std::vector<double> alpha = loss == LabelSetLoss::normalized
                                        ? weights_of_nodes(graph)
                                        : std::vector<double>(graph.num_nodes(), 1.0);
  return {X, sets, graph, alpha, NodeStorage::dense, {Inference::exact, loss, criteria}};
}

std::vector<NodeShares> all_sets(const LabelGraph& graph) {
  std::vector<NodeShares> all;
  for (auto& nodes : testing::all_label_sets(graph)) all.push_back({std::move(nodes), {}});
  return all;
}

TEST(LabelSetSurrogates, equal_enumeration_for_every_lambda_on_trees_and_dags) {
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
    const LabelSetLoss loss =
        std::array{LabelSetLoss::leaves, LabelSetLoss::nodes, LabelSetLoss::normalized}[round % 3];
    const std::vector<double> alpha = weights_of_nodes(graph);
    const Criteria criteria = round % 4 < 2 ? Criteria::hamming : Criteria::micro_f1;
    const LabelSetModel model = model_of(X, leaves, graph, loss, criteria);
    const auto w = testing::random_weights(random, model.num_weights(), round % 5 ? 1.0 : 0.0);
    LabelSetModel::Workspace workspace;
    const std::vector<NodeId> truth = model.truth(0).nodes;
    const auto reference =
        testing::enumerate(model, 0, {w}, all_sets(graph), [&](const NodeShares& y) {
          double wrong = 0, chosen = 0;
          for (NodeId n = 0; n < size; ++n) {
            if (loss == LabelSetLoss::leaves && !graph.is_leaf(n)) continue;
            const bool in_y = std::binary_search(y.nodes.begin(), y.nodes.end(), n);
            const bool in_truth = std::binary_search(truth.begin(), truth.end(), n);
            const double count = loss == LabelSetLoss::normalized ? alpha[n] : 1.0;
            wrong += in_y != in_truth ? count : 0.0;
            chosen += (in_y + in_truth) * count;
          }
          return criteria == Criteria::hamming ? std::pair(0.0, wrong) : std::pair(wrong, -chosen);
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
  using Labelling = NodeShares;
  const SetOracle& oracle;
  Candidate<NodeShares> argmax(double w_m, double w_g) const { return oracle.argmax(w_m, w_g); }
  Candidate<NodeShares> truth() const { return oracle.truth(); }
  std::optional<Candidate<NodeShares>> argmax_without(double w_m, double w_g,
                                                      std::span<const NodeShares> banned) const {
    return oracle.argmax_without(w_m, w_g, banned);
  }
};

template <class O>
SearchResult<NodeShares> search_anew(const ConvexHullSearch& search, const O& oracle,
                                     const DynamicSurrogate& psi) {
  LabelCache<NodeShares> cache;
  return search(oracle, psi, cache);
}

TEST(LabelSetSurrogates, convex_hull_search_is_exact_on_trees_under_slack_rescaling) {
  const LabelGraph graph = small_tree();
  int fractional = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const CsrMatrix X = testing::random_rows(random, 1, 4);
    const LabelSetModel model = model_of(X, {5, 11}, graph, LabelSetLoss::nodes);
    const auto w = testing::random_weights(random, model.num_weights(), 0.7);
    LabelSetModel::Workspace workspace;
    const auto oracle = model.oracle(0, {w}, workspace);
    double best = 0.0;
    for (const NodeShares& y : all_sets(graph)) {
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

TEST(LabelSetSurrogates, convex_hull_search_finds_the_root_of_the_weight_on_trees) {
  const LabelGraph graph = small_tree();
  const std::vector<double> alpha = weights_of_nodes(graph);
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const CsrMatrix X = testing::random_rows(random, 1, 4);
    const LabelSetModel model = model_of(X, {5, 11}, graph, LabelSetLoss::normalized);
    const auto w = testing::random_weights(random, model.num_weights(), 0.7);
    LabelSetModel::Workspace workspace;
    const auto oracle = model.oracle(0, {w}, workspace);
    EXPECT_FALSE(oracle.has_loss_front());
    double best = 0.0;
    for (const NodeShares& y : all_sets(graph)) {
      const auto c = oracle.evaluate(y);
      std::vector<NodeId> wrong;
      std::ranges::set_symmetric_difference(y.nodes, model.truth(0).nodes,
                                            std::back_inserter(wrong));
      double weight = 0;
      for (const NodeId n : wrong) weight += alpha[n];
      best = std::max(best, c.m + std::sqrt(weight));
    }
    const DynamicSurrogate psi{GeneralisedScaling(0, 0.5)};
    const auto found = search_anew(ConvexHullSearch{.max_bans = 500}, oracle, psi);
    EXPECT_NEAR(found.value, best, 1e-9 * best);
    EXPECT_NEAR(found.upper_bound, best, 1e-8 * best);
  }
}

TEST(LabelSetSurrogates, search_is_exact_on_small_dags) {
  const std::vector<LabelEdge> edges{{0, 2}, {1, 2}, {1, 3}, {0, 4}, {2, 5}, {3, 5}, {2, 6}};
  const LabelGraph graph = LabelGraph::build(7, edges);
  Random random(3);
  const CsrMatrix X = testing::random_rows(random, 1, 3);
  const LabelSetModel model = model_of(X, {5}, graph, LabelSetLoss::normalized);
  LabelSetModel::Workspace workspace;
  for (int round = 0; round < 20; ++round) {
    const auto w = testing::random_weights(random, model.num_weights());
    const auto oracle = model.oracle(0, {w}, workspace);
    for (const AnySurrogate& any :
         {AnySurrogate(SlackRescaling{}), AnySurrogate(GeneralisedScaling(0, 0.5))}) {
      const DynamicSurrogate psi(any);
      const auto found = search_anew(ConvexHullSearch{.max_bans = 100}, oracle, psi);
      double best = 0.0;
      for (const NodeShares& y : all_sets(graph)) {
        const auto c = oracle.evaluate(y);
        best = std::max(best, psi.value(c.m, c.g));
      }
      EXPECT_NEAR(found.value, best, 1e-9 * (1 + best));
      EXPECT_NEAR(found.upper_bound, best, 1e-8 * (1 + best));
    }
  }
}

TEST(LabelSetSurrogates, search_on_large_dags_says_what_it_may_miss) {
  std::vector<LabelEdge> edges;  // 3 roots, 65 leaves with two parents each
  for (NodeId leaf = 3; leaf < 68; ++leaf) {
    edges.push_back({leaf % 3, leaf});
    edges.push_back({(leaf + 1) % 3, leaf});
  }
  const LabelGraph graph = LabelGraph::build(68, edges);
  Random random(3);
  const CsrMatrix X = testing::random_rows(random, 1, 3);
  const LabelSetModel model = model_of(X, {3, 9}, graph, LabelSetLoss::nodes);
  LabelSetModel::Workspace workspace;
  bool is_left_open = false;
  for (int round = 0; round < 20; ++round) {
    const auto w = testing::random_weights(random, model.num_weights());
    const auto oracle = model.oracle(0, {w}, workspace);
    EXPECT_FALSE(has_k_best(oracle));
    const auto found = search_anew(ConvexHullSearch{}, oracle, DynamicSurrogate(SlackRescaling{}));
    EXPECT_GE(found.upper_bound, found.value);
    is_left_open = is_left_open || found.upper_bound > found.value * (1 + 1e-6);
  }
  EXPECT_TRUE(is_left_open);
}

}  // namespace
}  // namespace margrove
