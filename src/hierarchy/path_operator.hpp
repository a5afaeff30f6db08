#pragma once
// Sums over A(l) and over D(n) without listing them.

#include <span>
#include <vector>

#include "hierarchy/weight_paths.hpp"
#include "margrove/label_graph.hpp"
#include "numerics/row_lists.hpp"

namespace margrove::detail {

/// The linear map B with (B a)_l = sum_{n in A(l)} a_n for leaves l, and its transpose. A(n) is
/// stored as A(p) of one parent p and the list of its other members, so that trees cost O(nodes)
/// and DAGs O(edges) plus the lists. The graph must outlive the operator.
class PathOperator {
 public:
  explicit PathOperator(const LabelGraph& graph);
  const LabelGraph& graph() const { return *graph_; }
  std::size_t num_leaves() const { return graph_->leaves().size(); }

  /// sums[k] = sum of a over A(leaves[k]). `scratch` holds one number per node.
  void path_sums(std::span<const double> a, std::span<double> sums,
                 std::vector<double>& scratch) const;
  /// totals[n] = sum of weights[k] over the leaves leaves[k] in D(n).
  void leaf_totals(std::span<const double> weights, std::span<double> totals) const;

 private:
  const LabelGraph* graph_;
  std::vector<NodeId> main_parent_;  // ~0 for roots
  LongRowLists others_;              // A(n) without n and A(main parent), by place in the order
};

}  // namespace margrove::detail
