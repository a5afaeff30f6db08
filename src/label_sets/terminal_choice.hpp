#pragma once
// Choices of terminals: the best one that a search has found, and the local search for better ones.

#include <cstdint>
#include <span>
#include <vector>

#include "base/search_goal.hpp"
#include "label_sets/terminal_problem.hpp"

namespace margrove::detail {

/// The best label set that a search has found, and when it is good enough.
class Incumbent {
 public:
  /// No label set; those to be found must be worth more than `least`.
  void start(const LabelSetCore& core, const SearchGoal& goal, double tolerance, double least);
  double value() const { return value_; }
  /// Differences up to it may be rounding.
  double tolerance() const { return tolerance_; }
  /// The goal is met where no label set is worth more than enough() = value() + allowance().
  double enough() const { return value_ + allowance(); }
  double allowance() const;
  /// Its terminals, as origins.
  std::span<const std::uint32_t> terminals() const { return terminals_; }
  /// Whether it has the node or the terminal of this origin.
  bool contains(std::uint32_t origin) const { return contains_[origin] != 0; }
  /// Keeps the terminals of p that are chosen, one char per terminal, and those taken before, as
  /// origins, if they are worth more.
  void consider(double value, const TerminalProblem& p, std::span<const char> chosen,
                std::span<const std::uint32_t> taken);

 private:
  const LabelSetCore* core_ = nullptr;
  SearchGoal goal_;
  double tolerance_ = 0, value_ = 0;
  std::vector<std::uint32_t> terminals_;
  std::vector<char> contains_;
};

/// Removes or adds single terminals while that raises the value. Terminals are numbered as in
/// p.terminals.
class LocalSearch {
 public:
  /// Chooses nothing. The problem must stay as it is until the next call.
  void start(const TerminalProblem& p);
  /// Chooses the terminals whose nodes `accepts` takes. Returns whether there are any.
  template <class Accepts>
  bool choose(const Accepts& accepts);
  /// Improves the choice. Returns its value, or -infinity if p needs a terminal and has none.
  double improve();
  std::span<const char> chosen() const { return chosen_; }

 private:
  double weight_above(std::size_t t, std::uint32_t count) const;
  double gain(std::size_t t) const;
  void flip(std::size_t t);
  void find_terminals_below();

  const TerminalProblem* p_ = nullptr;
  std::vector<char> chosen_;          // one per terminal
  std::vector<std::uint32_t> count_;  // chosen terminals below each node
  std::vector<double> gain_;          // of removing or adding each terminal
  std::vector<std::uint32_t> changed_;
  RowLists terminals_below_;  // one row per node
  bool has_terminals_below_ = false;
};

template <class Accepts>
bool LocalSearch::choose(const Accepts& accepts) {
  bool any = false;
  count_.assign(p_->size(), 0);
  for (std::size_t t = 0; t < chosen_.size(); ++t) {
    chosen_[t] = accepts(p_->terminals[t]);
    if (!chosen_[t]) continue;
    any = true;
    for (const auto n : p_->above[t]) ++count_[n];
  }
  return any;
}

}  // namespace margrove::detail
