#pragma once
// The best label set of a multi-label hierarchy at given node scores.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/search_goal.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// Which step proved that an answer is the best one, or found the one that is good enough.
enum class InferenceStage {
  tree,              // dynamic programme: the hierarchy is a tree
  reduction,         // nothing was left after merging and dropping nodes that cannot matter
  closure,           // the bound of closures and cuts, without branching
  branch_and_bound,  // the same bound, with branching
  ilp,               // the branch limit was reached: COIN-OR CBC on what the bounds left
};

struct BestLabelSet {
  double score = 0;  // sum of the scores of the chosen nodes
  double bound = 0;  // no label set has a larger score
  InferenceStage stage = InferenceStage::tree;
  std::int64_t num_branches = 0;
};

struct RelaxedLabelSet {
  double score = 0;      // sum z_n r_n; at the maximum no label set has a larger score
  double bound = 0;      // no z has a larger score
  bool integral = true;  // z is a label set, which is then a best one
};

/// argmax over label sets y = union of A(l) over a non-empty set of leaves l of sum_{n in y} r_n:
/// maximise sum z_n r_n subject to z_c <= z_p on edges, sum_c z_c >= z_n at inner nodes, and at
/// least one leaf (docs/notation.md, "How label sets are found"). O(nodes) on trees; NP-hard on
/// DAGs, where the answer is still exact. Immutable, shared by threads; one Workspace per thread.
class LabelSetInference {
 public:
  /// Scratch space, warm after the first calls: later ones do not allocate (`branch_and_bound`,
  /// `ilp` and relaxed() excepted).
  class Workspace {
   public:
    Workspace();
    ~Workspace();
    Workspace(Workspace&&) noexcept;
    Workspace& operator=(Workspace&&) noexcept;

   private:
    friend class LabelSetInference;
    struct Scratch;
    std::unique_ptr<Scratch> scratch_;
  };

  /// Throws InvalidInput if the graph has no node. Keeps no reference to `graph`.
  /// O(sum over nodes with several parents of |A(n)|).
  explicit LabelSetInference(const LabelGraph& graph);
  ~LabelSetInference();
  LabelSetInference(LabelSetInference&&) noexcept;
  LabelSetInference& operator=(LabelSetInference&&) noexcept;

  std::uint32_t num_nodes() const;

  /// How far a search branches before it gives up or, where only a best answer will do, hands over
  /// to CBC.
  static constexpr std::int64_t kMostBranches = 1000;

  /// The nodes of the best label set, ascending, or of one that is as near to it as the goal has
  /// it; one finite score per node. Among children that tie, the lowest; nodes that add nothing are
  /// left out where the constraints allow it. A goal is given up after `most_branches`: the bound
  /// holds in any case.
  BestLabelSet best(std::span<const double> scores, Workspace& workspace,
                    std::vector<NodeId>& nodes, const SearchGoal& goal = {},
                    std::int64_t most_branches = kMostBranches) const;

  /// The linear relaxation 0 <= z <= 1 of the same problem, one z per node: a maximum, or a point
  /// that is as near to it as the goal has it, often a label set. On trees, and wherever the
  /// closure bound settles the problem, z is a best label set. Otherwise a linear programme (CLP).
  RelaxedLabelSet relaxed(std::span<const double> scores, Workspace& workspace, std::span<double> z,
                          const SearchGoal& goal = {}) const;

 private:
  class Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace margrove
