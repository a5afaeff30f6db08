#pragma once
// The best label set of a multi-label hierarchy at given node scores.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/search_goal.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// Which step proved that an answer is the best one, or good enough.
enum class InferenceStage {
  tree,              // dynamic programme: the hierarchy is a tree
  reduction,         // nothing was left after merging and dropping nodes that cannot matter
  closure,           // the bound of closures and cuts was met without branching
  branch_and_bound,  // the bound of closures and cuts was met after branching
  relaxation,        // the bound of linear programmes (CLP) was met, mostly after branching
  ilp,               // the branch limit was reached: COIN-OR CBC on what the bounds left
};
inline constexpr std::size_t kNumInferenceStages = 6;
std::string_view to_string(InferenceStage stage);

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

/// How far a search branches on bounds by cuts, then on linear programmes. Where one of the two
/// needs many branches the other mostly needs more (docs/results/label-sets-on-dags.md).
struct BranchLimits {
  std::int64_t on_cuts = 1000;
  std::int64_t on_programmes = 1000;
};

/// argmax over label sets y = union of A(l) over a non-empty set of leaves l of sum_{n in y} r_n:
/// maximise sum z_n r_n subject to z_c <= z_p on edges, sum_c z_c >= z_n at inner nodes, and at
/// least one leaf (docs/notation.md, "How label sets are found"). O(nodes) on trees; NP-hard on
/// DAGs, where the answer is still exact. Immutable, shared by threads; one Workspace a thread.
class LabelSetInference {
 public:
  /// Scratch space, warm after the first calls: later ones do not allocate (`branch_and_bound`,
  /// `relaxation`, `ilp` and relaxed() excepted).
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

  /// The best label set's nodes in `nodes`, ascending; one finite score per node. Among children
  /// that tie, the lowest; nodes that add nothing are left out where the constraints allow it.
  /// Beyond the limits CBC takes over.
  BestLabelSet best(std::span<const double> scores, Workspace& workspace,
                    std::vector<NodeId>& nodes, const BranchLimits& limits = {}) const;

  /// A label set that is near enough to the best one, as the goal has it, or as near as the
  /// limits let the search come; the bound holds in any case. `known`: the nodes of a label set
  /// that is likely to be good, from which the search starts; may be empty.
  BestLabelSet good(std::span<const double> scores, Workspace& workspace,
                    std::vector<NodeId>& nodes, const SearchGoal& goal,
                    std::span<const NodeId> known = {}, const BranchLimits& limits = {}) const;

  /// The linear relaxation 0 <= z <= 1 of the same problem, one z a node. On trees, and wherever
  /// the closure bound settles the problem, z is a best label set. Otherwise a linear programme
  /// (CLP).
  RelaxedLabelSet relaxed(std::span<const double> scores, Workspace& workspace,
                          std::span<double> z) const;
  /// One that is near enough to the maximum, as the goal has it: often a label set.
  RelaxedLabelSet good_relaxed(std::span<const double> scores, Workspace& workspace,
                               std::span<double> z, const SearchGoal& goal) const;

 private:
  class Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace margrove
