// top-down-svm in graphs whose nodes have several parents: its training problems and its paths.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string_view>

#include "base/random.hpp"
#include "io/model_file.hpp"
#include "methods/top_down_families.hpp"
#include "model/top_down_predictor.hpp"
#include "random_graphs.hpp"
#include "toy_training.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::Gt;

constexpr double kNever = -std::numeric_limits<double>::infinity();

bool contains(std::span<const NodeId> sorted, NodeId n) {
  return std::binary_search(sorted.begin(), sorted.end(), n);
}

// Training problems -------------------------------------------------------------------------------

enum class RowLabels { several_leaves, one_node };

LabelSets random_sets(const LabelGraph& graph, RowLabels kind, Random& random) {
  const auto leaves = graph.leaves();
  LabelSets sets;
  for (int i = 0; i < 12; ++i) {
    std::vector<LabelId> set;
    if (kind == RowLabels::one_node) {
      set.push_back(static_cast<LabelId>(random.below(graph.num_nodes())));
    } else {
      for (auto k = random.below(3); k > 0; --k) set.push_back(leaves[random.below(leaves.size())]);
    }
    sets.append(set);
  }
  return sets;
}

/// The rows of n's classifier by the definition: +1 and -1, and 0 of those that it does not see.
std::vector<int> signs_of(const LabelGraph& graph, const LabelSets& sets, NodeId n) {
  const auto is_below = [&](std::size_t i, NodeId m) {
    return std::any_of(sets[i].begin(), sets[i].end(),
                       [&](LabelId l) { return contains(graph.ancestors(l), m); });
  };
  std::vector<int> signs;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    const auto parents = graph.parents(n);
    const bool may_be_below = std::any_of(sets[i].begin(), sets[i].end(), [&](LabelId l) {
      return l != n && contains(graph.ancestors(n), l);
    });
    const bool is_among = parents.empty() ? !sets[i].empty()
                                          : std::any_of(parents.begin(), parents.end(),
                                                        [&](NodeId p) { return is_below(i, p); });
    signs.push_back(is_below(i, n) ? 1 : is_among && !may_be_below ? -1 : 0);
  }
  return signs;
}

bool has(const std::vector<int>& signs, int sign) {
  return std::find(signs.begin(), signs.end(), sign) != signs.end();
}

void expect_the_definition(const LabelGraph& graph, const LabelSets& sets) {
  std::vector<int> times_trained(graph.num_nodes(), 0);
  for (const Family& family : families_of(graph, sets)) {
    ASSERT_EQ(family.rows.size(), family.sets.num_rows());
    for (std::size_t k = 0; k < family.children.size(); ++k) {
      const NodeId n = family.children[k];
      ++times_trained[n];
      std::vector<int> signs(sets.num_rows(), 0);
      for (std::size_t m = 0; m < family.rows.size(); ++m) {
        signs[family.rows[m]] = contains(family.sets[m], static_cast<LabelId>(k)) ? 1 : -1;
      }
      EXPECT_EQ(signs, signs_of(graph, sets, n)) << "node " << n;
    }
  }
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    const std::vector<int> signs = signs_of(graph, sets, n);
    if (has(signs, 1) && has(signs, -1)) {
      EXPECT_EQ(times_trained[n], 1) << "node " << n;
    }
    if (!has(signs, 1)) {
      EXPECT_EQ(times_trained[n], 0) << "node " << n;
    }
  }
}

TEST(TopDownFamilies, positives_are_below_the_node_and_negatives_below_a_parent_only) {
  Random random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const LabelGraph graph = testing::random_dag(2 + trial % 9, 3, random);
    for (const auto kind : {RowLabels::several_leaves, RowLabels::one_node}) {
      expect_the_definition(graph, random_sets(graph, kind, random));
    }
  }
}

TEST(TopDownFamilies, nothing_is_learned_below_a_partial_label_that_an_edge_passes) {
  // 3 is below 0 and 1, 1 below 0: a row of 1 may be one of 3.
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}, {0, 3}, {1, 3}, {1, 4}};
  const LabelGraph graph = LabelGraph::build(5, edges);
  LabelSets sets;
  for (const LabelId l : {1, 2, 3, 4}) sets.append(std::vector<LabelId>{l});
  EXPECT_THAT(signs_of(graph, sets, 3), ElementsAre(0, -1, 1, -1));
  expect_the_definition(graph, sets);
}

TEST(TopDownFamilies, of_a_tree_are_the_roots_and_then_the_children_of_each_node) {
  Random random(4);
  for (int trial = 0; trial < 100; ++trial) {
    const LabelGraph tree = testing::random_tree(12, 0.2, random);
    const LabelSets sets = random_sets(tree, RowLabels::several_leaves, random);
    std::vector<NodeId> above;  // with a row
    for (NodeId n = 0; n < tree.num_nodes(); ++n) {
      if (has(signs_of(tree, sets, n), 1)) above.push_back(n);
    }
    std::vector<std::vector<NodeId>> expected;
    const auto add = [&](std::span<const NodeId> siblings) {
      std::vector<NodeId> with_rows;
      for (const NodeId n : siblings) {
        if (contains(above, n)) with_rows.push_back(n);
      }
      if (with_rows.size() >= 2) expected.push_back(with_rows);
    };
    add(tree.roots());
    for (NodeId n = 0; n < tree.num_nodes(); ++n) add(tree.children(n));
    std::vector<std::vector<NodeId>> found;
    for (const Family& family : families_of(tree, sets)) found.push_back(family.children);
    EXPECT_EQ(found, expected);
  }
}

// Paths -------------------------------------------------------------------------------------------

/// Node n's margin is margins[n] on row {1}; each node is a label.
LinearPredictor::Parts parts_of(LabelGraph graph, std::vector<float> margins,
                                std::vector<NodeId> candidates) {
  LinearPredictor::Parts parts;
  const std::uint32_t num_nodes = graph.num_nodes();
  parts.weights = WeightMatrix::dense(1, num_nodes, std::move(margins));
  parts.graph = std::move(graph);
  parts.label_of_node.resize(num_nodes);
  std::iota(parts.label_of_node.begin(), parts.label_of_node.end(), LabelId{0});
  parts.candidates = std::move(candidates);
  parts.num_labels = num_nodes;
  return parts;
}

/// At least one candidate, some leaves left out.
LinearPredictor::Parts random_parts(Random& random) {
  LabelGraph graph =
      testing::random_dag(2 + static_cast<std::uint32_t>(random.below(9)), 3, random);
  std::vector<float> margins;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    margins.push_back(static_cast<float>(random.normal()));
  }
  std::vector<NodeId> candidates;
  for (const NodeId leaf : graph.leaves()) {
    if (random.below(4) > 0) candidates.push_back(leaf);
  }
  if (candidates.empty()) candidates.push_back(graph.leaves().back());
  return parts_of(std::move(graph), std::move(margins), std::move(candidates));
}

struct Leaf {
  double best = kNever, sum = 0;  // log-probability of the best path; probability of all
  std::vector<NodeId> path;       // the best one
};

/// Each node's paths, one after the other.
std::vector<Leaf> all_paths(const LinearPredictor::Parts& parts, double scale) {
  const LabelGraph& graph = parts.graph;
  std::vector<NodeId> used;  // above a candidate
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    const auto below = graph.descendants(n);
    if (std::any_of(parts.candidates.begin(), parts.candidates.end(),
                    [&](NodeId c) { return contains(below, c); })) {
      used.push_back(n);
    }
  }
  std::vector<Leaf> leaves(graph.num_nodes());
  std::vector<NodeId> path;
  const std::function<void(std::span<const NodeId>, double)> visit =
      [&](std::span<const NodeId> nodes, double log) {
        double total = 0;
        for (const NodeId n : nodes) {
          if (contains(used, n)) total += std::exp(scale * parts.weights.at(0, n));
        }
        for (const NodeId n : nodes) {
          if (!contains(used, n)) continue;
          const double own = log + scale * parts.weights.at(0, n) - std::log(total);
          path.push_back(n);
          if (graph.is_leaf(n)) {
            leaves[n].sum += std::exp(own);
            if (own > leaves[n].best) leaves[n].path = path;
            leaves[n].best = std::max(leaves[n].best, own);
          }
          visit(graph.children(n), own);
          path.pop_back();
        }
      };
  visit(graph.roots(), 0);
  return leaves;
}

CsrMatrix one_row() {
  CsrMatrix X(1);
  X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
  return X;
}

std::vector<float> scores_of(const TopDownPredictor& predictor) {
  std::vector<float> scores(predictor.num_labels());
  predictor.scores(one_row(), 0, 1, scores);
  return scores;
}

TEST(TopDownGraph, a_score_is_that_of_the_best_path_and_probabilities_are_those_of_all) {
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    const LinearPredictor::Parts parts = random_parts(random);
    const double scale = std::exp(random.normal());
    const std::vector<Leaf> expected = all_paths(parts, scale);
    const TopDownPredictor all(parts, 0, scale);
    const std::vector<float> scores = scores_of(all);
    std::vector<float> logs(all.num_labels());
    TopDownPredictor(parts, 1, scale).probability_scores(one_row(), 0, 1, logs);
    double sum = 0;
    for (LabelId l = 0; l < all.num_labels(); ++l) {
      if (contains(parts.candidates, l)) {
        EXPECT_NEAR(scores[l], expected[l].best, 1e-5);
        EXPECT_NEAR(logs[l], std::log(expected[l].sum), 1e-5);
      } else {
        EXPECT_EQ(scores[l], kNever);
        EXPECT_EQ(logs[l], kNever);
      }
      sum += std::exp(static_cast<double>(logs[l]));
    }
    EXPECT_NEAR(sum, 1, 1e-6);
    const int enough = static_cast<int>(parts.graph.num_nodes());
    EXPECT_EQ(scores_of(TopDownPredictor(parts, enough, scale)), scores);
  }
}

TEST(TopDownGraph, an_explanation_names_the_nodes_of_the_best_path) {
  Random random(6);
  const CsrMatrix X = one_row();
  for (int trial = 0; trial < 100; ++trial) {
    const LinearPredictor::Parts parts = random_parts(random);
    const std::vector<Leaf> expected = all_paths(parts, TopDownPredictor::kDefaultScale);
    const TopDownPredictor greedy(parts, 1);
    for (const NodeId leaf : parts.candidates) {
      const Explanation explanation = greedy.explain(X.row(0), leaf, 1);
      std::vector<NodeId> path;
      for (const auto& node : explanation.nodes) path.push_back(node.label);
      EXPECT_EQ(path, expected[leaf].path);
      EXPECT_NEAR(explanation.score, expected[leaf].best, 1e-6);
    }
  }
}

TEST(TopDownGraph, of_two_best_paths_that_of_the_lower_parent_is_named) {
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  const TopDownPredictor predictor(parts_of(LabelGraph::build(4, edges), {0, 1, 1, 0}, {3}), 0);
  const CsrMatrix X = one_row();
  EXPECT_EQ(predictor.explain(X.row(0), 3, 1).nodes[1].label, 1U);
}

TEST(TopDownGraph, a_beam_counts_nodes_and_not_paths) {
  // 0 above 1 and 2, both above 3; 1 above 4. The best two paths both end at 3.
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}, {1, 4}};
  const auto parts = parts_of(LabelGraph::build(5, edges), {0, 0, 0, 1, 0}, {3, 4});
  const std::vector<float> scores = scores_of(TopDownPredictor(parts, 2));
  EXPECT_EQ(scores, scores_of(TopDownPredictor(parts, 0)));
  EXPECT_THAT(scores[4], Gt(kNever));
}

TEST(TopDownGraph, the_fitted_scale_has_the_largest_likelihood_of_all_paths) {
  // Leaf 5 is below 1 and 2, leaf 6 below 2 and the root.
  const std::vector<LabelEdge> edges{{0, 1}, {0, 2}, {1, 4}, {1, 5},
                                     {2, 5}, {2, 6}, {0, 6}, {2, 3}};
  const auto parts = parts_of(LabelGraph::build(7, edges),
                              {0, -0.3F, 0.5F, 0.2F, -0.4F, 0.6F, -0.1F}, {3, 4, 5, 6});
  const TopDownPredictor predictor(parts, 0);
  CsrMatrix X(1);
  LabelSets leaves;
  for (const LabelId leaf : {5, 5, 5, 5, 5, 3, 4, 6}) {
    X.append_row(std::vector<FeatureId>{0}, std::vector<float>{1});
    leaves.append(std::vector<LabelId>{leaf});
  }
  const auto likelihood = [&](double scale) {
    const std::vector<Leaf> of = all_paths(parts, scale);
    return 5 * std::log(of[5].sum) + std::log(of[3].sum) + std::log(of[4].sum) +
           std::log(of[6].sum);
  };
  Executor one(1), three(3);
  const double scale = predictor.fitted_scale(X, leaves, {}, one);
  EXPECT_EQ(predictor.fitted_scale(X, leaves, {}, three), scale);
  for (const double factor : {0.5, 0.9, 0.999, 1.001, 1.1, 2.0}) {
    EXPECT_GT(likelihood(scale), likelihood(factor * scale)) << factor;
  }
}

TEST(TopDownGraph, a_node_without_rows_below_two_parents_changes_nothing) {
  Hierarchy dag = testing::groups();
  const LabelId extra = dag.codec.add("extra");
  for (const char* parent : {"a", "b"}) dag.edges.push_back({*dag.codec.find(parent), extra});
  const Hierarchy tree = testing::groups();
  const Examples raw = testing::grouped_rows(150, 3);
  for (const char* beam : {"0", "1", "2"}) {
    const ModelParts of_tree = testing::train("top-down-svm", {{"beam", beam}}, raw, &tree);
    const ModelParts of_dag = testing::train("top-down-svm", {{"beam", beam}}, raw, &dag);
    std::vector<float> expected(of_tree.labels.size()), found(of_dag.labels.size());
    for (std::size_t i = 0; i < raw.num_rows(); ++i) {
      of_tree.rows().scores(raw.X, i, i + 1, expected);
      of_dag.rows().scores(raw.X, i, i + 1, found);
      for (LabelId l = 0; l < expected.size(); ++l) {
        const float score = found[*of_dag.labels.find(of_tree.labels.name(l))];
        if (expected[l] == kNever) {
          EXPECT_EQ(score, kNever);
        } else {
          EXPECT_NEAR(score, expected[l], 1e-5);
        }
      }
    }
  }
}

// The method --------------------------------------------------------------------------------------

TEST(TopDownGraph, is_learned_from_one_label_and_several_on_any_number_of_threads) {
  const Hierarchy dag = testing::overlapping_groups();
  const Examples raw = testing::multi_label_rows(200, false);
  for (const char* decision : {"auto", "rcut"}) {
    const OptionValues options{{"C", "10"}, {"beam", "0"}, {"decision", decision}};
    const ModelParts model = testing::train("top-down-svm", options, raw, &dag);
    EXPECT_EQ(serialize_model(testing::train("top-down-svm", options, raw, &dag, 3)),
              serialize_model(model));
    if (std::string_view(decision) == "auto") {
      EXPECT_GT(testing::accuracy(model, raw), 0.9);
    }
  }
}

TEST(TopDownGraph, a_node_is_trained_on_the_rows_below_all_its_parents) {
  const Hierarchy dag = testing::overlapping_groups();  // x and y below u, y and z below v
  const Examples raw = testing::multi_label_rows(120, false);
  const OptionValues options{{"tolerance", "1e-7"}, {"loss", "hinge"}};
  const ModelParts model = testing::train("top-down-svm", options, raw, &dag);
  const auto weights_of = [](const Predictor& predictor) -> const WeightMatrix& {
    const auto* top_down = dynamic_cast<const TopDownPredictor*>(&predictor);
    return top_down != nullptr ? top_down->parts().weights : predictor.linear()->parts().weights;
  };
  const auto expect_trained_on = [&](const char* name, const std::vector<const char*>& labels) {
    Examples below;
    below.source = "below";
    below.codec = raw.codec;
    below.X = CsrMatrix(3);
    for (std::size_t i = 0; i < raw.num_rows(); ++i) {
      const auto is_one = [&](const char* l) {
        return contains(raw.labels[i], *raw.codec.find(l));
      };
      if (std::none_of(labels.begin(), labels.end(), is_one)) continue;
      below.X.append_row(raw.X.row(i).columns, raw.X.row(i).values);
      below.labels.append(raw.labels[i]);
    }
    const ModelParts flat = testing::train("flat-svm", options, below, nullptr);
    const LabelId node = *model.labels.find(name), label = *flat.labels.find(name);
    for (FeatureId j = 0; j < 4; ++j) {
      EXPECT_NEAR(weights_of(*model.predictor).at(j, node),
                  weights_of(*flat.predictor).at(j, label), 1e-3)
          << name;
    }
  };
  expect_trained_on("x", {"x", "y"});
  expect_trained_on("y", {"x", "y", "z"});
  expect_trained_on("z", {"y", "z"});
}

}  // namespace
}  // namespace margrove
