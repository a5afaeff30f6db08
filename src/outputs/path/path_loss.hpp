#pragma once
// Task losses between the root paths of two leaves. With y = A(l) and y' = A(l'), both are read off
// the symmetric difference y △ y': its size (Hamming, hsvm) or sqrt of its weight (NHSVM, eq. 11).

#include <cmath>
#include <span>
#include <vector>

#include "margrove/label_graph.hpp"
#include "margrove/task_loss.hpp"

namespace margrove {

/// Sums of non-negative node weights over A(a) △ A(b). A symmetric difference is summed as such,
/// never as the difference of two sums, so that integer weights give integers.
/// Memory O(nodes) on trees, O(sum of |A(l)| over leaves) on DAGs.
class PathDistance {
 public:
  /// Throws InvalidInput if there is not one finite weight >= 0 per node.
  PathDistance(const LabelGraph& graph, std::span<const double> node_weights);

  /// Sum of the weights over A(a) △ A(b), a and b leaves. O(depth) on trees, O(|A(a)| + |A(b)|) on
  /// DAGs.
  double operator()(NodeId a, NodeId b) const;
  /// distances[k] = (*this)(leaf k, b), leaves ascending. O(nodes) on trees, O(sum of |A(l)|) on
  /// DAGs.
  void from(NodeId b, std::span<double> distances) const;
  double weight(NodeId n) const { return weights_[n]; }

 private:
  double tree_distance(NodeId a, NodeId b) const;
  double dag_distance(NodeId a, NodeId b) const;
  std::span<const NodeId> path(NodeId leaf) const {
    return std::span(path_nodes_)
        .subspan(path_pointers_[leaf], path_pointers_[leaf + 1] - path_pointers_[leaf]);
  }

  std::vector<double> weights_;
  std::vector<NodeId> leaves_;
  // Trees: parents (kNone above a root), depths and an order with parents first.
  std::vector<NodeId> parent_, order_;
  std::vector<std::uint32_t> depth_;
  // DAGs: A(l) of the leaves.
  std::vector<std::size_t> path_pointers_;
  std::vector<NodeId> path_nodes_;
};

/// The task loss of two leaves; costs as PathDistance.
class PathLoss {
 public:
  PathLoss(TaskLoss kind, const LabelGraph& graph, std::span<const double> alpha);
  double operator()(NodeId a, NodeId b) const;
  /// losses[k] = (*this)(leaf k, b), leaves ascending.
  void from(NodeId b, std::span<double> losses) const;
  /// The loss of two leaves whose symmetric difference has this weight, a sum of node_weight();
  /// never falls with it.
  double of_distance(double distance) const {
    if (kind_ == TaskLoss::normalized) return std::sqrt(distance);
    return kind_ == TaskLoss::hamming ? distance : static_cast<double>(distance > 0);
  }
  double node_weight(NodeId n) const { return distance_.weight(n); }

 private:
  TaskLoss kind_;
  PathDistance distance_;
};

}  // namespace margrove
