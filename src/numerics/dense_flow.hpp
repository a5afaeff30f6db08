#pragma once
// Maximum flow in small dense networks.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace margrove::detail {

/// Dinic's blocking flows on a matrix of capacities. One bit per arc says whether it has capacity
/// left, so that a level of the network costs nodes^2 / 64. MaxClosure is for sparse networks whose
/// arcs have unlimited capacity. Keeps its memory between networks.
class DenseMaxFlow {
 public:
  /// A network without arcs.
  void reset(std::size_t num_nodes);
  /// The capacity, >= 0, of an arc between two nodes.
  void set_arc(std::size_t from, std::size_t to, double capacity);
  /// The value of a maximum flow. O(nodes^2) memory.
  double solve(std::size_t source, std::size_t sink);

  // After solve(): the capacity left of an arc.
  double capacity(std::size_t from, std::size_t to) const {
    return capacity_[from * num_nodes_ + to];
  }
  /// After solve(): whether arcs with capacity left lead from the source to the node.
  bool is_reached(std::size_t node) const { return (reached_[node / 64] & bit(node)) != 0; }

 private:
  static std::uint64_t bit(std::size_t node) { return std::uint64_t{1} << (node % 64); }
  bool build_levels(std::size_t source, std::size_t sink);
  double push(std::size_t node, std::size_t sink, std::size_t level, double limit);

  std::size_t num_nodes_ = 0;
  std::size_t words_ = 0;  // of 64 bits, for one bit per node
  std::vector<double> capacity_;
  std::vector<std::uint64_t> open_arcs_, levels_, reached_;
};

}  // namespace margrove::detail
