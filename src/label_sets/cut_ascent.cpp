// The bound of the search by cuts: dual ascent after R. T. Wong, A dual ascent approach for Steiner
// tree problems on a directed graph, 1984 (docs/notation.md, "How label sets are found", step 3).

#include <algorithm>

#include "label_sets/cut_search.hpp"

namespace margrove::detail {
namespace {
constexpr std::uint32_t kProblemRoot = kNoNode;  // above all nodes of a problem
}  // namespace

// Lowers the bound `upper` by dual ascent from the present flow, and returns it.
double CutSearch::ascend(const TerminalProblem& p, double upper, bool by_pushes) {
  const int most_rounds = by_pushes ? 5 : 1;  // a second round by lengths would gain nothing
  for (int round = 0; round < most_rounds && upper > best_value_ + allowance(); ++round) {
    completed_.assign(p.size(), 0);
    bool any_completed = false;
    for (std::uint32_t n = p.size(); n-- > 0;) {
      if (p.is_terminal[n] && closure_.selected(n)) completed_[n] = any_completed = true;
      if (!completed_[n]) continue;
      for (const auto parent : p.parents[n]) completed_[parent] = 1;
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
    if (p.needed && !any_completed) raise(kProblemRoot);
    upper -= gained;
    closure_.mark_selected();
    if (gained <= 0.02 * (upper - best_value_)) break;
  }
  return upper;
}

// below_ = D(k) without k, parents first.
void CutSearch::find_below(const TerminalProblem& p, std::uint32_t k) {
  below_.clear();
  if (k == kProblemRoot) {
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

// Raises many cuts between k and the terminals below it at once, as far as the demands of their
// nodes allow. With demands as lengths, the price of k rises by the distance of the nearest
// terminal. A node at distance l from k (or from the nearest terminal below it) takes what remains
// beyond l.
double CutSearch::raise_by_lengths(const TerminalProblem& p, std::uint32_t k, double most) {
  if (k != kProblemRoot) most = std::min(most, closure_.supply(k));
  if (most <= tolerance_) return 0;
  find_below(p, k);
  length_.resize(p.size());
  const double nearest =
      cuts_near_root(p, k) ? lengths_from_above(p, k, most) : lengths_from_below(p, k, most);
  if (nearest <= tolerance_) return 0;
  if (k != kProblemRoot) closure_.pull_own(k, nearest);
  for (const auto n : below_) {
    if (length_[n] < nearest) closure_.push_own(n, nearest - length_[n]);
  }
  return nearest;
}

// length_[n] = the length of the shortest path from k to n without n. Returns the distance of the
// nearest terminal.
double CutSearch::lengths_from_above(const TerminalProblem& p, std::uint32_t k, double most) {
  for (const auto n : below_) length_[n] = kInfinity;
  if (k != kProblemRoot) {
    for (const auto c : closure_.children(k)) length_[c] = 0;
  }
  double nearest = most;
  for (const auto n : below_) {
    if (k == kProblemRoot && p.parents[n].empty()) length_[n] = 0;
    const double beyond = length_[n] + closure_.demand(n);
    if (p.is_terminal[n]) nearest = std::min(nearest, beyond);
    if (beyond >= nearest) continue;
    for (const auto c : closure_.children(n)) length_[c] = std::min(length_[c], beyond);
  }
  return nearest;
}

// length_[n] = the length of the shortest path from n to a terminal below it, without n. Returns
// the distance of the terminal nearest to k.
double CutSearch::lengths_from_below(const TerminalProblem& p, std::uint32_t k, double most) {
  double nearest = most;
  for (std::size_t place = below_.size(); place-- > 0;) {
    const std::uint32_t n = below_[place];
    length_[n] = p.is_terminal[n] ? 0.0 : kInfinity;
    for (const auto c : closure_.children(n)) {
      length_[n] = std::min(length_[n], length_[c] + closure_.demand(c));
    }
    if (k == kProblemRoot && p.parents[n].empty()) {
      nearest = std::min(nearest, length_[n] + closure_.demand(n));
    }
  }
  if (k == kProblemRoot) return nearest;
  for (const auto c : closure_.children(k)) {
    nearest = std::min(nearest, length_[c] + closure_.demand(c));
  }
  return nearest;
}

// Whether the uppermost cuts have fewer nodes of the best label set than the lowest ones. A label
// set attains the bound only if it has exactly one node of each cut that was raised.
bool CutSearch::cuts_near_root(const TerminalProblem& p, std::uint32_t k) const {
  if (side_ != Side::guided) return side_ == Side::upper;
  int num_terminals = 0, num_uppermost = 0;
  for (const auto n : below_) {
    if (!in_best_[p.origin[n]]) continue;
    num_terminals += p.is_terminal[n];
    num_uppermost += k == kProblemRoot && p.parents[n].empty();
  }
  if (num_terminals <= 1) return false;
  if (k != kProblemRoot) {
    for (const auto c : closure_.children(k)) num_uppermost += in_best_[p.origin[c]];
  }
  return num_uppermost < num_terminals;
}

// Raises one cut after the other. The nodes of a cut may push flow to demands above them. A node
// that can take nothing is tight; the next cut lies beyond the tight nodes.
double CutSearch::raise_by_pushes(const TerminalProblem& p, std::uint32_t k, double most) {
  constexpr int kMaxSteps = 200;
  constexpr double kWorthwhile = 0.002;  // the least rise per step, as a share of `most`
  tight_.assign(p.size(), 0);
  open_.assign(p.is_terminal.begin(), p.is_terminal.end());
  find_below(p, k);
  const bool near_root = cuts_near_root(p, k);
  double raised = 0;
  for (int step = 0; step < kMaxSteps && most - raised > tolerance_; ++step) {
    if (!(near_root ? find_upper_cut(p, k) : find_lower_cut(p, k))) break;
    closure_.start_journal();
    const double wanted = k == kProblemRoot ? most - raised : closure_.pull(k, most - raised);
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
      if (k != kProblemRoot) closure_.pull(k, taken);
      for (const auto c : cut_) closure_.push(c, taken);
    }
    raised += taken;
    if (taken < kWorthwhile * most) break;
  }
  closure_.stop_journal();
  return raised;
}

// cut_ = the first nodes that are not tight on the paths down from k. Returns false if a path of
// tight nodes ends at a terminal.
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
  if (k == kProblemRoot) {
    for (const auto n : below_) {
      if (p.parents[n].empty()) reach(n);
    }
  } else {
    for (const auto c : closure_.children(k)) reach(c);
  }
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    for (const auto c : closure_.children(queue_[head])) reach(c);
  }
  return is_cut;
}

// cut_ = the first nodes that are not tight on the paths up from the terminals below k. Returns
// false if a path of tight nodes ends at k. open_ marks the terminals, before the call and after
// it.
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
    is_cut = is_cut && !(k == kProblemRoot && p.parents[n].empty());
    for (const auto parent : p.parents[n]) {
      is_cut = is_cut && parent != k;
      open_[parent] = 1;
    }
  }
  return is_cut;
}

}  // namespace margrove::detail
