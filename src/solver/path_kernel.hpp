#pragma once
// The label kernel of path-additive scores on trees, K_ll' = sum over the common ancestors of
// alpha_m, and what a joint solver needs of it, for kWidth columns at a time. Internal.

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "margrove/solver/recursive.hpp"

namespace margrove::detail {

/// Half of a float32: its exponent and eight bits of its mantissa.
struct Half {
  std::uint16_t bits = 0;
};
inline float wide(Half x) { return std::bit_cast<float>(static_cast<std::uint32_t>(x.bits) << 16); }
inline Half narrow(float x) {  // to the nearest
  return {static_cast<std::uint16_t>((std::bit_cast<std::uint32_t>(x) + 0x8000U) >> 16)};
}

/// A node with a target below.
struct PathNode {
  static constexpr std::uint32_t kNone = 0xffffffffU;
  std::uint32_t parent;  // or kNone; parents come first
  float alpha;
};

/// Matrices of targets x columns in chunks of kWidth columns: entry (t, j) lies at
/// ((j / kWidth) * num_rows + t) * kWidth + j % kWidth. The targets are padded to blocks of
/// sixteen with rows that stay zero.
class PathKernel {
 public:
  static constexpr std::size_t kWidth = 32;

  /// Targets in depth-first order, so that neighbours share most of their path.
  explicit PathKernel(const AdditiveProblem& problem);

  std::span<const NodeId> targets() const { return targets_; }
  std::size_t num_rows() const { return (targets_.size() + 15) / 16 * 16; }
  std::size_t num_nodes() const { return tree_.size(); }

  /// One worker's scratch: two vectors a node.
  struct Scratch {
    std::vector<float> first;
    std::vector<float> second;
  };
  Scratch scratch() const;

  // The following work on one chunk; spans start at its first entry.

  /// z += step s (s may be empty), w = K z; returns z' K z.
  double move(float step, std::span<const Half> s, std::span<float> z, std::span<float> w,
              Scratch& scratch) const;
  /// zeta = y + factor zeta, p = K zeta.
  struct Products {
    double zeta_p = 0.0;
    double rho_p = 0.0;
  };
  Products turn(float factor, std::span<const Half> y, std::span<const Half> rho,
                std::span<Half> zeta, std::span<Half> p, Scratch& scratch) const;
  /// rho -= length (zeta + q), s += length zeta, y = rho - h delta (written over q) with
  /// delta = (K^-1 + diag h)^-1 rho; returns rho' delta.
  double step(float length, std::span<const Half> zeta, std::span<Half> q, std::span<Half> rho,
              std::span<Half> s, std::span<const Half> h, Scratch& scratch) const;
  /// Whether solve_column() may be called: all targets are leaves of weight > 0.
  bool is_invertible() const { return invertible_; }
  /// alpha of target t itself.
  double own_weight(std::size_t t) const { return tree_[place_[t]].alpha; }
  /// K^-1 w for one column.
  std::vector<double> solve_column(std::span<const double> w) const;
  /// rho' K rho.
  double squared_norm(std::span<const Half> rho, Scratch& scratch) const;
  /// v_m of node m at columns of the chunk: alpha_m times the sum of z below; out[m * kWidth + f]
  /// for all nodes of the graph that have a target below (others are left alone).
  void node_parts(std::span<const float> z, std::span<float> out, Scratch& scratch) const;

 private:
  bool invertible_ = true;
  std::vector<NodeId> targets_;
  std::vector<PathNode> tree_;
  std::vector<std::uint32_t> place_;  // target -> its node in tree_
  std::vector<NodeId> original_;      // node in tree_ -> node of the graph
};

}  // namespace margrove::detail
