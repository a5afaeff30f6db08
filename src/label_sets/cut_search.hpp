#pragma once
// Label sets by branch and bound on closures and cuts (docs/notation.md, "How label sets are
// found", steps 3 and 4; the terms are in label_set_core.hpp).

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/search_goal.hpp"
#include "label_sets/cut_ascent.hpp"
#include "label_sets/label_set_core.hpp"
#include "label_sets/terminal_choice.hpp"
#include "label_sets/terminal_problem.hpp"

namespace margrove::detail {

/// Branch and bound on nodes with the bound of CutAscent. Terminals that cannot be in a better
/// label set are dropped before branching. Parts of a problem that share no node are searched one
/// by one.
class CutSearch {
 public:
  struct Outcome {
    double value = 0;
    double bound = 0;               // no label set is worth more
    double left_bound = 0;          // no label set left out, or not in alive(), is worth more
    std::int64_t num_branches = 0;  // 1: the bound sufficed, perhaps after dropping terminals
    bool proven = false;            // whether the goal was met before the branch limit
  };
  /// The core must outlive the calls of alive(), selected() and uses_reserve().
  Outcome solve(const LabelSetCore& core, std::int64_t branch_limit, const SearchGoal& goal = {});
  /// One per node; the other nodes are in no label set that is better than the answer allows.
  std::span<const char> alive() const { return std::span(alive_).first(core_->size()); }
  bool selected(std::uint32_t k) const { return best_.contains(k); }
  /// Whether node k is selected and completed by its reserve.
  bool uses_reserve(std::uint32_t k) const { return best_.contains(core_->size() + k); }

 private:
  void start(const LabelSetCore& core, std::int64_t branch_limit, const SearchGoal& goal,
             double tolerance, double least);
  double bound() const;
  void consider(const TerminalProblem& p, double value) {
    best_.consider(value, p, local_search_.chosen(), taken_);
  }
  void search(std::size_t depth);
  std::size_t drop(const TerminalProblem& p, std::size_t depth);
  void mark_alive(const TerminalProblem& p);
  void branch(std::size_t depth);
  void search_parts(std::size_t depth, std::span<const std::uint32_t> part_of,
                    std::uint32_t num_parts);
  Outcome search_part(const TerminalProblem& p, std::span<const char> keep, double floor,
                      double slack);

  const LabelSetCore* core_ = nullptr;
  SearchGoal goal_;
  std::int64_t branch_limit_ = 0, num_branches_ = 0;
  bool gave_up_ = false;
  double left_bound_ = 0;  // bound on the label sets that were left out, as the goal allows
  double root_bound_ = 0;  // bound on all others
  double upper_ = 0;       // bound on those of the present problem
  Incumbent best_;
  std::vector<std::uint32_t> taken_;                        // origins of terminals
  std::vector<char> alive_;                                 // by origin
  std::vector<std::unique_ptr<TerminalProblem>> problems_;  // by depth
  TerminalProblem spare_;
  std::vector<char> keep_;  // nodes of the present problem: terminals not dropped
  ProblemMaker maker_;
  CutAscent ascent_;
  LocalSearch local_search_;
  std::unique_ptr<CutSearch> parts_search_;
};

}  // namespace margrove::detail
