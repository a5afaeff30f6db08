#include "margrove/task_loss.hpp"

#include <algorithm>
#include <cmath>

#include "margrove/errors.hpp"
#include "outputs/path/path_loss.hpp"

namespace margrove {
namespace {
constexpr NodeId kNone = static_cast<NodeId>(-1);
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
    parent_.assign(graph.num_nodes(), kNone);
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
  while (a != b) {  // climb from the deeper one until the lowest common ancestor
    if (b == kNone || (a != kNone && depth_[a] >= depth_[b])) std::swap(a, b);
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
  // Below an ancestor of b: what b has below it; elsewhere: the parent's distance and one's own
  // weight.
  std::vector<double> distance(weights_.size());
  std::vector<bool> above(weights_.size(), false);
  double below = 0.0;
  for (NodeId n = b; n != kNone; n = parent_[n]) {
    above[n] = true;
    distance[n] = below;
    below += weights_[n];
  }
  for (const NodeId n : order_) {
    if (!above[n]) {
      distance[n] = weights_[n] + (parent_[n] == kNone ? below : distance[parent_[n]]);
    }
  }
  for (std::size_t k = 0; k < leaves_.size(); ++k) distances[k] = distance[leaves_[k]];
}

std::string_view to_string(TaskLoss loss) {
  switch (loss) {
    case TaskLoss::hamming:
      return "hamming";
    case TaskLoss::normalized:
      return "normalized";
    case TaskLoss::zero_one:
      return "zero-one";
  }
  return "unknown";
}

TaskLoss parse_task_loss(std::string_view name) {
  for (const TaskLoss loss : {TaskLoss::hamming, TaskLoss::normalized, TaskLoss::zero_one}) {
    if (name == to_string(loss)) return loss;
  }
  throw InvalidOption(
      concat("task loss is '", name, "', but must be hamming, normalized or zero-one"));
}

PathLoss::PathLoss(TaskLoss kind, const LabelGraph& graph, std::span<const double> alpha)
    : kind_(kind),
      distance_(graph, kind == TaskLoss::normalized
                           ? std::vector<double>(alpha.begin(), alpha.end())
                           : std::vector<double>(graph.num_nodes(), 1.0)) {}

double PathLoss::operator()(NodeId a, NodeId b) const { return of_distance(distance_(a, b)); }

void PathLoss::from(NodeId b, std::span<double> losses) const {
  distance_.from(b, losses);
  for (double& loss : losses) loss = of_distance(loss);
}

}  // namespace margrove
