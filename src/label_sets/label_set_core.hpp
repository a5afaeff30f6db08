#pragma once
// What the reductions leave of a label-set problem, and the exact search on it.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/search_goal.hpp"
#include "numerics/max_closure.hpp"

namespace margrove::detail {

inline constexpr double kNoReserve = -std::numeric_limits<double>::infinity();
inline constexpr std::uint32_t kNoNode = ~std::uint32_t{0};

/// maximise  sum_k z_k weight_k + sum_{k not grounded} u_k reserve_k
/// subject to  z_0 = 1,  z_c <= z_p for parents p of c,
///             u_k + sum_{c child of k} z_c >= z_k for nodes k that are not grounded,
/// z, u in {0, 1}. Nodes are numbered with parents before children; node 0 is above all others.
/// reserve_k <= 0 is the price of completing k by nodes that serve nobody else; kNoReserve: none.
struct LabelSetCore {
  std::vector<double> weight, reserve;
  std::vector<char> grounded;
  std::vector<std::uint32_t> up_pointers, up_nodes;  // parents of k, node 0 left out
  // Children of k that may complete it; only for nodes that are not grounded.
  std::vector<std::uint32_t> child_pointers, child_nodes;
  std::uint32_t size() const { return static_cast<std::uint32_t>(weight.size()); }
  std::span<const std::uint32_t> parents(std::uint32_t k) const {
    return std::span(up_nodes).subspan(up_pointers[k], up_pointers[k + 1] - up_pointers[k]);
  }
  std::span<const std::uint32_t> children(std::uint32_t k) const {
    return std::span(child_nodes)
        .subspan(child_pointers[k], child_pointers[k + 1] - child_pointers[k]);
  }
  void clear();
};

/// A core's linear programme, or its integer programme by COIN-OR.
struct CoreSolution {
  std::vector<double> z, u;  // one per node, in [0, 1]
  // Of the relaxation only.
  double bound = 0;             // no label set is worth more, whatever CLP's tolerances are
  std::vector<double> reduced;  // z_k = 0 (if > 0), z_k = 1 (if < 0) lowers the bound by |.|
};

/// The relaxation 0 <= z, u <= 1 of a core by CLP, solved again from its last basis where nodes are
/// fixed or released. The core must outlive it.
class CoreRelaxation {
 public:
  /// Nodes that `fixings` decides (empty: none) keep no constraints that this makes idle.
  CoreRelaxation(const LabelSetCore& core, std::span<const char> fixings);
  ~CoreRelaxation();
  void set(std::uint32_t k, char fix);
  /// False if the fixings leave no label set. Throws Error if CLP does not come to an end.
  bool solve(CoreSolution& solution);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The linear relaxation of a core where closures settle it, and branch and bound on it.
class LabelSetSearch {
 public:
  enum Fix : char { kFree, kIn, kOut };
  struct Outcome {
    double value = 0;
    double bound = 0;       // no label set that `alive` allows is worth more
    double left_bound = 0;  // the same of those that fixings() rules out
    std::int64_t num_branches = 0;
    bool proven = false;  // false: the limit was reached, and not the goal
  };
  /// The core must outlive the calls of selected() and uses_reserve().
  /// True if the closure bound is met, so that the answer is an optimum of the relaxation too.
  bool settle(const LabelSetCore& core);
  /// Bounded by linear programmes. `found` is a label set worth `value`; nodes that `alive` does
  /// not name are in no better one.
  Outcome solve_by_relaxations(const LabelSetCore& core, double value, std::span<const char> found,
                               std::span<const char> alive, std::int64_t branch_limit,
                               const SearchGoal& goal = {});
  /// What every label set better than the present answer has in common; one per node.
  std::span<const char> fixings() const { return fix_; }
  double value() const { return best_value_; }
  /// After settle(): no point of the relaxation is worth more.
  double relaxation_bound() const { return relaxation_bound_; }
  bool selected(std::uint32_t k) const { return best_[k] != 0; }
  /// Node k is selected and completed by its reserve.
  bool uses_reserve(std::uint32_t k) const;

 private:
  void start(const LabelSetCore& core);
  double allowance() const { return std::max(tolerance_, goal_.allowed_gap(best_value_)); }
  void branch_on_fractions(CoreRelaxation& relaxation, std::size_t programme_size);
  std::size_t count_free() const;
  bool relax(CoreRelaxation& relaxation);
  bool fix_by_reduced_costs();
  void round();
  void penalise();
  void take_closure();
  void tighten(double& value);
  double raise_shift(std::uint32_t k, double amount);
  double absorb(std::uint32_t c, double amount);
  void complete_by_weights();
  void complete_by_reduced_costs();
  void ground(std::uint32_t k, std::span<const double> worth);
  void keep_if_best();
  void add_with_ancestors(std::uint32_t k);
  bool fix_in(std::uint32_t k);
  bool fix_out(std::uint32_t k);
  void undo(std::size_t trail_size);
  bool has_selected_child(std::span<const char> z, std::uint32_t k) const;

  const LabelSetCore* core_ = nullptr;
  std::int64_t branch_limit_ = 0, num_branches_ = 0;
  bool gave_up_ = false;
  SearchGoal goal_;
  double best_value_ = 0, tolerance_ = 0;
  double left_bound_ = 0;  // of what was left out for the sake of the goal
  double relaxation_bound_ = 0;
  std::vector<char> fix_, best_, z_, active_, positive_below_;
  std::vector<double> penalised_, shift_, saved_shift_, down_, reduced_;
  std::vector<std::uint32_t> trail_, stack_;
  MaxClosure closure_;
  CoreSolution solution_;
};

/// By CBC, with some nodes fixed; fixings may be empty. False if the fixings leave no label set.
/// Throws Error if CBC does not come to an end.
bool solve_core_exactly(const LabelSetCore& core, std::span<const char> fixings,
                        CoreSolution& solution);

}  // namespace margrove::detail
