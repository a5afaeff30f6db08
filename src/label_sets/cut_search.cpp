// The bound of docs/notation.md, "How label sets are found", steps 3 and 4 (dual ascent after
// R. T. Wong, A dual ascent approach for Steiner tree problems on a directed graph, 1984).

#include "label_sets/cut_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace margrove::detail {
namespace {
constexpr std::uint32_t kRoot = kNoNode;  // above all nodes of a problem
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Worth a problem of its own instead of a branch.
bool is_much_smaller(std::size_t num_left, std::size_t num_before) {
  return 10 * num_left <= 9 * num_before;
}

void close_upward(const LabelSetCore& core, std::vector<char>& nodes) {
  nodes[0] = 1;
  for (std::uint32_t k = core.size(); k-- > 0;) {
    if (!nodes[k]) continue;
    for (const auto p : core.parents(k)) nodes[p] = 1;
  }
}

}  // namespace

CutSearch::Outcome CutSearch::solve(const LabelSetCore& core, std::int64_t branch_limit,
                                    const SearchGoal& goal, std::span<const char> known) {
  start(core, branch_limit, goal);
  double scale = 0;
  for (const double w : core.weight) scale += std::fabs(w);
  tolerance_ = 1e-13 * scale;
  alive_.assign(core.size(), 1);
  take_core(*problems_[0]);
  if (!known.empty()) improve_known(*problems_[0], known);
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

void CutSearch::take_core(TerminalProblem& p) {
  const auto& core = *core_;
  p.offset = core.weight[0];
  p.needed = !core.grounded[0];
  p.weight.clear();
  p.is_terminal.clear();
  p.origin.clear();
  p.up_pointers.assign(1, 0);
  p.up_nodes.clear();
  number_.assign(core.size(), kNoNode);
  const auto add = [&](double weight, bool is_terminal, std::uint32_t origin) {
    p.weight.push_back(weight);
    p.is_terminal.push_back(is_terminal);
    p.origin.push_back(origin);
    p.up_pointers.push_back(static_cast<std::uint32_t>(p.up_nodes.size()));
  };
  for (std::uint32_t k = 0; k < core.size(); ++k) {
    if (k > 0) {
      number_[k] = p.size();
      for (const auto parent : core.parents(k)) p.up_nodes.push_back(number_[parent]);
      add(core.weight[k], core.grounded[k] != 0, k);
    }
    if (core.grounded[k] || core.reserve[k] == kNoReserve) continue;
    if (k > 0) p.up_nodes.push_back(number_[k]);
    add(core.reserve[k], true, core.size() + k);
  }
  p.is_required.assign(p.size(), 0);
  finish(p);
}

// `to`: the terminals that keep_ allows, and what is above them; `chosen` (or kNoNode) and all
// above it are in.
void CutSearch::restrict_to(const TerminalProblem& from, std::span<const char> keep,
                            std::uint32_t chosen, TerminalProblem& to) {
  to.offset = from.offset;
  to.needed = from.needed;
  to.weight.clear();
  to.is_terminal.clear();
  to.is_required.clear();
  to.origin.clear();
  to.up_pointers.assign(1, 0);
  to.up_nodes.clear();
  in_.assign(from.size(), 0);
  mark_useful(from, keep);
  for (std::size_t t = 0; t < from.terminals.size(); ++t) {
    if (from.terminals[t] != chosen) continue;
    for (const auto n : from.above(t)) in_[n] = 1;
  }
  if (chosen != kNoNode) {
    taken_.push_back(from.origin[chosen]);
    to.needed = false;
  }
  number_.assign(from.size(), kNoNode);
  for (std::uint32_t n = 0; n < from.size(); ++n) {
    if (in_[n]) to.offset += from.weight[n];
    if (in_[n] || !useful_[n]) continue;
    const std::size_t begin = to.up_nodes.size();
    for (const auto p : from.parents(n)) {
      if (!in_[p]) to.up_nodes.push_back(number_[p]);
    }
    const bool is_terminal = from.is_terminal[n] && keep[n];
    if (is_terminal && from.weight[n] > 0 && to.up_nodes.size() == begin) {
      in_[n] = 1;  // costs nothing
      to.offset += from.weight[n];
      to.needed = false;
      taken_.push_back(from.origin[n]);
      continue;
    }
    number_[n] = to.size();
    to.weight.push_back(from.weight[n]);
    to.is_terminal.push_back(is_terminal);
    to.is_required.push_back(from.is_required[n]);
    to.origin.push_back(from.origin[n]);
    to.up_pointers.push_back(static_cast<std::uint32_t>(to.up_nodes.size()));
  }
  finish(to);
}

// useful_: the terminals to keep, and what is above them.
void CutSearch::mark_useful(const TerminalProblem& p, std::span<const char> keep) {
  useful_.assign(p.size(), 0);
  for (const auto t : p.terminals) useful_[t] = keep[t];
  for (std::uint32_t n = p.size(); n-- > 0;) {
    if (!useful_[n]) continue;
    for (const auto parent : p.parents(n)) useful_[parent] = 1;
  }
}

// Appends A(n), n first.
void CutSearch::append_above(const TerminalProblem& p, std::uint32_t n,
                             std::vector<std::uint32_t>& nodes) {
  ++now_;
  std::size_t head = nodes.size();
  nodes.push_back(n);
  for (; head < nodes.size(); ++head) {
    for (const auto parent : p.parents(nodes[head])) {
      if (stamp_[parent] == now_) continue;
      stamp_[parent] = now_;
      nodes.push_back(parent);
    }
  }
}

void CutSearch::finish(TerminalProblem& p) {
  terminals_below_of_ = nullptr;
  p.terminals.clear();
  p.above_pointers.assign(1, 0);
  p.above_nodes.clear();
  stamp_.assign(p.size(), 0);
  now_ = 0;
  for (std::uint32_t n = 0; n < p.size(); ++n) {
    if (!p.is_terminal[n]) continue;
    p.terminals.push_back(n);
    append_above(p, n, p.above_nodes);
    p.above_pointers.push_back(static_cast<std::uint32_t>(p.above_nodes.size()));
  }
}

// Leaves taken_ as it was.
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
    if (gave_up_ || num_branches_ > branch_limit_) {
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

// Keeps, in keep_, the terminals that may be in a better label set, until few enough are left;
// returns how many. Cheap bounds come first, and cuts on either side.
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
  closure_.set_graph(p.up_pointers, p.up_nodes);
  std::size_t num_kept = p.terminals.size();
  double upper = 0;
  for (const auto& attempt : kAttempts) {
    side_ = attempt.side;
    if (attempt.anew) upper = p.offset + closure_.solve(p.weight, active_, true);
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
      const double bound = upper - missing_above(p, t);
      keep = bound > enough;
      if (!keep) left_bound_ = std::max(left_bound_, bound);
      num_kept += keep != 0;
    }
    if (is_much_smaller(num_kept, p.terminals.size())) break;
  }
  return num_kept;
}

// What is open in A(t): by how much t lowers the bound.
double CutSearch::missing_above(const TerminalProblem& p, std::size_t t) const {
  double missing = 0;
  for (const auto n : p.above(t)) missing += closure_.missing(n);
  return missing;
}

// From the terminals of the closure.
void CutSearch::improve_closure(const TerminalProblem& p) {
  bool any = false;
  count_.assign(p.size(), 0);
  for (std::size_t t = 0; t < p.terminals.size(); ++t) {
    chosen_[t] = closure_.selected(p.terminals[t]);
    if (!chosen_[t]) continue;
    any = true;
    for (const auto n : p.above(t)) ++count_[n];
  }
  if (any) improve(p);
}

// From a label set known from elsewhere.
void CutSearch::improve_known(const TerminalProblem& p, std::span<const char> known) {
  chosen_.assign(p.terminals.size(), 0);
  count_.assign(p.size(), 0);
  bool any = false;
  for (std::size_t t = 0; t < p.terminals.size(); ++t) {
    chosen_[t] = known[p.origin[p.terminals[t]]];
    if (!chosen_[t]) continue;
    any = true;
    for (const auto n : p.above(t)) ++count_[n];
  }
  if (any) improve(p);
}

// Of the core: what is in p, taken, or above that.
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

// Lowers the bound on the flow at hand.
double CutSearch::ascend(const TerminalProblem& p, double upper, bool by_pushes) {
  const int most_rounds = by_pushes ? 5 : 1;  // lengths gain all they can at once
  for (int round = 0; round < most_rounds && upper > best_value_ + allowance(); ++round) {
    completed_.assign(p.size(), 0);
    bool any_completed = false;
    for (std::uint32_t n = p.size(); n-- > 0;) {
      if (p.is_terminal[n] && closure_.selected(n)) completed_[n] = any_completed = true;
      if (!completed_[n]) continue;
      for (const auto parent : p.parents(n)) completed_[parent] = 1;
    }
    double gained = 0;
    const auto raise = [&](std::uint32_t n) {
      const double gap = upper - gained - best_value_;
      if (gap <= allowance()) return;
      gained += by_pushes ? raise_by_pushes(p, n, gap) : raise_by_lengths(p, n, gap);
    };
    for (std::uint32_t n = p.size(); n-- > 0;) {
      if (closure_.selected(n) && !completed_[n]) raise(n);
    }
    if (p.needed && !any_completed) raise(kRoot);
    upper -= gained;
    closure_.mark_selected();
    if (gained <= 0.02 * (upper - best_value_)) break;
  }
  return upper;
}

// below_: D(k) without k, parents first.
void CutSearch::find_below(const TerminalProblem& p, std::uint32_t k) {
  below_.clear();
  if (k == kRoot) {
    for (std::uint32_t n = 0; n < p.size(); ++n) below_.push_back(n);
    return;
  }
  ++now_;
  const auto reach = [&](std::uint32_t n) {
    for (const auto c : closure_.children(n)) {
      if (stamp_[c] == now_) continue;
      stamp_[c] = now_;
      below_.push_back(c);
    }
  };
  reach(k);
  for (std::size_t head = 0; head < below_.size(); ++head) reach(below_[head]);
  if (below_.size() * 16 < p.size()) {
    std::sort(below_.begin(), below_.end());
  } else {
    below_.clear();
    for (std::uint32_t n = k + 1; n < p.size(); ++n) {
      if (stamp_[n] == now_) below_.push_back(n);
    }
  }
}

// All cuts between k and the terminals below it that the open demands of the nodes themselves can
// pay. These are lengths, and the price of k rises by the distance of the nearest terminal: a node
// pays for the cuts beyond its own distance from k, or from the nearest terminal below it.
double CutSearch::raise_by_lengths(const TerminalProblem& p, std::uint32_t k, double most) {
  if (k != kRoot) most = std::min(most, closure_.supply(k));
  if (most <= tolerance_) return 0;
  find_below(p, k);
  length_.resize(p.size());
  const double nearest =
      cuts_near_root(p, k) ? lengths_from_above(p, k, most) : lengths_from_below(p, k, most);
  if (nearest <= tolerance_) return 0;
  if (k != kRoot) closure_.pull_own(k, nearest);
  for (const auto n : below_) {
    if (length_[n] < nearest) closure_.push_own(n, nearest - length_[n]);
  }
  return nearest;
}

// length_: of the shortest path from k to n without n. Returns that to the nearest terminal.
double CutSearch::lengths_from_above(const TerminalProblem& p, std::uint32_t k, double most) {
  for (const auto n : below_) length_[n] = kInfinity;
  if (k != kRoot) {
    for (const auto c : closure_.children(k)) length_[c] = 0;
  }
  double nearest = most;
  for (const auto n : below_) {
    if (k == kRoot && p.parents(n).empty()) length_[n] = 0;
    const double beyond = length_[n] + closure_.missing(n);
    if (p.is_terminal[n]) nearest = std::min(nearest, beyond);
    if (beyond >= nearest) continue;
    for (const auto c : closure_.children(n)) length_[c] = std::min(length_[c], beyond);
  }
  return nearest;
}

// length_: of the shortest path from n without n to a terminal below it. Returns that from k.
double CutSearch::lengths_from_below(const TerminalProblem& p, std::uint32_t k, double most) {
  double nearest = most;
  for (std::size_t place = below_.size(); place-- > 0;) {
    const std::uint32_t n = below_[place];
    length_[n] = p.is_terminal[n] ? 0.0 : kInfinity;
    for (const auto c : closure_.children(n)) {
      length_[n] = std::min(length_[n], length_[c] + closure_.missing(c));
    }
    if (k == kRoot && p.parents(n).empty()) {
      nearest = std::min(nearest, length_[n] + closure_.missing(n));
    }
  }
  if (k == kRoot) return nearest;
  for (const auto c : closure_.children(k)) {
    nearest = std::min(nearest, length_[c] + closure_.missing(c));
  }
  return nearest;
}

// A label set meets a bound only if it has one node of each cut that was paid.
bool CutSearch::cuts_near_root(const TerminalProblem& p, std::uint32_t k) const {
  if (side_ != Side::guided) return side_ == Side::upper;
  int num_terminals = 0, num_uppermost = 0;
  for (const auto n : below_) {
    if (!in_best_[p.origin[n]]) continue;
    num_terminals += p.is_terminal[n];
    num_uppermost += k == kRoot && p.parents(n).empty();
  }
  if (num_terminals <= 1) return false;
  if (k != kRoot) {
    for (const auto c : closure_.children(k)) num_uppermost += in_best_[p.origin[c]];
  }
  return num_uppermost < num_terminals;
}

// One cut after the other; their nodes may use what is open above them. Nodes that can take nothing
// are tight; a cut lies beyond those on its side.
double CutSearch::raise_by_pushes(const TerminalProblem& p, std::uint32_t k, double most) {
  constexpr int kMostSteps = 200;
  constexpr double kWorthwhile = 0.002;  // a step, of what is wanted in all
  tight_.assign(p.size(), 0);
  open_.assign(p.is_terminal.begin(), p.is_terminal.end());
  find_below(p, k);
  const bool near_root = cuts_near_root(p, k);
  double raised = 0;
  for (int step = 0; step < kMostSteps && most - raised > tolerance_; ++step) {
    if (!(near_root ? find_upper_cut(p, k) : find_lower_cut(p, k))) break;
    closure_.start_journal();
    const double wanted = k == kRoot ? most - raised : closure_.pull(k, most - raised);
    if (wanted <= tolerance_) {
      closure_.undo_journal();
      break;
    }
    double taken = wanted;
    bool any_tight = false;
    for (const auto c : cut_) {
      const double part = closure_.push(c, taken);
      if (part <= tolerance_) {
        tight_[c] = 1;
        any_tight = true;
      } else {
        taken = std::min(taken, part);
      }
    }
    if (any_tight || taken < wanted) closure_.undo_journal();
    if (any_tight) continue;
    if (taken < wanted) {
      if (k != kRoot) closure_.pull(k, taken);
      for (const auto c : cut_) closure_.push(c, taken);
    }
    raised += taken;
    if (taken < kWorthwhile * most) break;
  }
  closure_.stop_journal();
  return raised;
}

// cut_: the first nodes that are not tight on the paths down from k; false if a path of tight nodes
// ends at a terminal.
bool CutSearch::find_upper_cut(const TerminalProblem& p, std::uint32_t k) {
  ++now_;
  cut_.clear();
  queue_.clear();
  bool is_cut = true;
  const auto reach = [&](std::uint32_t n) {
    if (stamp_[n] == now_) return;
    stamp_[n] = now_;
    if (!tight_[n]) {
      cut_.push_back(n);
      return;
    }
    is_cut = is_cut && !p.is_terminal[n];
    queue_.push_back(n);
  };
  if (k == kRoot) {
    for (const auto n : below_) {
      if (p.parents(n).empty()) reach(n);
    }
  } else {
    for (const auto c : closure_.children(k)) reach(c);
  }
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    for (const auto c : closure_.children(queue_[head])) reach(c);
  }
  return is_cut;
}

// cut_: the first nodes that are not tight on the paths up from the terminals below k; false if a
// path of tight nodes ends at k. open_ tells terminals, before and after.
bool CutSearch::find_lower_cut(const TerminalProblem& p, std::uint32_t k) {
  cut_.clear();
  bool is_cut = true;
  for (std::size_t place = below_.size(); place-- > 0;) {
    const std::uint32_t n = below_[place];
    if (!open_[n]) continue;
    open_[n] = p.is_terminal[n];
    if (!tight_[n]) {
      cut_.push_back(n);
      continue;
    }
    is_cut = is_cut && !(k == kRoot && p.parents(n).empty());
    for (const auto parent : p.parents(n)) {
      is_cut = is_cut && parent != k;
      open_[parent] = 1;
    }
  }
  return is_cut;
}

// Of the nodes of A(t) that `count` chosen terminals are below.
double CutSearch::change(const TerminalProblem& p, std::size_t t, std::uint32_t count) const {
  double sum = 0;
  for (const auto n : p.above(t)) {
    if (count_[n] == count) sum += p.weight[n];
  }
  return sum;
}

// By dropping or adding t.
double CutSearch::gain(const TerminalProblem& p, std::size_t t) const {
  return chosen_[t] ? -change(p, t, 1) : change(p, t, 0);
}

// chosen_ (by place in terminals) and count_: drops and adds single terminals while that helps.
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

// chosen_, count_ and gain_ with t dropped or added.
void CutSearch::flip(const TerminalProblem& p, std::size_t t) {
  if (terminals_below_of_ != &p) find_terminals_below(p);
  chosen_[t] = !chosen_[t];
  changed_.assign(1, static_cast<std::uint32_t>(t));
  for (const auto n : p.above(t)) chosen_[t] ? ++count_[n] : --count_[n];
  // Who would be the first or is the only one below n no longer is, or is again.
  for (const auto n : p.above(t)) {
    const std::uint32_t before = chosen_[t] ? count_[n] - 1 : count_[n] + 1;
    const bool of_chosen = std::max(before, count_[n]) == 2;
    if (std::max(before, count_[n]) > 2) continue;
    for (std::uint32_t k = terminals_below_pointers_[n]; k < terminals_below_pointers_[n + 1];
         ++k) {
      const std::uint32_t other = terminals_below_[k];
      if ((chosen_[other] != 0) == of_chosen) changed_.push_back(other);
    }
  }
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const auto other : changed_) gain_[other] = gain(p, other);
}

// By place in terminals; one row per node.
void CutSearch::find_terminals_below(const TerminalProblem& p) {
  terminals_below_of_ = &p;
  terminals_below_pointers_.assign(p.size() + std::size_t{2}, 0);
  terminals_below_.resize(p.above_nodes.size());
  for (const auto n : p.above_nodes) ++terminals_below_pointers_[n + std::size_t{2}];
  std::partial_sum(terminals_below_pointers_.begin(), terminals_below_pointers_.end(),
                   terminals_below_pointers_.begin());
  for (std::size_t t = 0; t < p.terminals.size(); ++t) {
    for (const auto n : p.above(t)) {
      terminals_below_[terminals_below_pointers_[n + std::size_t{1}]++] =
          static_cast<std::uint32_t>(t);
    }
  }
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
