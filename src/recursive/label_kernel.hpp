#pragma once
// The label kernel of recursive regularisation, K = the targets' part of Q^-1 (node_precision.hpp),
// and the operations of the joint solver with it, for kWidth columns at a time. On a tree K_ll' is
// the sum over the common ancestors of alpha_m.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "numerics/narrow_floats.hpp"
#include "numerics/sparse_cholesky.hpp"
#include "recursive/node_precision.hpp"

namespace margrove::detail {

/// The factor in float32, in the order in which the kernels read it.
struct NarrowFactor {
  struct Entry {
    std::uint32_t row;
    float lower;
    std::uint32_t change;  // its place among the entries that a diagonal changes, or kNone
  };
  static constexpr std::uint32_t kNone = 0xffffffffU;
  std::vector<std::uint32_t> begin;
  std::vector<Entry> entries;
  std::vector<float> pivots;
  /// The change that the elimination of n makes through each pair of its rows a > b: pairs in the
  /// order a outer, b inner, for all n in turn.
  std::vector<std::uint32_t> updates;
  std::uint32_t num_changes = 0;
};

/// Matrices of targets x columns in chunks of kWidth columns: entry (t, j) lies at
/// ((j / kWidth) * num_rows + t) * kWidth + j % kWidth. The targets are padded to blocks of
/// sixteen with rows that stay zero.
class LabelKernel {
 public:
  static constexpr std::size_t kWidth = 32;

  /// Throws InvalidInput unless is_suited(precision).
  explicit LabelKernel(NodePrecisionMatrix precision);
  /// Whether Q is positive definite and its elimination takes little work.
  static bool is_suited(const NodePrecisionMatrix& precision);
  /// A graph of so many nodes whose `above` has more terms is not suited.
  static std::size_t most_terms(std::size_t num_nodes);

  std::span<const NodeId> targets() const { return precision_.targets; }
  std::size_t num_rows() const { return (targets().size() + 15) / 16 * 16; }

  /// One worker's scratch: two vectors per node, and what a diagonal changes.
  struct Scratch {
    std::vector<float> first;
    std::vector<float> second;
    std::vector<float> changes;
  };
  Scratch scratch() const;

  // The following work on one chunk; spans start at its first entry.

  /// A matrix of float32 in two halves.
  struct SplitChunk {
    std::span<BFloat16> high;
    std::span<BFloat16> low;
  };
  /// z += step s (s may be empty), w = K z; returns z' K z. s may lie where w does.
  double move(float step, std::span<const BFloat16> s, std::span<float> z, SplitChunk w,
              Scratch& scratch) const;
  /// zeta = y + factor zeta, p = K zeta. y may lie where p does.
  struct Products {
    double zeta_p = 0.0;
    double rho_p = 0.0;
  };
  Products update_direction(float factor, std::span<const BFloat16> y,
                            std::span<const BFloat16> rho, std::span<BFloat16> zeta,
                            std::span<BFloat16> p, Scratch& scratch) const;
  /// rho -= length (zeta + q), s += length zeta, y = rho - h delta (written over q) with
  /// delta = (K^-1 + diag h)^-1 rho; returns rho' delta.
  double step(float length, std::span<const BFloat16> zeta, std::span<BFloat16> q,
              std::span<BFloat16> rho, std::span<BFloat16> s, std::span<const BFloat16> h,
              Scratch& scratch) const;
  /// Whether solve_column() and own_curvature() may be called: every target has a node of its own.
  bool is_invertible() const { return rest_.has_value(); }
  /// A bound on the second derivative of the regulariser, for each target that moves, when targets
  /// move in one column and the other nodes stay.
  double own_curvature(std::size_t t) const { return own_curvatures_[t]; }
  /// K^-1 w for one column.
  std::vector<double> solve_column(std::span<const double> w) const;
  /// rho' K rho.
  double squared_norm(std::span<const BFloat16> rho, Scratch& scratch) const;
  /// The nodes' vectors at columns of the chunk, out[m * kWidth + f] for nodes m of the graph: v_m
  /// of an additive problem, otherwise w_m. Entries of nodes that Q leaves out are not written.
  void node_parts(std::span<const float> z, std::span<float> out, Scratch& scratch) const;

 private:
  void prepare_column();
  double multiply(float* values) const;

  NodePrecisionMatrix precision_;
  std::vector<std::uint32_t> place_;     // target -> its position in the factor
  std::vector<std::uint32_t> position_;  // node of Q -> its position in the factor
  NarrowFactor factor_;

  // For one column: Q split into targets and the others.
  std::optional<OrderedCholesky> rest_;   // of the others' block
  std::vector<std::uint32_t> rest_of_;    // node of Q -> its number among the others, or kNone
  std::vector<std::uint32_t> target_of_;  // node of Q -> its target, or kNone
  std::vector<double> own_curvatures_;
};

}  // namespace margrove::detail
