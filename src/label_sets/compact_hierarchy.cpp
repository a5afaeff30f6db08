#include "label_sets/compact_hierarchy.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "label_sets/label_set_core.hpp"

namespace margrove::detail {
namespace {

// One round of merging inner nodes with their only child. Returns false if there was none.
bool merge_only_children(LabelGraph& graph, std::vector<std::uint32_t>& class_of) {
  std::vector<std::uint32_t> target(graph.num_nodes());
  std::iota(target.begin(), target.end(), std::uint32_t{0});
  bool any = false;
  const auto order = graph.topological_order();
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (graph.children(*it).size() != 1) continue;
    target[*it] = target[graph.children(*it)[0]];
    any = true;
  }
  if (!any) return false;
  std::vector<std::uint32_t> number(graph.num_nodes(), kNoNode);
  std::uint32_t next = 0;
  for (NodeId n = 0; n < graph.num_nodes();
       ++n) {  // classes by their lowest node, as ties go there
    if (number[target[n]] == kNoNode) number[target[n]] = next++;
  }
  std::vector<LabelEdge> edges;
  for (const NodeId n : order) {
    for (const NodeId c : graph.children(n)) {
      const LabelEdge edge{number[target[n]], number[target[c]]};
      if (edge.parent != edge.child) edges.push_back(edge);
    }
  }
  const auto key = [](const LabelEdge& e) { return std::pair(e.parent, e.child); };
  std::sort(edges.begin(), edges.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  for (std::uint32_t& k : class_of) k = number[target[k]];
  graph = LabelGraph::build(next, edges);
  return true;
}

// The graph without the edges p -> c for which another parent of c lies below p.
LabelGraph without_implied_edges(const LabelGraph& graph) {
  std::vector<LabelEdge> edges;
  std::vector<char> above(graph.num_nodes(), 0);
  for (NodeId c = 0; c < graph.num_nodes(); ++c) {
    const auto parents = graph.parents(c);
    if (parents.size() == 1) edges.push_back({parents[0], c});
    if (parents.size() <= 1) continue;
    std::vector<NodeId> marked;
    const auto mark_parents = [&](NodeId n) {
      for (const NodeId a : graph.parents(n)) {
        if (above[a]) continue;
        above[a] = 1;
        marked.push_back(a);
      }
    };
    for (const NodeId p : parents) mark_parents(p);
    for (std::size_t k = 0; k < marked.size(); ++k) mark_parents(marked[k]);
    for (const NodeId p : parents) {
      if (!above[p]) edges.push_back({p, c});
    }
    for (const NodeId a : marked) above[a] = 0;
  }
  return LabelGraph::build(graph.num_nodes(), edges);
}

}  // namespace

CompactHierarchy::CompactHierarchy(const LabelGraph& graph) {
  std::vector<LabelEdge> edges;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (graph.is_root(n)) edges.push_back({graph.num_nodes(), n});
    for (const NodeId c : graph.children(n)) edges.push_back({n, c});
  }
  LabelGraph compact = LabelGraph::build(graph.num_nodes() + 1, edges);
  class_of.resize(graph.num_nodes() + std::size_t{1});
  std::iota(class_of.begin(), class_of.end(), std::uint32_t{0});
  do {
    compact = without_implied_edges(compact);
  } while (merge_only_children(compact, class_of));
  is_tree = compact.is_tree();

  const auto order = compact.topological_order();
  std::vector<std::uint32_t> number(compact.num_nodes());
  for (std::uint32_t k = 0; k < compact.num_nodes(); ++k) number[order[k]] = k;
  for (std::uint32_t& k : class_of) k = number[k];
  class_of.pop_back();  // that of the node above the roots
  for (const NodeId n : order) {
    for (const NodeId p : compact.parents(n)) parents.items.push_back(number[p]);
    for (const NodeId c : compact.children(n)) children.items.push_back(number[c]);
    const auto end = children.items.end();
    std::sort(end - static_cast<std::ptrdiff_t>(compact.children(n).size()), end);
    parents.end_row();
    children.end_row();
  }
  std::vector<char> is_above(size(), 0);
  for (std::uint32_t k = size(); k-- > 0;) {
    if (parents[k].size() > 1) is_above[k] = 1;
    if (!is_above[k]) continue;
    for (const std::uint32_t p : parents[k]) is_above[p] = 1;
  }
  for (std::uint32_t k = 0; k < size(); ++k) {
    if (parents[k].size() > 1) shared.push_back(k);
    if (is_above[k]) above_shared.push_back(k);
    if (!is_above[k] && k > 0 && is_above[parents[k][0]]) beside.push_back(k);
  }
}

}  // namespace margrove::detail
