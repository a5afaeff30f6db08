#include "outputs/path/path_loss.hpp"

#include <algorithm>
#include <cmath>

#include "margrove/errors.hpp"

namespace margrove {
namespace {
constexpr NodeId kNoParent = static_cast<NodeId>(-1);
}  // namespace

PathDistance::PathDistance(const LabelGraph& graph, std::span<const double> node_weights)
    : weights_(node_weights.begin(), node_weights.end()),
      leaves_(graph.leaves().begin(), graph.leaves().end()) {
  require(weights_.size() == graph.num_nodes(), "path distance: ", weights_.size(),
          " node weights, but must be ", graph.num_nodes());
  for (std::size_t n = 0; n < weights_.size(); ++n) {
    require(weights_[n] >= 0 && std::isfinite(weights_[n]), "path distance: weight of node ", n,
            " is ", weights_[n], ", but must be finite and >= 0");
  }
  if (graph.is_tree()) {
    order_.assign(graph.topological_order().begin(), graph.topological_order().end());
    parent_.assign(graph.num_nodes(), kNoParent);
    depth_.resize(graph.num_nodes());
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      depth_[n] = graph.depth(n);
      if (!graph.is_root(n)) parent_[n] = graph.parents(n).front();
    }
    return;
  }
  path_pointers_.assign(graph.num_nodes() + 1, 0);
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (graph.is_leaf(n)) {
      const std::vector<NodeId> path = graph.ancestors(n);
      path_nodes_.insert(path_nodes_.end(), path.begin(), path.end());
    }
    path_pointers_[n + 1] = path_nodes_.size();
  }
}

double PathDistance::operator()(NodeId a, NodeId b) const {
  return parent_.empty() ? dag_distance(a, b) : tree_distance(a, b);
}

double PathDistance::tree_distance(NodeId a, NodeId b) const {
  double sum = 0.0;
  while (a != b) {  // climbs from the deeper one until the lowest common ancestor
    if (b == kNoParent || (a != kNoParent && depth_[a] >= depth_[b])) std::swap(a, b);
    sum += weights_[b];
    b = parent_[b];
  }
  return sum;
}

double PathDistance::dag_distance(NodeId a, NodeId b) const {
  const auto y = path(a), other = path(b);
  double sum = 0.0;
  auto p = y.begin(), q = other.begin();
  while (p != y.end() || q != other.end()) {
    if (q == other.end() || (p != y.end() && *p < *q)) {
      sum += weights_[*p++];
    } else if (p == y.end() || *q < *p) {
      sum += weights_[*q++];
    } else {
      ++p, ++q;
    }
  }
  return sum;
}

void PathDistance::from(NodeId b, std::span<double> distances) const {
  if (parent_.empty()) {
    for (std::size_t k = 0; k < leaves_.size(); ++k) distances[k] = dag_distance(leaves_[k], b);
    return;
  }
  // An ancestor of b has the weight of b's path below it as distance; any other node has its
  // parent's distance plus its own weight.
  std::vector<double> distance(weights_.size());
  std::vector<bool> above(weights_.size(), false);
  double below = 0.0;
  for (NodeId n = b; n != kNoParent; n = parent_[n]) {
    above[n] = true;
    distance[n] = below;
    below += weights_[n];
  }
  for (const NodeId n : order_) {
    if (!above[n]) {
      distance[n] = weights_[n] + (parent_[n] == kNoParent ? below : distance[parent_[n]]);
    }
  }
  for (std::size_t k = 0; k < leaves_.size(); ++k) distances[k] = distance[leaves_[k]];
}

PathLoss::PathLoss(const LeafLoss& loss, const LabelGraph& graph, std::span<const double> alpha)
    : kind_(loss.kind),
      distance_(graph, loss.kind == TaskLoss::normalized
                           ? std::vector<double>(alpha.begin(), alpha.end())
                           : std::vector<double>(graph.num_nodes(), 1.0)) {
  if (loss.has_costs()) take_costs(loss.costs, graph);
}

void PathLoss::take_costs(std::span<const double> costs, const LabelGraph& graph) {
  const std::span<const NodeId> leaves = graph.leaves();
  const std::size_t size = leaves.size();
  const bool is_flat = graph.num_edges() == 0;
  require(costs.size() == size * size, "cost matrix: there are ", costs.size(),
          " costs, but must be one per pair of ", is_flat ? "classes, " : "leaves, ", size * size);
  for (std::size_t k = 0; k < costs.size(); ++k) {
    const bool is_own = k / size == k % size;
    require(is_own ? costs[k] == 0.0 : costs[k] >= 0.0 && std::isfinite(costs[k]),
            "cost matrix: the cost of ", is_flat ? "class " : "leaf ", leaves[k % size], " where ",
            is_flat ? "class " : "leaf ", leaves[k / size], " is the true one is ", costs[k],
            ", but must be ", is_own ? "0" : "finite and >= 0");
  }
  costs_.assign(costs.begin(), costs.end());
  place_.assign(graph.num_nodes(), 0);
  for (std::uint32_t k = 0; k < size; ++k) place_[leaves[k]] = k;
}

double PathLoss::operator()(NodeId a, NodeId b) const {
  if (!costs_.empty()) {
    const std::size_t num_leaves = distance_.num_leaves();
    return costs_[place_[b] * num_leaves + place_[a]];
  }
  return of_distance(distance_(a, b));
}

void PathLoss::from(NodeId b, std::span<double> losses) const {
  if (!costs_.empty()) {
    std::copy_n(&costs_[place_[b] * losses.size()], losses.size(), losses.begin());
    return;
  }
  distance_.from(b, losses);
  for (double& loss : losses) loss = of_distance(loss);
}

void PathLoss::from_nearest(std::span<const NodeId> truths, std::span<double> losses) const {
  from(truths.front(), losses);
  std::vector<double> next(losses.size());
  for (const NodeId truth : truths.subspan(1)) {
    from(truth, next);
    for (std::size_t k = 0; k < losses.size(); ++k) losses[k] = std::min(losses[k], next[k]);
  }
}

}  // namespace margrove
