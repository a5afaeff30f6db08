#include "recursive/node_precision.hpp"

#include <algorithm>
#include <cmath>

#include "hierarchy/graph_operations.hpp"
#include "margrove/errors.hpp"
#include "recursive/leaf_paths.hpp"

namespace margrove::detail {
namespace {

// Weights below this share of the largest are taken for zero.
constexpr double kNegligible = 1e-10;
constexpr std::uint32_t kNone = ~std::uint32_t{0};

/// A(n) of the kept nodes, by their numbers here.
using Closed = std::vector<std::vector<std::uint32_t>>;

/// Sums of v over sets of nodes in terms of the w of kept nodes.
class Combinations {
 public:
  /// Keeps a reference.
  explicit Combinations(const Closed& closed) : closed_(closed), left_(closed.size(), 0.0) {}

  /// The sum over `nodes`. The w of the deepest node left includes all nodes above it.
  std::vector<NodePrecisionMatrix::Term> of(std::span<const std::uint32_t> nodes) {
    std::uint32_t end = 0;
    for (const std::uint32_t m : nodes) {
      left_[m] = 1.0;
      end = std::max(end, m + 1);
    }
    std::vector<NodePrecisionMatrix::Term> terms;
    for (std::uint32_t m = end; m-- > 0;) {
      const double factor = left_[m];
      if (factor == 0) continue;
      terms.push_back({m, factor});
      for (const std::uint32_t k : closed_[m]) left_[k] -= factor;  // that of m becomes zero
    }
    return terms;
  }

 private:
  const Closed& closed_;
  std::vector<double> left_;  // by node; zero between two calls
};

/// Kept nodes in topological order; fills `here`.
void number_kept_nodes(const AdditiveProblem& problem, const NodeLists& ancestors,
                       NodePrecisionMatrix& made, std::vector<std::uint32_t>& here) {
  const LabelGraph& graph = *problem.graph;
  const double largest = problem.alpha.empty() ? 0.0 : *std::ranges::max_element(problem.alpha);
  std::vector<bool> kept(graph.num_nodes(), false);
  for (const NodeId t : problem.targets) {
    double on_path = 0;
    for (const NodeId m : ancestors[t]) {
      kept[m] = problem.alpha[m] > kNegligible * largest;
      on_path += problem.alpha[m];
    }
    require(on_path > 0, "joint_newton: the weights on the path of node ", t, " are all 0");
  }
  here.assign(graph.num_nodes(), kNone);
  for (const NodeId n : graph.topological_order()) {
    if (!kept[n]) continue;
    here[n] = static_cast<std::uint32_t>(made.original.size());
    made.original.push_back(n);
    made.alpha.push_back(problem.alpha[n]);
  }
}

/// The kept ancestors of each kept node.
Closed closed_sets(const AdditiveProblem& problem, const NodePrecisionMatrix& made,
                   const std::vector<std::uint32_t>& here) {
  const NodeLists ancestors = ancestor_sets(*problem.graph, made.original);
  Closed closed;
  for (const NodeId n : made.original) {
    auto& own = closed.emplace_back();
    for (const NodeId m : ancestors[n]) {
      if (here[m] != kNone) own.push_back(here[m]);
    }
  }
  return closed;
}

/// Q += value b b'
void add_square(double value, std::span<const NodePrecisionMatrix::Term> b,
                std::vector<SymmetricEntry>& Q) {
  for (const auto& row : b) {
    for (const auto& column : b) {
      Q.push_back({row.node, column.node, value * row.factor * column.factor});
    }
  }
}

/// On a tree the sum above a node is that of its nearest kept ancestor, at whatever depth.
void add_tree(const AdditiveProblem& problem, const std::vector<std::uint32_t>& here,
              NodePrecisionMatrix& made) {
  const LabelGraph& tree = *problem.graph;
  std::vector<std::uint32_t> nearest(tree.num_nodes(), kNone);  // kept node at n or above
  std::vector<std::uint32_t> above(made.original.size(), kNone);
  for (const NodeId n : tree.topological_order()) {
    const std::uint32_t up = tree.is_root(n) ? kNone : nearest[tree.parents(n).front()];
    nearest[n] = here[n] != kNone ? here[n] : up;
    if (here[n] != kNone) above[here[n]] = up;
  }
  for (std::uint32_t n = 0; n < above.size(); ++n) {
    auto& terms = made.above.emplace_back();
    if (above[n] != kNone) terms.push_back({above[n], 1.0});
    std::vector<NodePrecisionMatrix::Term> own{{n, 1.0}};
    if (above[n] != kNone) own.push_back({above[n], -1.0});
    add_square(1.0 / made.alpha[n], own, made.Q);
  }
  made.targets = ordered_targets(problem);
  for (const NodeId t : made.targets) {
    made.definite &= nearest[t] != kNone;
    made.place.push_back(nearest[t]);
  }
}

/// Whether a component of the graph has no anchor, so that its common part is free.
bool has_free_component(const SimilarityGraph& graph, std::span<const double> anchors) {
  std::vector<std::uint32_t> group(graph.num_nodes);
  for (std::uint32_t n = 0; n < graph.num_nodes; ++n) group[n] = n;
  const auto find = [&](std::uint32_t n) {
    while (group[n] != n) n = group[n] = group[group[n]];
    return n;
  };
  for (const auto& edge : graph.edges) group[find(edge.a)] = find(edge.b);
  std::vector<double> anchor(graph.num_nodes, 0.0);
  for (std::uint32_t n = 0; n < graph.num_nodes; ++n) anchor[find(n)] += anchors[n];
  for (std::uint32_t n = 0; n < graph.num_nodes; ++n) {
    if (group[n] == n && anchor[n] == 0) return true;
  }
  return false;
}

}  // namespace

NodePrecisionMatrix node_precision(const AdditiveProblem& problem, std::size_t most_terms) {
  const NodeLists ancestors = ancestor_sets(*problem.graph, problem.targets);
  NodePrecisionMatrix made;
  std::vector<std::uint32_t> here;
  number_kept_nodes(problem, ancestors, made, here);
  if (problem.graph->is_tree()) {
    add_tree(problem, here, made);
    return made;
  }
  const Closed closed = closed_sets(problem, made, here);
  Combinations combinations(closed);
  std::size_t num_terms = 0;
  for (std::uint32_t n = 0; n < closed.size(); ++n) {
    std::vector<std::uint32_t> above;
    for (const std::uint32_t m : closed[n]) {
      if (m != n) above.push_back(m);
    }
    made.above.push_back(combinations.of(above));
    num_terms += made.above[n].size();
    if (num_terms > most_terms) {
      made.is_complete = false;
      return made;
    }
    std::vector<NodePrecisionMatrix::Term> own{{n, 1.0}};
    for (const auto& term : made.above[n]) own.push_back({term.node, -term.factor});
    add_square(1.0 / made.alpha[n], own, made.Q);
  }
  made.targets = ordered_targets(problem);
  for (const NodeId t : made.targets) {
    std::vector<std::uint32_t> path;
    for (const NodeId m : ancestors[t]) {
      if (here[m] != kNone) path.push_back(here[m]);
    }
    // A target without weight shares the place of the one node that has its path.
    const auto terms = combinations.of(path);
    made.definite &= terms.size() == 1;
    made.place.push_back(terms[0].node);
  }
  return made;
}

NodePrecisionMatrix node_precision(const SimilarityProblem& problem) {
  const SimilarityGraph& graph = *problem.graph;
  check_similarity_graph(graph);
  NodePrecisionMatrix made;
  std::vector<double> anchors = graph.anchors;
  anchors.resize(graph.num_nodes, 0.0);
  std::vector<bool> alone(graph.num_nodes, true);
  for (const auto& edge : graph.edges) {
    const NodePrecisionMatrix::Term difference[] = {{edge.a, 1.0}, {edge.b, -1.0}};
    add_square(edge.weight, difference, made.Q);
    alone[edge.a] = alone[edge.b] = false;
  }
  for (NodeId n = 0; n < graph.num_nodes; ++n) {
    if (alone[n] && anchors[n] == 0) anchors[n] = 1.0;
    made.original.push_back(n);
    made.Q.push_back({n, n, anchors[n]});
  }
  made.targets.assign(problem.targets.begin(), problem.targets.end());
  made.place.assign(problem.targets.begin(), problem.targets.end());
  made.definite = !has_free_component(graph, anchors);
  return made;
}

void check_similarity_graph(const SimilarityGraph& graph) {
  for (const auto& edge : graph.edges) {
    require(edge.a < graph.num_nodes && edge.b < graph.num_nodes && edge.a != edge.b,
            "label graph: edge ", edge.a, " - ", edge.b, " must join two nodes in [0, ",
            graph.num_nodes, ")");
    require(edge.weight > 0 && std::isfinite(edge.weight), "label graph: edge ", edge.a, " - ",
            edge.b, " has weight ", edge.weight, ", but must be > 0");
  }
  for (std::size_t n = 0; n < graph.anchors.size(); ++n) {
    require(graph.anchors[n] >= 0 && std::isfinite(graph.anchors[n]),
            "label graph: anchor of node ", n, " is ", graph.anchors[n], ", but must be >= 0");
  }
}

}  // namespace margrove::detail
