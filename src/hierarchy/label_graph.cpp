#include "margrove/label_graph.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <numeric>
#include <string>
#include <unordered_set>

#include "hierarchy/graph_operations.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

// Counting sort of the edges by `from`; each node's neighbours ascending.
NodeLists adjacency(std::uint32_t num_nodes, std::span<const LabelEdge> edges,
                    NodeId LabelEdge::*from, NodeId LabelEdge::*to) {
  NodeLists result{{}, std::vector<NodeId>(edges.size())};
  const auto pairs = [&](const auto& visit) {
    for (const auto& edge : edges) visit(edge.*from, edge.*to);
  };
  detail::group_by_key(num_nodes, pairs, result.pointers,
                       [&](std::size_t place, NodeId node) { result.items[place] = node; });
  for (NodeId n = 0; n < num_nodes; ++n) std::ranges::sort(result[n]);
  return result;
}

constexpr std::uint32_t kUnreached = ~std::uint32_t{0};

// Longest path from a root in edges; kUnreached for nodes on a cycle or below one.
std::vector<std::uint32_t> depths(const NodeLists& parents, const NodeLists& children) {
  const auto num_nodes = static_cast<NodeId>(parents.size());
  std::vector<std::uint32_t> depth(num_nodes, kUnreached);
  std::vector<std::size_t> open_parents(num_nodes);
  std::vector<NodeId> ready;
  ready.reserve(num_nodes);
  for (NodeId n = 0; n < num_nodes; ++n) {
    open_parents[n] = parents[n].size();
    if (open_parents[n] == 0) ready.push_back(n);
  }
  for (std::size_t k = 0; k < ready.size(); ++k) {
    const NodeId n = ready[k];
    std::uint32_t longest = 0;
    for (const NodeId p : parents[n]) longest = std::max(longest, depth[p] + 1);
    depth[n] = longest;
    for (const NodeId c : children[n]) {
      if (--open_parents[c] == 0) ready.push_back(c);
    }
  }
  return depth;
}

// Every node without a depth has a parent without one, so that a walk upwards reaches a cycle.
std::vector<NodeId> cycle_among(const NodeLists& parents, std::span<const std::uint32_t> depth) {
  const auto unreached = [&](NodeId n) { return depth[n] == kUnreached; };
  const auto start = std::find(depth.begin(), depth.end(), kUnreached);
  if (start == depth.end()) return {};
  std::vector<std::size_t> step_of(depth.size(), 0);  // 0: not yet walked over
  std::vector<NodeId> walk;
  auto n = static_cast<NodeId>(start - depth.begin());
  while (step_of[n] == 0) {
    walk.push_back(n);
    step_of[n] = walk.size();
    n = *std::find_if(parents[n].begin(), parents[n].end(), unreached);
  }
  std::vector<NodeId> cycle(walk.begin() + static_cast<std::ptrdiff_t>(step_of[n] - 1), walk.end());
  std::reverse(cycle.begin(), cycle.end());
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  return cycle;
}

std::string edge_text(const LabelEdge& edge) {
  return concat("edge ", edge.parent, " -> ", edge.child);
}

std::string cycle_text(std::span<const NodeId> cycle) {
  constexpr std::size_t kLongest = 20;  // nodes worth reading in a message
  std::string text;
  for (std::size_t k = 0; k < std::min(cycle.size(), kLongest); ++k) {
    text += concat(cycle[k], " -> ");
  }
  if (cycle.size() > kLongest) text += concat("... (", cycle.size() - kLongest, " more) -> ");
  return text + concat(cycle.front());
}

void require_simple_edges(std::uint32_t num_nodes, std::span<const LabelEdge> edges) {
  for (const auto& edge : edges) {
    for (const NodeId n : {edge.parent, edge.child}) {
      require(n < num_nodes, "label graph: ", edge_text(edge), " names node ", n,
              ", but nodes must be below ", num_nodes);
    }
    require(edge.parent != edge.child, "label graph: ", edge_text(edge),
            " is a self-edge, but a node must not be its own parent");
  }
}

/// The nodes that a walk has met: a hash set while they are few, as in most walks, and later a bit
/// for each node of the graph.
class VisitedNodes {
 public:
  explicit VisitedNodes(std::uint32_t num_nodes) : num_nodes_(num_nodes) {}

  /// False if n was there.
  bool insert(NodeId n) {
    if (!bits_.empty()) return set_bit(n);
    if (!few_.insert(n).second) return false;
    if (few_.size() > num_nodes_ / kNodesPerVisit) {
      bits_.resize(num_nodes_ / 64 + std::size_t{1});
      for (const NodeId m : few_) set_bit(m);
    }
    return true;
  }

  /// Sorts the nodes that were inserted, each once.
  void sort(std::vector<NodeId>& nodes) const {
    if (bits_.empty()) return std::sort(nodes.begin(), nodes.end());
    nodes.clear();
    for (std::size_t word = 0; word < bits_.size(); ++word) {
      for (std::uint64_t left = bits_[word]; left != 0; left &= left - 1) {
        nodes.push_back(
            static_cast<NodeId>(64 * word + static_cast<std::size_t>(std::countr_zero(left))));
      }
    }
  }

 private:
  bool set_bit(NodeId n) {
    const std::uint64_t bit = std::uint64_t{1} << (n % 64);
    const bool is_new = (bits_[n / 64] & bit) == 0;
    bits_[n / 64] |= bit;
    return is_new;
  }

  // Bits of so many nodes are set to 0 faster than one node is inserted.
  static constexpr std::uint32_t kNodesPerVisit = 256;

  std::uint32_t num_nodes_;
  std::unordered_set<NodeId> few_;
  std::vector<std::uint64_t> bits_;
};

// A(n) or D(n): all nodes that `next` leads to from n, ascending, including n.
template <class Next>
std::vector<NodeId> closure(NodeId n, bool is_chain, std::uint32_t num_nodes, Next next) {
  std::vector<NodeId> found{n};
  VisitedNodes visited(num_nodes);
  if (!is_chain) visited.insert(n);
  for (std::size_t k = 0; k < found.size(); ++k) {
    for (const NodeId m : next(found[k])) {
      if (is_chain || visited.insert(m)) found.push_back(m);
    }
  }
  visited.sort(found);
  return found;
}

}  // namespace

LabelGraph LabelGraph::build(std::uint32_t num_nodes, std::span<const LabelEdge> edges) {
  require_simple_edges(num_nodes, edges);
  NodeLists parents = adjacency(num_nodes, edges, &LabelEdge::child, &LabelEdge::parent);
  NodeLists children = adjacency(num_nodes, edges, &LabelEdge::parent, &LabelEdge::child);
  for (NodeId n = 0; n < num_nodes; ++n) {
    const auto repeat = std::adjacent_find(children[n].begin(), children[n].end());
    require(repeat == children[n].end(),
            "label graph: ", edge_text({n, repeat == children[n].end() ? n : *repeat}),
            " repeats, but each edge must be given once");
  }
  LabelGraph graph;
  graph.depth_ = depths(parents, children);
  const auto cycle = cycle_among(parents, graph.depth_);
  if (!cycle.empty()) {
    throw InvalidInput(concat("label graph: ", edge_text({cycle.back(), cycle.front()}),
                              " closes the cycle ", cycle_text(cycle),
                              ", but a hierarchy must not have cycles"));
  }
  graph.num_nodes_ = num_nodes;
  for (NodeId n = 0; n < num_nodes; ++n) {
    if (parents[n].size() > 1) graph.is_tree_ = false;
    if (parents[n].empty()) graph.roots_.push_back(n);
    if (children[n].empty()) graph.leaves_.push_back(n);
  }
  // Counting sort by depth keeps the numbers ascending within a level.
  std::vector<std::size_t> level_end;
  for (const auto d : graph.depth_) {
    if (d >= level_end.size()) level_end.resize(d + std::size_t{1}, 0);
    ++level_end[d];
  }
  std::exclusive_scan(level_end.begin(), level_end.end(), level_end.begin(), std::size_t{0});
  graph.order_.resize(num_nodes);
  for (NodeId n = 0; n < num_nodes; ++n) graph.order_[level_end[graph.depth_[n]]++] = n;
  graph.parents_ = std::move(parents.items);
  graph.parent_pointers_ = std::move(parents.pointers);
  graph.children_ = std::move(children.items);
  graph.child_pointers_ = std::move(children.pointers);
  return graph;
}

LabelGraph LabelGraph::flat(std::uint32_t num_nodes) { return build(num_nodes, {}); }

std::vector<NodeId> LabelGraph::ancestors(NodeId n) const {
  return closure(n, is_tree_, num_nodes_, [this](NodeId m) { return parents(m); });
}

std::vector<NodeId> LabelGraph::descendants(NodeId n) const {
  return closure(n, is_tree_, num_nodes_, [this](NodeId m) { return children(m); });
}

void require_tree(const LabelGraph& graph, std::string_view where) {
  require(graph.num_nodes() > 0, where, ": the graph has 0 nodes, but must have some");
  require(graph.is_tree(), where,
          ": the graph has a node with several parents, but must be a tree");
}

NodeLists ancestor_sets(const LabelGraph& graph, std::span<const NodeId> of) {
  std::vector<bool> wanted(graph.num_nodes(), false);
  for (const NodeId n : of) wanted[n] = true;
  NodeLists sets;
  sets.pointers.reserve(graph.num_nodes() + std::size_t{1});
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    sets.append_row(wanted[n] ? graph.ancestors(n) : std::vector<NodeId>());
  }
  return sets;
}

ListedAncestors::ListedAncestors(const LabelGraph& graph) {
  constexpr std::size_t kAlwaysListed = 1U << 20U;
  constexpr std::size_t kListedPerEdge = 64;  // the Gene Ontology of yeast takes 5
  const std::size_t most = kAlwaysListed + kListedPerEdge * (graph.num_nodes() + graph.num_edges());
  // Rows are made in topological order, each from its parents' rows, and then put in place.
  std::vector<std::size_t> begin(graph.num_nodes()), size(graph.num_nodes());
  std::vector<NodeId> pool, row;
  for (const NodeId n : graph.topological_order()) {
    row.assign(1, n);
    for (const NodeId p : graph.parents(n)) {
      const auto first = pool.begin() + static_cast<std::ptrdiff_t>(begin[p]);
      row.insert(row.end(), first, first + static_cast<std::ptrdiff_t>(size[p]));
    }
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    begin[n] = pool.size();
    size[n] = row.size();
    pool.insert(pool.end(), row.begin(), row.end());
    if (pool.size() > most) return;
  }
  listed_.pointers.reserve(graph.num_nodes() + std::size_t{1});
  listed_.items.reserve(pool.size());
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    listed_.append_row(std::span(pool).subspan(begin[n], size[n]));
  }
}

std::span<const NodeId> ListedAncestors::of(const LabelGraph& graph, NodeId n,
                                            std::vector<NodeId>& scratch) const {
  if (listed_.size() > 0) return listed_[n];
  scratch = graph.ancestors(n);
  return scratch;
}

LeafLabelled spawn_leaves(const LabelGraph& graph, const std::vector<bool>& carries_data) {
  require(carries_data.size() == graph.num_nodes(), "spawn_leaves: carries_data has ",
          carries_data.size(), " entries, but must have one per node, ", graph.num_nodes());
  LeafLabelled result;
  result.leaf_of_label.resize(graph.num_nodes());
  result.label_of_node.resize(graph.num_nodes());
  std::iota(result.leaf_of_label.begin(), result.leaf_of_label.end(), NodeId{0});
  std::iota(result.label_of_node.begin(), result.label_of_node.end(), NodeId{0});
  std::vector<LabelEdge> edges;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    for (const NodeId c : graph.children(n)) edges.push_back({n, c});
  }
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (!carries_data[n] || graph.is_leaf(n)) continue;
    const auto leaf = static_cast<NodeId>(result.label_of_node.size());
    edges.push_back({n, leaf});
    result.leaf_of_label[n] = leaf;
    result.label_of_node.push_back(n);
  }
  result.graph = LabelGraph::build(static_cast<std::uint32_t>(result.label_of_node.size()), edges);
  return result;
}

namespace {

/// Of a tree: how many leaves lie at each node or below.
std::vector<std::size_t> leaves_below(const LabelGraph& tree) {
  std::vector<std::size_t> count(tree.num_nodes(), 0);
  const auto order = tree.topological_order();
  for (auto n = order.rbegin(); n != order.rend(); ++n) {
    if (tree.is_leaf(*n)) count[*n] = 1;
    if (!tree.is_root(*n)) count[tree.parents(*n).front()] += count[*n];
  }
  return count;
}

}  // namespace

std::vector<NodeId> depth_first_order(const LabelGraph& graph) {
  struct Open {
    NodeId node;
    std::size_t num_left;  // children that are not visited yet, the first ones
  };
  std::vector<NodeId> order;  // children before their parents, until it is reversed
  std::vector<bool> is_visited(graph.num_nodes(), false);
  std::vector<Open> open;
  const auto enter = [&](NodeId n) {
    if (is_visited[n]) return;
    is_visited[n] = true;
    open.push_back({n, graph.children(n).size()});
  };
  const auto roots = graph.roots();
  for (auto root = roots.rbegin(); root != roots.rend(); ++root) {
    enter(*root);
    while (!open.empty()) {
      Open& last = open.back();
      if (last.num_left > 0) {
        enter(graph.children(last.node)[--last.num_left]);
      } else {
        order.push_back(last.node);
        open.pop_back();
      }
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<bool> above_every_leaf(const LabelGraph& graph) {
  std::vector<bool> common(graph.num_nodes(), false);
  const auto leaves = graph.leaves();
  if (graph.is_tree()) {
    const std::vector<std::size_t> count = leaves_below(graph);
    for (NodeId n = 0; n < graph.num_nodes(); ++n) common[n] = count[n] == leaves.size();
    return common;
  }
  // Those above some leaves are few, and most of them are above all.
  constexpr std::size_t kFirstLeaves = 32;
  std::vector<NodeId> candidates = graph.ancestors(leaves.front()), both;
  for (std::size_t k = 1; k < std::min(leaves.size(), kFirstLeaves); ++k) {
    const std::vector<NodeId> above = graph.ancestors(leaves[k]);
    both.clear();
    std::set_intersection(candidates.begin(), candidates.end(), above.begin(), above.end(),
                          std::back_inserter(both));
    candidates.swap(both);
  }
  // What is above a node that is above every leaf is so, too.
  std::sort(candidates.begin(), candidates.end(), [&](NodeId a, NodeId b) {
    return graph.depth(a) > graph.depth(b) || (graph.depth(a) == graph.depth(b) && a < b);
  });
  for (const NodeId n : candidates) {
    if (common[n]) continue;
    const auto below = graph.descendants(n);
    const auto num_leaves =
        std::count_if(below.begin(), below.end(), [&](NodeId m) { return graph.is_leaf(m); });
    if (static_cast<std::size_t>(num_leaves) != leaves.size()) continue;
    for (const NodeId a : graph.ancestors(n)) common[a] = true;
  }
  return common;
}

WithoutCommonRoots without_common_roots(const LabelGraph& graph) {
  std::vector<bool> common = above_every_leaf(graph);
  for (const NodeId leaf : graph.leaves()) common[leaf] = false;
  WithoutCommonRoots result;
  std::vector<NodeId> new_number(graph.num_nodes());
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (common[n]) continue;
    new_number[n] = static_cast<NodeId>(result.kept.size());
    result.kept.push_back(n);
  }
  std::vector<LabelEdge> edges;
  for (const NodeId n : result.kept) {
    for (const NodeId c : graph.children(n)) edges.push_back({new_number[n], new_number[c]});
  }
  result.graph = LabelGraph::build(static_cast<std::uint32_t>(result.kept.size()), edges);
  return result;
}

}  // namespace margrove
