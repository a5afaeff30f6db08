#include "label_sets/cut_search.hpp"

#include <algorithm>
#include <cmath>

namespace margrove::detail {
namespace {
// Whether so much was dropped that the bound should be computed anew before branching.
bool is_much_smaller(std::size_t num_left, std::size_t num_before) {
  return 10 * num_left <= 9 * num_before;
}

void close_upward(const LabelSetCore& core, std::vector<char>& nodes) {
  nodes[0] = 1;
  for (std::uint32_t k = core.size(); k-- > 0;) {
    if (!nodes[k]) continue;
    for (const auto p : core.parents[k]) nodes[p] = 1;
  }
}

}  // namespace

CutSearch::Outcome CutSearch::solve(const LabelSetCore& core, std::int64_t branch_limit,
                                    const SearchGoal& goal) {
  start(core, branch_limit, goal);
  double scale = 0;
  for (const double w : core.weight) scale += std::fabs(w);
  tolerance_ = 1e-13 * scale;
  alive_.assign(core.size(), 1);
  take_core(*problems_[0]);
  search(0);
  selected_ = in_best_;
  selected_.resize(core.size());
  uses_reserve_.assign(core.size(), 0);
  for (const auto t : best_) {
    if (t >= core.size()) uses_reserve_[t - core.size()] = 1;
  }
  return {best_value_, bound(), left_bound_, num_branches_, !gave_up_};
}

void CutSearch::start(const LabelSetCore& core, std::int64_t branch_limit, const SearchGoal& goal) {
  core_ = &core;
  branch_limit_ = branch_limit;
  goal_ = goal;
  left_bound_ = -kInfinity;
  root_bound_ = kInfinity;
  num_branches_ = 0;
  gave_up_ = false;
  best_value_ = -kInfinity;
  best_.clear();
  taken_.clear();
  if (problems_.empty()) problems_.push_back(std::make_unique<TerminalProblem>());
}

double CutSearch::bound() const {
  return std::max(gave_up_ ? std::max(left_bound_, root_bound_) : left_bound_, best_value_);
}

void TerminalProblem::clear() {
  weight.clear();
  is_terminal.clear();
  is_required.clear();
  origin.clear();
  parents.clear();
}

void TerminalProblem::add(double node_weight, bool terminal, bool required,
                          std::uint32_t node_origin) {
  weight.push_back(node_weight);
  is_terminal.push_back(terminal);
  is_required.push_back(required);
  origin.push_back(node_origin);
  parents.end_row();
}

void CutSearch::take_core(TerminalProblem& p) {
  const auto& core = *core_;
  p.clear();
  p.offset = core.weight[0];
  p.needed = !core.grounded[0];
  number_.assign(core.size(), kNoNode);
  for (std::uint32_t k = 0; k < core.size(); ++k) {
    if (k > 0) {
      number_[k] = p.size();
      for (const auto parent : core.parents[k]) p.parents.items.push_back(number_[parent]);
      p.add(core.weight[k], core.grounded[k] != 0, false, k);
    }
    if (core.grounded[k] || core.reserve[k] == kNoReserve) continue;
    if (k > 0) p.parents.items.push_back(number_[k]);
    p.add(core.reserve[k], true, false, core.size() + k);
  }
  finish(p);
}

// to = the problem of the terminals in `keep` and the nodes above them, with the terminal `chosen`
// (or kNoNode) and all nodes above it selected.
void CutSearch::restrict_to(const TerminalProblem& from, std::span<const char> keep,
                            std::uint32_t chosen, TerminalProblem& to) {
  to.clear();
  to.offset = from.offset;
  to.needed = from.needed;
  in_.assign(from.size(), 0);
  mark_useful(from, keep);
  for (std::size_t t = 0; t < from.terminals.size(); ++t) {
    if (from.terminals[t] != chosen) continue;
    for (const auto n : from.above[t]) in_[n] = 1;
  }
  if (chosen != kNoNode) {
    taken_.push_back(from.origin[chosen]);
    to.needed = false;
  }
  number_.assign(from.size(), kNoNode);
  for (std::uint32_t n = 0; n < from.size(); ++n) {
    if (in_[n]) to.offset += from.weight[n];
    if (in_[n] || !useful_[n]) continue;
    const std::size_t begin = to.parents.items.size();
    for (const auto p : from.parents[n]) {
      if (!in_[p]) to.parents.items.push_back(number_[p]);
    }
    const bool is_terminal = from.is_terminal[n] && keep[n];
    if (is_terminal && from.weight[n] > 0 && to.parents.items.size() == begin) {
      in_[n] = 1;  // a terminal worth > 0 with nothing above it
      to.offset += from.weight[n];
      to.needed = false;
      taken_.push_back(from.origin[n]);
      continue;
    }
    number_[n] = to.size();
    to.add(from.weight[n], is_terminal, from.is_required[n] != 0, from.origin[n]);
  }
  finish(to);
}

// useful_ marks the terminals to keep and all nodes above them.
void CutSearch::mark_useful(const TerminalProblem& p, std::span<const char> keep) {
  useful_.assign(p.size(), 0);
  for (const auto t : p.terminals) useful_[t] = keep[t];
  for (std::uint32_t n = p.size(); n-- > 0;) {
    if (!useful_[n]) continue;
    for (const auto parent : p.parents[n]) useful_[parent] = 1;
  }
}

// Appends A(n), n first.
void CutSearch::append_above(const TerminalProblem& p, std::uint32_t n,
                             std::vector<std::uint32_t>& nodes) {
  ++now_;
  std::size_t head = nodes.size();
  nodes.push_back(n);
  for (; head < nodes.size(); ++head) {
    for (const auto parent : p.parents[nodes[head]]) {
      if (stamp_[parent] == now_) continue;
      stamp_[parent] = now_;
      nodes.push_back(parent);
    }
  }
}

void CutSearch::finish(TerminalProblem& p) {
  terminals_below_of_ = nullptr;
  p.terminals.clear();
  p.above.clear();
  stamp_.assign(p.size(), 0);
  now_ = 0;
  for (std::uint32_t n = 0; n < p.size(); ++n) {
    if (!p.is_terminal[n]) continue;
    p.terminals.push_back(n);
    append_above(p, n, p.above.items);
    p.above.end_row();
  }
}

// Searches problems_[depth] and updates the best label set. taken_ is the same afterwards.
void CutSearch::search(std::size_t depth) {
  const std::size_t num_taken = taken_.size();
  ++num_branches_;
  for (bool is_new = true;; is_new = false) {
    const TerminalProblem& p = *problems_[depth];
    chosen_.assign(p.terminals.size(), 0);
    count_.assign(p.size(), 0);
    if (!p.needed) consider(p, p.offset);
    if (p.terminals.empty()) break;
    if (is_new) improve(p);
    if (gave_up_ || num_branches_ > branch_limit_ || goal_.is_out_of_time()) {
      gave_up_ = true;
      break;
    }
    const std::size_t num_kept = drop(p, depth);
    if (num_kept == 0) break;
    if (!is_much_smaller(num_kept, p.terminals.size())) {
      if (num_branches_ == 1) alive_ = nodes_of(p);
      if (num_branches_ >= branch_limit_) {
        gave_up_ = true;
        break;
      }
      if (const std::uint32_t num_parts = p.needed ? 1 : find_parts(p); num_parts > 1) {
        search_parts(depth, num_parts);
        break;
      }
      branch(depth);
    }
    restrict_to(*problems_[depth], keep_, kNoNode, spare_);
    std::swap(*problems_[depth], spare_);
  }
  taken_.resize(num_taken);
}

// Lowers the bound and drops terminals that cannot be in a better label set, until few enough are
// left. keep_ marks those that are kept; returns how many. Cheap bounds come first, then the
// uppermost and the lowest cuts.
std::size_t CutSearch::drop(const TerminalProblem& p, std::size_t depth) {
  struct Attempt {
    bool anew, by_pushes;
    Side side;
  };
  constexpr Attempt kAttempts[] = {{true, false, Side::guided},
                                   {false, true, Side::guided},
                                   {true, true, Side::upper},
                                   {true, true, Side::lower}};
  keep_.assign(p.size(), 1);
  active_.assign(p.size(), 1);
  closure_.set_graph(p.parents);
  std::size_t num_kept = p.terminals.size();
  double upper = 0;
  for (const auto& attempt : kAttempts) {
    side_ = attempt.side;
    if (attempt.anew) upper = p.offset + closure_.solve(p.weight, active_);
    upper = ascend(p, upper, attempt.by_pushes);
    improve_closure(p);
    if (depth == 0) root_bound_ = std::min(root_bound_, upper);
    upper_ = upper;
    const double enough = best_value_ + allowance();
    if (upper <= enough) {
      left_bound_ = std::max(left_bound_, upper);
      return 0;
    }
    num_kept = 0;
    for (std::size_t t = 0; t < p.terminals.size(); ++t) {
      char& keep = keep_[p.terminals[t]];
      if (!keep) continue;
      const double bound = upper - demand_above(p, t);
      keep = bound > enough;
      if (!keep) left_bound_ = std::max(left_bound_, bound);
      num_kept += keep != 0;
    }
    if (is_much_smaller(num_kept, p.terminals.size())) break;
  }
  return num_kept;
}

// The bound on the label sets with terminal t is lower than the bound by this amount.
double CutSearch::demand_above(const TerminalProblem& p, std::size_t t) const {
  double demand = 0;
  for (const auto n : p.above[t]) demand += closure_.demand(n);
  return demand;
}

// improve() from the terminals of the closure.
void CutSearch::improve_closure(const TerminalProblem& p) {
  bool any = false;
  count_.assign(p.size(), 0);
  for (std::size_t t = 0; t < p.terminals.size(); ++t) {
    chosen_[t] = closure_.selected(p.terminals[t]);
    if (!chosen_[t]) continue;
    any = true;
    for (const auto n : p.above[t]) ++count_[n];
  }
  if (any) improve(p);
}

// The nodes of the core that are in p or taken, and all above them.
std::vector<char> CutSearch::nodes_of(const TerminalProblem& p) const {
  std::vector<char> nodes(core_->size(), 0);
  const auto add = [&](std::uint32_t origin) {
    nodes[origin >= core_->size() ? origin - core_->size() : origin] = 1;
  };
  for (const auto origin : p.origin) add(origin);
  for (const auto origin : taken_) add(origin);
  close_upward(*core_, nodes);
  return nodes;
}

// The weight of the nodes in A(t) that have `count` chosen terminals below them.
double CutSearch::change(const TerminalProblem& p, std::size_t t, std::uint32_t count) const {
  double sum = 0;
  for (const auto n : p.above[t]) {
    if (count_[n] == count) sum += p.weight[n];
  }
  return sum;
}

// The change of the value when t is removed (if it is chosen) or added.
double CutSearch::gain(const TerminalProblem& p, std::size_t t) const {
  return chosen_[t] ? -change(p, t, 1) : change(p, t, 0);
}

// Local search from chosen_ and count_: removes or adds single terminals while that raises the
// value.
void CutSearch::improve(const TerminalProblem& p) {
  std::size_t num_chosen = 0;
  for (const char c : chosen_) num_chosen += c != 0;
  gain_.resize(p.terminals.size());
  for (std::size_t t = 0; t < p.terminals.size(); ++t) gain_[t] = gain(p, t);
  for (int step = 0; step < 200; ++step) {
    std::size_t best = p.terminals.size();
    double best_gain = 0;
    for (std::size_t t = 0; t < p.terminals.size(); ++t) {
      if (chosen_[t] && num_chosen == 1 && p.needed) continue;
      const bool forced = p.needed && num_chosen == 0;
      if ((forced && best == p.terminals.size()) || gain_[t] > best_gain) {
        best = t;
        best_gain = gain_[t];
      }
    }
    if (best == p.terminals.size()) break;
    if (chosen_[best])
      --num_chosen;
    else
      ++num_chosen;
    flip(p, best);
  }
  if (p.needed && num_chosen == 0) return;
  double value = p.offset;
  for (std::uint32_t n = 0; n < p.size(); ++n) {
    if (count_[n] > 0) value += p.weight[n];
  }
  consider(p, value);
}

// Removes or adds t and updates chosen_, count_ and gain_.
void CutSearch::flip(const TerminalProblem& p, std::size_t t) {
  if (terminals_below_of_ != &p) find_terminals_below(p);
  chosen_[t] = !chosen_[t];
  changed_.assign(1, static_cast<std::uint32_t>(t));
  for (const auto n : p.above[t]) chosen_[t] ? ++count_[n] : --count_[n];
  // The terminals that would be the first, or are the only one, below n may have changed.
  for (const auto n : p.above[t]) {
    const std::uint32_t before = chosen_[t] ? count_[n] - 1 : count_[n] + 1;
    const bool of_chosen = std::max(before, count_[n]) == 2;
    if (std::max(before, count_[n]) > 2) continue;
    for (const std::uint32_t other : terminals_below_[n]) {
      if ((chosen_[other] != 0) == of_chosen) changed_.push_back(other);
    }
  }
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const auto other : changed_) gain_[other] = gain(p, other);
}

void CutSearch::find_terminals_below(const TerminalProblem& p) {
  terminals_below_of_ = &p;
  terminals_below_.items.resize(p.above.items.size());
  const auto pairs = [&](const auto& visit) {
    for (std::uint32_t t = 0; t < p.above.size(); ++t) {
      for (const auto n : p.above[t]) visit(n, t);
    }
  };
  group_by_key(p.size(), pairs, terminals_below_.pointers,
               [&](std::size_t place, std::uint32_t t) { terminals_below_.items[place] = t; });
}

void CutSearch::consider(const TerminalProblem& p, double value) {
  if (value <= best_value_) return;
  best_value_ = value;
  best_ = taken_;
  for (std::size_t t = 0; t < p.terminals.size(); ++t) {
    if (chosen_[t]) best_.push_back(p.origin[p.terminals[t]]);
  }
  in_best_.assign(2 * std::size_t{core_->size()}, 0);
  for (const auto t : best_) {
    in_best_[t] = 1;
    if (t >= core_->size()) in_best_[t - core_->size()] = 1;
  }
  close_upward(*core_, in_best_);
}

}  // namespace margrove::detail
