#include "label_sets/cut_ascent.hpp"

#include <algorithm>

namespace margrove::detail {
namespace {
constexpr std::uint32_t kProblemRoot = kNoNode;  // above all nodes of a problem
}  // namespace

void CutAscent::start(const TerminalProblem& p, const Incumbent& best) {
  p_ = &p;
  best_ = &best;
  closure_.set_graph(p.parents);
  all_.assign(p.size(), 1);
  marks_.reset(p.size());
  tops_.clear();
  for (std::uint32_t n = 0; n < p.size(); ++n) {
    if (p.parents[n].empty()) tops_.push_back(n);
  }
}

double CutAscent::bound_anew() { return p_->offset + closure_.solve(p_->weight, all_); }

std::span<const std::uint32_t> CutAscent::children(std::uint32_t k) const {
  return k == kProblemRoot ? std::span(tops_) : closure_.children(k);
}

double CutAscent::lower(double upper, Side side, bool by_pushes) {
  side_ = side;
  const int most_rounds = by_pushes ? 5 : 1;  // a second round by lengths would gain nothing
  for (int round = 0; round < most_rounds && upper > best_->enough(); ++round) {
    find_completed();
    double gained = 0;
    const auto raise = [&](std::uint32_t n) {
      const double gap = upper - gained - best_->value();
      if (gap <= best_->allowance()) return;
      gained += by_pushes ? raise_by_pushes(n, gap) : raise_by_lengths(n, gap);
    };
    for (std::uint32_t n = p_->size(); n-- > 0;) {
      if (closure_.selected(n) && !completed_[n]) raise(n);
    }
    if (p_->needed && !any_completed_) raise(kProblemRoot);
    upper -= gained;
    closure_.mark_selected();
    if (gained <= 0.02 * (upper - best_->value())) break;
  }
  return upper;
}

void CutAscent::find_completed() {
  const TerminalProblem& p = *p_;
  completed_.assign(p.size(), 0);
  any_completed_ = false;
  for (std::uint32_t n = p.size(); n-- > 0;) {
    if (p.is_terminal[n] && closure_.selected(n)) completed_[n] = any_completed_ = true;
    if (!completed_[n]) continue;
    for (const auto parent : p.parents[n]) completed_[parent] = 1;
  }
}

double CutAscent::demand_above(std::size_t t) const {
  double demand = 0;
  for (const auto n : p_->above[t]) demand += closure_.demand(n);
  return demand;
}

double CutAscent::supply_above(std::uint32_t n) {
  queue_.clear();
  p_->append_above(n, marks_, queue_);
  double supply = 0;
  for (const auto a : queue_) {
    if (closure_.selected(a) && !completed_[a]) supply += closure_.supply(a);
  }
  return supply;
}

// below_ = D(k) without k, parents first.
void CutAscent::find_below(std::uint32_t k) {
  const std::uint32_t size = p_->size();
  below_.clear();
  if (k == kProblemRoot) {
    for (std::uint32_t n = 0; n < size; ++n) below_.push_back(n);
    return;
  }
  marks_.clear();
  const auto reach = [&](std::uint32_t n) {
    for (const auto c : closure_.children(n)) {
      if (marks_.add(c)) below_.push_back(c);
    }
  };
  reach(k);
  for (std::size_t head = 0; head < below_.size(); ++head) reach(below_[head]);
  if (below_.size() * 16 < size) {
    std::sort(below_.begin(), below_.end());
  } else {
    below_.clear();
    for (std::uint32_t n = k + 1; n < size; ++n) {
      if (marks_.contains(n)) below_.push_back(n);
    }
  }
}

// Raises many cuts between k and the terminals below it at once, as far as the demands of their
// nodes allow. With demands as lengths, the price of k rises by the distance of the nearest
// terminal. A node at distance l from k (or from the nearest terminal below it) takes what remains
// beyond l.
double CutAscent::raise_by_lengths(std::uint32_t k, double most) {
  if (k != kProblemRoot) most = std::min(most, closure_.supply(k));
  if (most <= best_->tolerance()) return 0;
  find_below(k);
  length_.resize(p_->size());
  const double nearest =
      cuts_near_root(k) ? lengths_from_above(k, most) : lengths_from_below(k, most);
  if (nearest <= best_->tolerance()) return 0;
  if (k != kProblemRoot) closure_.pull_own(k, nearest);
  for (const auto n : below_) {
    if (length_[n] < nearest) closure_.push_own(n, nearest - length_[n]);
  }
  return nearest;
}

// length_[n] = the length of the shortest path from k to n without n. Returns the distance of the
// nearest terminal, or `most` if that is less.
double CutAscent::lengths_from_above(std::uint32_t k, double most) {
  for (const auto n : below_) length_[n] = kInfiniteValue;
  for (const auto c : children(k)) length_[c] = 0;
  double nearest = most;
  for (const auto n : below_) {
    const double beyond = length_[n] + closure_.demand(n);
    if (p_->is_terminal[n]) nearest = std::min(nearest, beyond);
    if (beyond >= nearest) continue;
    for (const auto c : closure_.children(n)) length_[c] = std::min(length_[c], beyond);
  }
  return nearest;
}

// length_[n] = the length of the shortest path from n to a terminal below it, without n. Returns
// the distance of the terminal nearest to k, or `most` if that is less.
double CutAscent::lengths_from_below(std::uint32_t k, double most) {
  for (std::size_t place = below_.size(); place-- > 0;) {
    const std::uint32_t n = below_[place];
    length_[n] = p_->is_terminal[n] ? 0.0 : kInfiniteValue;
    for (const auto c : closure_.children(n)) {
      length_[n] = std::min(length_[n], length_[c] + closure_.demand(c));
    }
  }
  double nearest = most;
  for (const auto c : children(k)) nearest = std::min(nearest, length_[c] + closure_.demand(c));
  return nearest;
}

// Whether the uppermost cuts have fewer nodes of the best label set than the lowest ones. A label
// set attains the bound only if it has exactly one node of each cut that was raised.
bool CutAscent::cuts_near_root(std::uint32_t k) const {
  if (side_ != Side::guided) return side_ == Side::upper;
  const TerminalProblem& p = *p_;
  const auto is_in_best = [&](std::uint32_t n) { return best_->contains(p.origin[n]); };
  const auto num_terminals = std::ranges::count_if(
      below_, [&](std::uint32_t n) { return is_in_best(n) && p.is_terminal[n]; });
  return num_terminals > 1 && std::ranges::count_if(children(k), is_in_best) < num_terminals;
}

// Raises one cut after the other. The nodes of a cut may push flow to demands above them. A node
// that can take nothing is tight; the next cut lies beyond the tight nodes.
double CutAscent::raise_by_pushes(std::uint32_t k, double most) {
  constexpr int kMaxSteps = 200;
  constexpr double kWorthwhile = 0.002;  // the least rise per step, as a share of `most`
  const double tolerance = best_->tolerance();
  tight_.assign(p_->size(), 0);
  open_.assign(p_->is_terminal.begin(), p_->is_terminal.end());
  find_below(k);
  const bool near_root = cuts_near_root(k);
  double raised = 0;
  for (int step = 0; step < kMaxSteps && most - raised > tolerance; ++step) {
    if (!(near_root ? find_upper_cut(k) : find_lower_cut(k))) break;
    closure_.start_journal();
    const double wanted = k == kProblemRoot ? most - raised : closure_.pull(k, most - raised);
    if (wanted <= tolerance) {
      closure_.undo_journal();
      break;
    }
    double taken = wanted;
    bool any_tight = false;
    for (const auto c : cut_) {
      const double part = closure_.push(c, taken);
      if (part <= tolerance) {
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
bool CutAscent::find_upper_cut(std::uint32_t k) {
  marks_.clear();
  cut_.clear();
  queue_.clear();
  bool is_cut = true;
  const auto reach = [&](std::uint32_t n) {
    if (!marks_.add(n)) return;
    if (!tight_[n]) {
      cut_.push_back(n);
      return;
    }
    is_cut = is_cut && !p_->is_terminal[n];
    queue_.push_back(n);
  };
  for (const auto c : children(k)) reach(c);
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    for (const auto c : closure_.children(queue_[head])) reach(c);
  }
  return is_cut;
}

// cut_ = the first nodes that are not tight on the paths up from the terminals below k. Returns
// false if a path of tight nodes ends at k. open_ marks the terminals, before the call and after
// it.
bool CutAscent::find_lower_cut(std::uint32_t k) {
  const TerminalProblem& p = *p_;
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
