#pragma once
// How task losses (margrove/task_loss.hpp) between the root paths of two leaves are computed.

#include <cmath>
#include <cstdint>
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
  std::size_t num_leaves() const { return leaves_.size(); }

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

/// A task loss between leaves: one of their paths, or a cost matrix.
struct LeafLoss {
  TaskLoss kind;
  /// If not empty, used in place of `kind`: one row per true leaf and one column per predicted
  /// leaf, leaves ascending. Refers to the caller's numbers.
  std::span<const double> costs;

  LeafLoss(TaskLoss task_loss = TaskLoss::hamming,  // NOLINT(google-explicit-constructor)
           std::span<const double> cost_of_pair = {})
      : kind(task_loss), costs(cost_of_pair) {}
  bool has_costs() const { return !costs.empty(); }
};

/// The task loss of two leaves. It costs as much as PathDistance, or O(1) with a cost matrix, of
/// which it keeps a copy.
class PathLoss {
 public:
  /// Throws InvalidInput unless there is one cost per pair of leaves, finite, >= 0, and 0 for two
  /// equal leaves.
  PathLoss(const LeafLoss& loss, const LabelGraph& graph, std::span<const double> alpha);
  /// The loss of predicting leaf a where leaf b is the true one.
  double operator()(NodeId a, NodeId b) const;
  /// losses[k] = (*this)(leaf k, b), leaves ascending.
  void from(NodeId b, std::span<double> losses) const;
  /// losses[k] = the smallest loss of leaf k where one of the leaves `truths` is the true one,
  /// leaves ascending. As much as from() for each of them.
  void from_nearest(std::span<const NodeId> truths, std::span<double> losses) const;
  /// The loss of two leaves whose symmetric difference has this sum of node_weight(). It never
  /// decreases with the distance. Not for a cost matrix.
  double of_distance(double distance) const {
    if (kind_ == TaskLoss::normalized) return std::sqrt(distance);
    return kind_ == TaskLoss::hamming ? distance : static_cast<double>(distance > 0);
  }
  double node_weight(NodeId n) const { return distance_.weight(n); }

 private:
  void take_costs(std::span<const double> costs, const LabelGraph& graph);

  TaskLoss kind_;
  PathDistance distance_;
  std::vector<double> costs_;         // of a cost matrix
  std::vector<std::uint32_t> place_;  // leaf -> its row of the cost matrix
};

}  // namespace margrove
