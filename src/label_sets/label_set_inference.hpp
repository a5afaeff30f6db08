#pragma once
// The best label set of a multi-label hierarchy at given node scores.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/search_goal.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// Which step proved that the answer is a best one, or found an answer that meets the goal.
enum class InferenceStage {
  tree,              // the dynamic programme on a tree
  reduction,         // the reductions, which left no core
  closure,           // the bound by closures and cuts, without branching
  branch_and_bound,  // the same bound with branching
  ilp,               // COIN-OR CBC on the remaining problem, after the branch limit
};

struct BestLabelSet {
  double score = 0;  // sum of the scores of the chosen nodes
  double bound = 0;  // no label set has a larger score
  InferenceStage stage = InferenceStage::tree;
  std::int64_t num_branches = 0;
};

struct RelaxedLabelSet {
  double score = 0;      // sum z_n r_n
  double bound = 0;      // no z has a larger score
  bool integral = true;  // whether z is a label set
};

/// argmax over label sets y = union of A(l) over a non-empty set of leaves l of sum_{n in y} r_n:
/// maximise sum z_n r_n subject to z_c <= z_p on edges, sum_c z_c >= z_n at inner nodes, and at
/// least one leaf (docs/notation.md, "How label sets are found"). O(nodes) on trees; NP-hard on
/// DAGs, where the answer is still exact. Immutable, shared by threads; one Workspace per thread.
class LabelSetInference {
 public:
  /// Scratch space. Once it has grown, calls do not allocate, except relaxed() and calls that end
  /// in branch_and_bound or ilp.
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

  /// The number of branches after which a search gives up or, if the goal needs a best answer, CBC
  /// takes over.
  static constexpr std::int64_t kMaxBranches = 1000;

  /// Writes the nodes, ascending, of the best label set or of one that meets the goal. scores: one
  /// finite number per node. Ties between children go to the lowest one; nodes that add nothing are
  /// left out if the constraints allow it. A goal is given up after `most_branches`; the bound is
  /// valid in any case.
  BestLabelSet best(std::span<const double> scores, Workspace& workspace,
                    std::vector<NodeId>& nodes, const SearchGoal& goal = {},
                    std::int64_t most_branches = kMaxBranches) const;

  /// Maximises over the linear relaxation 0 <= z <= 1 of the same problem, one z per node, or finds
  /// a point that meets the goal. On trees, and wherever a label set attains the closure bound, z
  /// is a best label set; label sets that meet the goal are taken, too. Otherwise CLP solves the
  /// linear programme.
  RelaxedLabelSet relaxed(std::span<const double> scores, Workspace& workspace, std::span<double> z,
                          const SearchGoal& goal = {}) const;

 private:
  class Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace margrove
