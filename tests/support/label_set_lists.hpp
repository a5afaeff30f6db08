#pragma once
// All label sets of a small graph, by code that the searches of the library do not use.

#include <cstddef>
#include <set>
#include <vector>

#include "margrove/label_graph.hpp"

namespace margrove::testing {

/// Every union of A(l) over a non-empty set of leaves l, each ascending; sorted.
inline std::vector<std::vector<NodeId>> all_label_sets(const LabelGraph& graph) {
  const auto leaves = graph.leaves();
  std::set<std::vector<NodeId>> sets;
  for (std::size_t bits = 1; bits < (std::size_t{1} << leaves.size()); ++bits) {
    std::set<NodeId> nodes;
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      if (!((bits >> k) & 1U)) continue;
      for (const NodeId n : graph.ancestors(leaves[k])) nodes.insert(n);
    }
    sets.emplace(nodes.begin(), nodes.end());
  }
  return {sets.begin(), sets.end()};
}

inline double score_of(const std::vector<NodeId>& nodes, const std::vector<double>& scores) {
  double sum = 0;
  for (const NodeId n : nodes) sum += scores[n];
  return sum;
}

}  // namespace margrove::testing
