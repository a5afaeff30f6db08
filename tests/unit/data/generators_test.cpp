#include "data/generators.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "data/csr_operations.hpp"
#include "files.hpp"
#include "margrove/hierarchy_reader.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {
namespace {

LabelGraph graph_of(const Hierarchy& h) {
  std::vector<LabelEdge> edges;
  for (const auto& edge : h.edges) edges.push_back({edge.parent, edge.child});
  return LabelGraph::build(static_cast<std::uint32_t>(h.codec.size()), edges);
}

std::vector<double> label_shares(const Dataset& data) {
  std::vector<double> shares(data.codec.size(), 0.0);
  for (std::size_t i = 0; i < data.labels.num_rows(); ++i) {
    shares[data.labels[i][0]] += 1.0 / static_cast<double>(data.labels.num_rows());
  }
  return shares;
}

TEST(Balanced, is_a_complete_binary_tree_of_15_nodes) {
  const GeneratedData g = generate_balanced({.num_rows = 50, .num_features = 10});
  const LabelGraph graph = graph_of(g.hierarchy);
  EXPECT_EQ(graph.num_nodes(), 15U);
  EXPECT_TRUE(graph.is_tree());
  EXPECT_EQ(graph.roots().size(), 1U);
  ASSERT_EQ(graph.leaves().size(), 8U);
  for (const NodeId leaf : graph.leaves()) {
    EXPECT_EQ(graph.depth(leaf), 3U);
    EXPECT_TRUE(g.data.codec.find(g.hierarchy.codec.name(leaf)).has_value());
  }
  EXPECT_EQ(g.data.X.num_rows(), 50U);
  EXPECT_EQ(g.data.X.num_columns(), 10U);
  EXPECT_TRUE(g.data.labels.single_label());
}

TEST(Balanced, rows_are_standard_normal_and_every_leaf_occurs) {
  const GeneratedData g = generate_balanced({.num_rows = 2000, .num_features = 40});
  double sum = 0;
  double squares = 0;
  for (const float x : g.data.X.view().values()) {
    sum += x;
    squares += static_cast<double>(x) * x;
  }
  const auto count = static_cast<double>(g.data.X.num_nonzeros());
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(squares / count, 1, 0.03);
  for (const double share : label_shares(g.data)) EXPECT_GT(share, 0.02);
}

/// At depth 1 the label is the sign of one linear function, which the class means recover.
TEST(Balanced, labels_are_linear_in_the_rows) {
  const GeneratedData g = generate_balanced({.num_rows = 500, .num_features = 20, .depth = 1});
  const auto& X = g.data.X;
  std::vector<double> mean(20, 0.0);
  for (std::size_t i = 0; i < 500; ++i) {
    const double sign = g.data.labels[i][0] == 0 ? 1 : -1;
    for (std::size_t j = 0; j < 20; ++j) mean[j] += sign * X.row(i).values[j];
  }
  int agree = 0;
  for (std::size_t i = 0; i < 500; ++i) {
    double score = 0;
    for (std::size_t j = 0; j < 20; ++j) score += mean[j] * X.row(i).values[j];
    agree += (score > 0) == (g.data.labels[i][0] == 0) ? 1 : 0;
  }
  EXPECT_GT(agree, 450);
}

TEST(Unbalanced, grows_in_one_direction) {
  const GeneratedData g = generate_unbalanced({.num_rows = 10, .num_features = 10});
  const LabelGraph graph = graph_of(g.hierarchy);
  EXPECT_EQ(graph.num_nodes(), 21U);
  EXPECT_TRUE(graph.is_tree());
  EXPECT_EQ(graph.leaves().size(), 11U);
  std::vector<std::uint32_t> depths;
  for (const NodeId leaf : graph.leaves()) depths.push_back(graph.depth(leaf));
  EXPECT_THAT(depths, ::testing::UnorderedElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10));
}

TEST(Unbalanced, rows_have_unit_norm_and_shares_halve) {
  const GeneratedData g = generate_unbalanced({.num_rows = 6000, .num_features = 200});
  for (std::size_t i = 0; i < 100; ++i) EXPECT_NEAR(squared_norm(g.data.X.row(i)), 1, 1e-5);
  const std::vector<double> shares = label_shares(g.data);
  EXPECT_NEAR(shares[0], 0.5, 0.05);
  EXPECT_NEAR(shares[1], 0.25, 0.06);
  EXPECT_NEAR(shares[2], 0.125, 0.05);
}

TEST(Generators, the_same_seed_gives_the_same_rows_in_parts_or_at_once) {
  for (const auto generate : {generate_balanced, generate_unbalanced}) {
    const auto values = [&](const GeneratorOptions& options) {
      const GeneratedData g = generate(options);
      std::vector<float> all(g.data.X.view().values().begin(), g.data.X.view().values().end());
      for (std::size_t i = 0; i < g.data.labels.num_rows(); ++i) {
        all.push_back(static_cast<float>(g.data.labels[i][0]));
      }
      return all;
    };
    const auto whole = generate({.num_rows = 30, .num_features = 7, .seed = 3});
    const auto tail = generate({.num_rows = 10, .first_row = 20, .num_features = 7, .seed = 3});
    for (std::size_t i = 0; i < 10; ++i) {
      EXPECT_THAT(tail.data.X.row(i).values,
                  ::testing::ElementsAreArray(whole.data.X.row(20 + i).values));
      EXPECT_EQ(tail.data.labels[i][0], whole.data.labels[20 + i][0]);
    }
    EXPECT_EQ(values({.num_rows = 9, .seed = 3}), values({.num_rows = 9, .seed = 3}));
    EXPECT_NE(values({.num_rows = 9, .seed = 3}), values({.num_rows = 9, .seed = 4}));
  }
}

TEST(Generators, options_out_of_range_throw) {
  EXPECT_EQ(testing::message_of<InvalidOption>([] { generate_balanced({.num_rows = 0}); }),
            "option num_rows is 0, but must be >= 1");
}

}  // namespace
}  // namespace margrove
