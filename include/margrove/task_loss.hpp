#pragma once
// Task losses between the root paths of two leaves. With y = A(l) and y' = A(l'), both are read off
// the symmetric difference y △ y': its size (Hamming, hsvm) or sqrt of its weight (NHSVM, eq. 11).

#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/options.hpp"

namespace margrove MARGROVE_API {

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

enum class TaskLoss {
  hamming,     // |y △ y'|
  normalized,  // sqrt(sum of alpha over y △ y')
  zero_one,    // 1 if y differs from y'
};
template <>
inline constexpr auto kEnumNames<TaskLoss> =
    std::array{EnumName{TaskLoss::hamming, "hamming"}, EnumName{TaskLoss::normalized, "normalized"},
               EnumName{TaskLoss::zero_one, "zero-one"}};
std::string_view to_string(TaskLoss loss);
/// Throws InvalidOption naming the known ones.
TaskLoss parse_task_loss(std::string_view name);

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

}  // namespace margrove MARGROVE_API
