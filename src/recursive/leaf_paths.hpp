#pragma once
// The label graph, prepared for joint descent over dual variables.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "margrove/errors.hpp"
#include "margrove/label_graph.hpp"
#include "recursive/recursive.hpp"

namespace margrove::detail {

/// The nodes above each target, in two kinds: a node with one target below is private to it and
/// follows that target's dual variables; the others are inner nodes and have a slot.
struct LeafPaths {
  static constexpr std::uint32_t kNoSlot = 0xffffffffU;

  std::vector<NodeId> targets;                    // in depth-first order; "target t" is targets[t]
  std::vector<double> path_sum;                   // K_l = sum of alpha over A(l)
  std::vector<double> private_alpha;              // the part of K_l on private nodes
  std::vector<std::vector<NodeId>> inner;         // the other nodes of A(l), ascending
  std::vector<std::uint32_t> slot;                // node -> its slot, or kNoSlot
  std::vector<NodeId> node_of;                    // slot -> node
  std::vector<std::vector<std::uint32_t>> below;  // slot -> targets
  std::vector<std::vector<std::uint32_t>> positives;  // target -> its rows, ascending
  std::vector<std::uint32_t> owner;  // private node -> its target; of other nodes kNoSlot

  std::uint32_t num_slots() const { return static_cast<std::uint32_t>(node_of.size()); }
  bool is_positive(std::size_t t, std::uint32_t row) const;
};

/// Throws InvalidInput that begins with `solver` unless there are as many label sets, and row
/// weights if any, as rows.
template <class Problem>
void check_sizes(const Problem& problem, std::string_view solver) {
  require(problem.labels->num_rows() == problem.X.num_rows(), solver, ": ",
          problem.labels->num_rows(), " label sets, but ", problem.X.num_rows(), " rows");
  require(problem.row_weights.empty() || problem.row_weights.size() == problem.X.num_rows(), solver,
          ": ", problem.row_weights.size(), " row weights, but ", problem.X.num_rows(), " rows");
}

/// The targets in depth-first order, so that neighbours share most of their path.
std::vector<NodeId> ordered_targets(const AdditiveProblem& problem);

/// The rows that carry each target, ascending. Throws InvalidInput where a label is not a target.
std::vector<std::vector<std::uint32_t>> rows_of_targets(const LabelSets& labels,
                                                        std::span<const NodeId> targets,
                                                        std::uint32_t num_nodes,
                                                        std::string_view solver);

/// Throws InvalidInput where a label is not a target, or a target's path has no weight.
/// O(sum of the targets' ancestors + labels).
LeafPaths leaf_paths(const AdditiveProblem& problem);

}  // namespace margrove::detail
