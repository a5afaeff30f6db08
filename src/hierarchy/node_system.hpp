#pragma once
// Linear systems over the inner nodes of a hierarchy, by sparse Cholesky factors.

#include <cstdint>
#include <span>
#include <vector>

#include "data/csr_operations.hpp"
#include "margrove/label_graph.hpp"
#include "numerics/row_lists.hpp"
#include "numerics/sparse_cholesky.hpp"

namespace margrove::detail {

/// S = diag(d) + sum over leaves l of  w_l 1 1' + sum over parents p of l of theta_lp (e_p 1' + 1
/// e_p') - sum over edges between inner nodes of theta_cp (e_c e_p' + e_p e_c'),
/// where 1 is the indicator of A(l) without l, and inner nodes are numbered by places that keep the
/// factors sparse. S must be positive definite.
class NodeSystem {
 public:
  /// Where the ends of an edge are: inner nodes by place, leaves by their number in graph.leaves().
  struct Edge {
    std::uint32_t child, parent;
    bool child_is_leaf;
  };

  explicit NodeSystem(const LabelGraph& graph);

  /// False if the lists of ancestors or the factors would be too large; then nothing else may be
  /// called.
  bool fits() const { return fits_; }
  std::size_t num_inner() const { return place_to_node_.size(); }
  std::size_t num_leaves() const { return above_.size(); }
  NodeId node_at(std::size_t place) const { return place_to_node_[place]; }
  NodeId leaf_at(std::size_t leaf) const { return leaves_[leaf]; }
  std::span<const Edge> edges() const { return edges_; }
  /// The places of A(l) without l, ascending; l by its number.
  std::span<const std::uint32_t> above(std::size_t leaf) const { return above_[leaf]; }

  /// sums[l] = sum of `inner` over A(l) without l.
  void sum_above(std::span<const double> inner, std::span<double> sums) const;
  /// totals[k] += sum of `leaf` over the leaves below place k.
  void add_below(std::span<const double> leaf, std::span<double> totals) const;
  /// The flow of each edge if every inner node passes its surplus (by place) and its inflow to its
  /// children in equal shares, at least `least` per edge.
  std::vector<double> flows_down(std::vector<double> surplus, double least) const;

  /// Factorises S for one d per place, one w per leaf and one theta per edge (empty: all 0). False
  /// if S is not positive definite in floating point.
  bool factorize(std::span<const double> d, std::span<const double> w,
                 std::span<const double> theta);
  /// right = S^-1 right.
  void solve(std::span<double> right) const { factors_.solve(right); }

 private:
  void list_ancestors(const LabelGraph& graph);
  void transpose();
  bool order_places();
  bool build_pattern();
  void number_edges(const LabelGraph& graph);

  std::vector<NodeId> place_to_node_, leaves_;
  std::vector<std::uint32_t> node_to_place_;
  LongRowLists above_;
  struct Entry {
    std::uint32_t leaf, position;  // above_[leaf][position] is the place
  };
  std::vector<std::size_t> below_pointers_;
  std::vector<Entry> below_;  // the leaves below each place
  std::vector<Edge> edges_;
  LongRowLists leaf_edges_, upper_edges_;  // by leaf; by the higher place of its ends
  SymmetricPattern pattern_;               // of S
  SparseCholesky factors_;
  std::vector<double> values_, column_;
  bool fits_ = false;
};

}  // namespace margrove::detail
