#include "margrove/task_loss.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margrove/errors.hpp"
#include "outputs/path/path_loss.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(PathDistance, equals_the_weight_of_the_symmetric_difference_on_trees_and_dags) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const LabelGraph graph = testing::random_graph(static_cast<std::uint32_t>(2 + seed % 9),
                                                   seed % 2 == 0 ? 0.0 : 0.5, random);
    std::vector<double> weights;
    for (NodeId n = 0; n < graph.num_nodes(); ++n) weights.push_back(random.uniform());
    const PathDistance distance(graph, weights);
    std::vector<double> row(graph.leaves().size());
    for (const NodeId b : graph.leaves()) {
      distance.from(b, row);
      for (std::size_t k = 0; k < row.size(); ++k) {
        const NodeId a = graph.leaves()[k];
        const double expected = testing::brute_distance(graph, weights, a, b);
        EXPECT_NEAR(distance(a, b), expected, 1e-14) << "seed " << seed;
        EXPECT_NEAR(row[k], expected, 1e-14) << "seed " << seed;
        EXPECT_DOUBLE_EQ(distance(a, b), distance(b, a));
      }
    }
  }
}

TEST(PathDistance, works_below_several_roots) {
  const LabelEdge edges[] = {{0, 1}, {0, 2}, {3, 4}};
  const LabelGraph graph = LabelGraph::build(6, edges);  // 5 alone is root and leaf
  const PathDistance distance(graph, std::vector<double>{1, 2, 4, 8, 16, 32});
  EXPECT_EQ(distance(1, 2), 6);
  EXPECT_EQ(distance(1, 4), 27);
  EXPECT_EQ(distance(4, 5), 56);
  std::vector<double> row(4);
  distance.from(4, row);
  EXPECT_EQ(row, (std::vector<double>{27, 29, 0, 56}));
}

TEST(PathDistance, wrong_weights_throw) {
  const LabelGraph graph = LabelGraph::flat(2);
  EXPECT_THAT(([&] { PathDistance(graph, std::vector<double>{1}); }),
              ThrowsMessage<InvalidInput>(HasSubstr("1 node weights, but must be 2")));
  EXPECT_THAT(([&] {
                PathDistance(graph, std::vector<double>{1, -1});
              }),
              ThrowsMessage<InvalidInput>(HasSubstr("weight of node 1 is -1, but must be")));
}

TEST(PathLoss, hamming_counts_nodes_whatever_alpha) {
  const LabelEdge edges[] = {{0, 1}, {0, 2}, {2, 3}, {2, 4}};
  const LabelGraph graph = LabelGraph::build(5, edges);
  const std::vector<double> alpha{0.25, 0.75, 0.5, 0.25, 0.25};
  const PathLoss hamming(TaskLoss::hamming, graph, alpha);
  const PathLoss normalized(TaskLoss::normalized, graph, alpha);
  EXPECT_EQ(hamming(1, 3), 3);
  EXPECT_EQ(hamming(3, 4), 2);
  EXPECT_DOUBLE_EQ(normalized(1, 3), std::sqrt(1.5));
  EXPECT_EQ(normalized(4, 4), 0);
  const PathLoss zero_one(TaskLoss::zero_one, graph, alpha);
  EXPECT_EQ(zero_one(1, 3), 1);
  EXPECT_EQ(zero_one(3, 3), 0);
}

TEST(PathLoss, leaves_only_weights_make_every_mistake_cost_sqrt_two) {
  Random random(1);
  const LabelGraph graph = testing::random_graph(12, 0.3, random);
  std::vector<double> alpha(12, 0.0);
  for (const NodeId leaf : graph.leaves()) alpha[leaf] = 1.0;
  const PathLoss loss(TaskLoss::normalized, graph, alpha);
  for (const NodeId a : graph.leaves()) {
    for (const NodeId b : graph.leaves()) {
      EXPECT_DOUBLE_EQ(loss(a, b), a == b ? 0.0 : std::sqrt(2.0));
    }
  }
}

TEST(TaskLoss, names_parse_back_and_others_throw) {
  for (const TaskLoss loss : {TaskLoss::hamming, TaskLoss::normalized, TaskLoss::zero_one}) {
    EXPECT_EQ(parse_task_loss(to_string(loss)), loss);
  }
  EXPECT_THAT([] { parse_task_loss("hinge"); },
              ThrowsMessage<InvalidOption>(
                  HasSubstr("'hinge', but must be hamming, normalized or zero-one")));
}

}  // namespace
}  // namespace margrove
