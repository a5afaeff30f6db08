#pragma once
// The core, which is a label-set problem after the reductions, and its linear and integer
// programmes.
//
// Terms of this folder:
//   label set    a set of nodes that contains all parents of its members (it is closed upward) and
//                a child of each inner member: the union of A(l) over a non-empty set of leaves l.
//   closure      a set that is closed upward only. A closure of the largest weight is a minimum cut
//                (numerics/max_closure.hpp); its weight bounds that of all label sets.
//   core         the problem that is left after the reductions of label_set_inference.cpp.
//   grounded     (of a node) needs no child of the core: it is a leaf, or is completed already by a
//                child that no other node can use.
//   reserve      the price, at most 0, of completing a node by children that serve no other node.
//   terminal     a node that may be the lowest of a label set: a grounded node, or a reserve taken
//                as a node of its own (TerminalProblem in terminal_problem.hpp). A label set is
//                given by its terminals.
//   cut          a set of nodes that separates a node from the terminals below it: a label set with
//                the node has a node of the cut.
//   supply       what is left of a node's weight > 0 in the flow of a maximum closure;
//   demand       what is left of the cost of a node's weight < 0. If the demand of the nodes in
//                A(t) sums to d, label sets with terminal t are worth at most the bound less d.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "numerics/row_lists.hpp"

namespace margrove::detail {

inline constexpr double kInfiniteValue = std::numeric_limits<double>::infinity();
inline constexpr double kNoReserve = -kInfiniteValue;
inline constexpr std::uint32_t kNoNode = ~std::uint32_t{0};

/// maximise  sum_k z_k weight_k + sum_{k not grounded} u_k reserve_k
/// subject to  z_0 = 1,  z_c <= z_p for parents p of c,
///             u_k + sum_{c child of k} z_c >= z_k for nodes k that are not grounded,
/// z, u in {0, 1}. Nodes are numbered with parents before children; node 0 is above all others.
struct LabelSetCore {
  std::vector<double> weight;
  std::vector<double> reserve;  // kNoReserve: none
  std::vector<char> grounded;
  RowLists parents;   // one row per node, without node 0
  RowLists children;  // one row per node: children that may complete it; empty if it is grounded
  std::uint32_t size() const { return static_cast<std::uint32_t>(weight.size()); }
  void clear();
};

/// One z and one u per node, in [0, 1].
struct CoreSolution {
  std::vector<double> z, u;
};

/// Solves the relaxation 0 <= z, u <= 1 by CLP. Throws Error if CLP does not finish.
void solve_core_relaxation(const LabelSetCore& core, CoreSolution& solution);

/// Solves the core by CBC, restricted to the nodes that `allowed`, one per node, marks. Returns
/// false if there is no such label set. Throws Error if CBC does not finish.
bool solve_core_exactly(const LabelSetCore& core, std::span<const char> allowed,
                        CoreSolution& solution);

}  // namespace margrove::detail
