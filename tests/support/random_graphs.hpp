#pragma once
// Label graphs for tests: all small ones, and random ones.

#include <algorithm>
#include <vector>

#include "base/random.hpp"
#include "margrove/label_graph.hpp"

namespace margrove::testing {

/// Node n > 0 has a parent with a lower number, or none with probability `root_share`.
inline LabelGraph random_tree(std::uint32_t num_nodes, double root_share, Random& random) {
  std::vector<LabelEdge> edges;
  for (NodeId n = 1; n < num_nodes; ++n) {
    if (random.uniform() >= root_share) edges.push_back({NodeId(random.below(n)), n});
  }
  return LabelGraph::build(num_nodes, edges);
}

/// Each node takes up to `most_parents` parents among the nodes before it in a random order, so
/// that numbers are not topological.
inline LabelGraph random_dag(std::uint32_t num_nodes, std::uint32_t most_parents, Random& random) {
  std::vector<NodeId> name(num_nodes);
  for (NodeId n = 0; n < num_nodes; ++n) name[n] = n;
  random.shuffle(std::span(name));
  std::vector<LabelEdge> edges;
  for (NodeId n = 1; n < num_nodes; ++n) {
    const auto wanted = random.below(most_parents + std::uint64_t{1});
    std::vector<NodeId> parents;
    for (std::uint64_t k = 0; k < wanted; ++k) parents.push_back(NodeId(random.below(n)));
    std::sort(parents.begin(), parents.end());
    parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
    for (const NodeId p : parents) edges.push_back({name[p], name[n]});
  }
  return LabelGraph::build(num_nodes, edges);
}

/// Calls visit(graph) for every DAG on [0, num_nodes) whose numbers are topological; up to renaming
/// these are all DAGs. 2^(n(n-1)/2) calls: 32,768 for 6 nodes.
template <class Visit>
void for_each_dag(std::uint32_t num_nodes, Visit visit) {
  std::vector<LabelEdge> all;
  for (NodeId p = 0; p < num_nodes; ++p) {
    for (NodeId c = p + 1; c < num_nodes; ++c) all.push_back({p, c});
  }
  std::vector<LabelEdge> edges;
  for (std::uint64_t chosen = 0; chosen < (std::uint64_t{1} << all.size()); ++chosen) {
    edges.clear();
    for (std::size_t k = 0; k < all.size(); ++k) {
      if ((chosen >> k) & 1U) edges.push_back(all[k]);
    }
    visit(LabelGraph::build(num_nodes, edges));
  }
}

}  // namespace margrove::testing
