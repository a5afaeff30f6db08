#include "label_sets/ranked_dag_label_sets.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.hpp"
#include "label_set_lists.hpp"

namespace margrove {
namespace {

using Nodes = std::vector<NodeId>;
using testing::all_label_sets;
using testing::score_of;

TEST(RankedDagLabelSets, are_all_label_sets_by_descending_score) {
  Random random(5);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const auto size = static_cast<std::uint32_t>(1 + random.below(12));
    std::vector<LabelEdge> edges;
    for (NodeId n = 1; n < size; ++n) {
      const auto first = static_cast<NodeId>(random.below(n));
      const auto second = static_cast<NodeId>(random.below(n));
      if (random.below(4) > 0) edges.push_back({first, n});
      if (second != first && random.below(2) > 0) edges.push_back({second, n});
    }
    const LabelGraph graph = LabelGraph::build(size, edges);
    std::vector<double> scores(size);
    // Whole numbers have ties.
    for (double& s : scores)
      s = round % 2 ? random.normal() : static_cast<double>(random.below(5)) - 2.0;
    const LabelSetInference inference(graph);
    const NodeLists above = ancestor_sets(graph, graph.leaves());
    LabelSetInference::Workspace workspace;
    RankedDagLabelSets ranked(inference, graph.leaves(), above, scores, workspace);
    std::vector<Nodes> sets;
    Nodes nodes;
    while (ranked.next(nodes)) sets.push_back(nodes);
    EXPECT_FALSE(ranked.next(nodes)) << "what is over stays over";
    for (std::size_t k = 1; k < sets.size(); ++k) {
      EXPECT_GE(score_of(sets[k - 1], scores), score_of(sets[k], scores) - 1e-12) << "rank " << k;
    }
    std::sort(sets.begin(), sets.end());
    EXPECT_EQ(sets, all_label_sets(graph));
  }
}

}  // namespace
}  // namespace margrove
