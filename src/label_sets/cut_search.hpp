#pragma once
// Label sets by branch and bound on closures and cuts (docs/notation.md, "How label sets are
// found", steps 3 and 4; the terms are in label_set_core.hpp).

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "base/search_goal.hpp"
#include "label_sets/label_set_core.hpp"
#include "numerics/max_closure.hpp"

namespace margrove::detail {

/// A core as a problem of terminals: choose a set of them, which must not be empty if `needed`. It
/// is worth the weights of all nodes in it or above it, plus `offset`. Parents come before
/// children.
struct TerminalProblem {
  double offset = 0;
  bool needed = true;
  std::vector<double> weight;
  std::vector<char> is_terminal;
  std::vector<char> is_required;      // no set without it is better than the best one known
  std::vector<std::uint32_t> origin;  // k: node k of the core; core size + k: its reserve
  RowLists parents;
  std::vector<std::uint32_t> terminals;  // ascending
  RowLists above;                        // A(terminal), one row per terminal
  std::uint32_t size() const { return static_cast<std::uint32_t>(weight.size()); }
  void clear();
  /// Adds a node whose parents were appended to parents.items.
  void add(double node_weight, bool terminal, bool required, std::uint32_t node_origin);
};

/// Branch and bound on nodes. The bound is that of a maximum closure, lowered by dual ascent on
/// cuts: a label set with a node contains a node of every set that separates it from the terminals
/// below it. Terminals that cannot be in a better label set are dropped before branching. Parts of
/// a problem that share no node are searched one by one.
class CutSearch {
 public:
  struct Outcome {
    double value = 0;
    double bound = 0;               // no label set is worth more
    double left_bound = 0;          // no label set left out, or not in alive(), is worth more
    std::int64_t num_branches = 0;  // 1: the bound sufficed, perhaps after dropping terminals
    bool proven = false;            // whether the goal was met before the branch limit
  };
  /// The core must outlive the calls of selected() and uses_reserve().
  Outcome solve(const LabelSetCore& core, std::int64_t branch_limit, const SearchGoal& goal = {});
  /// One per node; the other nodes are in no label set that is better than the answer allows.
  std::span<const char> alive() const { return alive_; }
  bool selected(std::uint32_t k) const { return selected_[k] != 0; }
  /// Whether node k is selected and completed by its reserve.
  bool uses_reserve(std::uint32_t k) const { return uses_reserve_[k] != 0; }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  // The cut between a node and the terminals below it that is raised: the uppermost, the lowest, or
  // the one of these two that has fewer nodes of the best label set so far (guided).
  enum class Side { guided, upper, lower };

  void start(const LabelSetCore& core, std::int64_t branch_limit, const SearchGoal& goal);
  double bound() const;
  void take_core(TerminalProblem& p);
  void restrict_to(const TerminalProblem& from, std::span<const char> keep, std::uint32_t chosen,
                   TerminalProblem& to);
  void finish(TerminalProblem& p);
  void mark_useful(const TerminalProblem& p, std::span<const char> keep);
  void append_above(const TerminalProblem& p, std::uint32_t n, std::vector<std::uint32_t>& nodes);
  void search(std::size_t depth);
  void branch(std::size_t depth);
  std::uint32_t find_parts(const TerminalProblem& p);
  void search_parts(std::size_t depth, std::uint32_t num_parts);
  Outcome search_part(const TerminalProblem& p, std::uint32_t part, double floor, double slack);
  std::size_t drop(const TerminalProblem& p, std::size_t depth);
  double demand_above(const TerminalProblem& p, std::size_t t) const;
  std::uint32_t branching_node(const TerminalProblem& p);
  std::uint32_t uppermost_node() const;
  std::uint32_t cheapest_terminal(const TerminalProblem& p) const;
  double supply_above(const TerminalProblem& p, std::uint32_t n);
  std::vector<char> nodes_of(const TerminalProblem& p) const;
  double ascend(const TerminalProblem& p, double upper, bool by_pushes);
  double raise_by_lengths(const TerminalProblem& p, std::uint32_t k, double most);
  double raise_by_pushes(const TerminalProblem& p, std::uint32_t k, double most);
  void find_below(const TerminalProblem& p, std::uint32_t k);
  bool cuts_near_root(const TerminalProblem& p, std::uint32_t k) const;
  double lengths_from_above(const TerminalProblem& p, std::uint32_t k, double most);
  double lengths_from_below(const TerminalProblem& p, std::uint32_t k, double most);
  bool find_upper_cut(const TerminalProblem& p, std::uint32_t k);
  bool find_lower_cut(const TerminalProblem& p, std::uint32_t k);
  void improve_closure(const TerminalProblem& p);
  double allowance() const { return std::max(tolerance_, goal_.allowed_gap(best_value_)); }
  void improve(const TerminalProblem& p);
  void consider(const TerminalProblem& p, double value);
  double change(const TerminalProblem& p, std::size_t t, std::uint32_t count) const;
  double gain(const TerminalProblem& p, std::size_t t) const;
  void flip(const TerminalProblem& p, std::size_t t);
  void find_terminals_below(const TerminalProblem& p);

  const LabelSetCore* core_ = nullptr;
  std::int64_t branch_limit_ = 0, num_branches_ = 0;
  bool gave_up_ = false;
  SearchGoal goal_;
  double best_value_ = 0, tolerance_ = 0;
  double left_bound_ = 0;  // bound on the label sets that were left out, as the goal allows
  double root_bound_ = 0;  // bound on all others
  double upper_ = 0;       // bound on those of the present problem
  Side side_ = Side::guided;
  std::vector<std::uint32_t> best_, taken_;  // origins of terminals
  std::vector<char> in_best_;                // by origin: terminals of best_ and all nodes above
  std::vector<char> selected_, uses_reserve_, alive_;
  std::vector<std::unique_ptr<TerminalProblem>> problems_;  // by depth
  std::unique_ptr<CutSearch> parts_search_;
  std::vector<std::uint32_t> part_;  // of each node
  TerminalProblem spare_;
  MaxClosure closure_;
  std::vector<char> active_, in_, useful_, keep_;
  std::vector<char> completed_;           // nodes with a terminal of the closure below them
  std::vector<std::uint32_t> num_below_;  // terminals that may be in a better label set
  std::vector<char> chosen_;              // one per terminal
  std::vector<std::uint32_t> count_;      // chosen terminals below each node
  std::vector<double> gain_;              // of removing or adding each terminal
  std::vector<std::uint32_t> changed_;
  RowLists terminals_below_;  // positions in p.terminals, one row per node
  const TerminalProblem* terminals_below_of_ = nullptr;  // the problem p that they belong to
  std::vector<char> tight_, open_;
  std::vector<std::uint32_t> number_, below_, cut_, queue_, stamp_;
  std::uint32_t now_ = 0;
  std::vector<double> length_;
};

}  // namespace margrove::detail
