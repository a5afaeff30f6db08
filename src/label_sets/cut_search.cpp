#include "label_sets/cut_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace margrove::detail {
namespace {
// Whether so much was dropped that the bound should be computed anew before branching.
bool is_much_smaller(std::size_t num_left, std::size_t num_before) {
  return 10 * num_left <= 9 * num_before;
}

std::uint32_t cheapest_terminal(const TerminalProblem& p, std::span<const char> keep,
                                const CutAscent& ascent) {
  std::uint32_t best = kNoNode;
  double least = kInfiniteValue;
  for (std::size_t t = 0; t < p.terminals.size(); ++t) {
    if (!keep[p.terminals[t]]) continue;
    const double demand = ascent.demand_above(t);
    if (demand >= least) continue;
    least = demand;
    best = p.terminals[t];
  }
  return best;
}

// The node to branch on, at the bound of `ascent`. Of the nodes above terminals without demand it
// is the one with the largest product of supply_above() and the logarithm of the number of
// terminals below it, because either branch decides more terminals. `keep` marks the terminals not
// dropped.
std::uint32_t branching_node(const TerminalProblem& p, std::span<const char> keep, double tolerance,
                             CutAscent& ascent) {
  std::vector<std::uint32_t> num_below(p.size(), 0);  // terminals in `keep`
  std::vector<char> has_free(p.size(), 0);            // one of them has no demand
  for (std::size_t t = 0; t < p.terminals.size(); ++t) {
    if (!keep[p.terminals[t]]) continue;
    const bool is_free = ascent.demand_above(t) <= tolerance;
    for (const auto n : p.above[t]) {
      ++num_below[n];
      if (is_free) has_free[n] = 1;
    }
  }
  if (p.needed && !ascent.any_completed()) {
    return static_cast<std::uint32_t>(std::ranges::max_element(num_below) - num_below.begin());
  }
  std::uint32_t best = kNoNode;
  double most = -1;
  for (std::uint32_t n = 0; n < p.size(); ++n) {
    if (!has_free[n] || p.is_required[n]) continue;
    const double value = ascent.supply_above(n) * std::log2(1.0 + num_below[n]);
    if (value <= most) continue;
    most = value;
    best = n;
  }
  return best == kNoNode ? cheapest_terminal(p, keep, ascent) : best;
}

}  // namespace

CutSearch::Outcome CutSearch::solve(const LabelSetCore& core, std::int64_t branch_limit,
                                    const SearchGoal& goal) {
  double scale = 0;
  for (const double w : core.weight) scale += std::fabs(w);
  start(core, branch_limit, goal, 1e-13 * scale, -kInfiniteValue);
  alive_.assign(2 * std::size_t{core.size()}, 1);
  maker_.take_core(core, *problems_[0]);
  search(0);
  return {best_.value(), bound(), left_bound_, num_branches_, !gave_up_};
}

void CutSearch::start(const LabelSetCore& core, std::int64_t branch_limit, const SearchGoal& goal,
                      double tolerance, double least) {
  core_ = &core;
  branch_limit_ = branch_limit;
  goal_ = goal;
  left_bound_ = -kInfiniteValue;
  root_bound_ = kInfiniteValue;
  num_branches_ = 0;
  gave_up_ = false;
  best_.start(core, goal, tolerance, least);
  taken_.clear();
  if (problems_.empty()) problems_.push_back(std::make_unique<TerminalProblem>());
}

double CutSearch::bound() const {
  return std::max(gave_up_ ? std::max(left_bound_, root_bound_) : left_bound_, best_.value());
}

// Searches problems_[depth] and updates the best label set. taken_ is the same afterwards.
void CutSearch::search(std::size_t depth) {
  const std::size_t num_taken = taken_.size();
  ++num_branches_;
  for (bool is_new = true;; is_new = false) {
    const TerminalProblem& p = *problems_[depth];
    local_search_.start(p);
    if (!p.needed) consider(p, p.offset);
    if (p.terminals.empty()) break;
    if (is_new) consider(p, local_search_.improve());
    if (gave_up_ || num_branches_ > branch_limit_ || goal_.is_out_of_time()) {
      gave_up_ = true;
      break;
    }
    const std::size_t num_kept = drop(p, depth);
    if (num_kept == 0) break;
    if (!is_much_smaller(num_kept, p.terminals.size())) {
      if (num_branches_ == 1) mark_alive(p);
      if (num_branches_ >= branch_limit_) {
        gave_up_ = true;
        break;
      }
      std::vector<std::uint32_t> part_of;
      if (const std::uint32_t num_parts = p.needed ? 1 : p.find_parts(keep_, part_of);
          num_parts > 1) {
        search_parts(depth, part_of, num_parts);
        break;
      }
      branch(depth);
    }
    maker_.restrict_to(*problems_[depth], keep_, kNoNode, spare_, taken_);
    std::swap(*problems_[depth], spare_);
  }
  taken_.resize(num_taken);
}

// Lowers the bound and drops terminals that cannot be in a better label set, until few enough are
// left. keep_ marks those that are kept; returns how many. Cheap bounds come first, then the
// uppermost and the lowest cuts.
std::size_t CutSearch::drop(const TerminalProblem& p, std::size_t depth) {
  using enum CutAscent::Side;
  struct Attempt {
    bool anew, by_pushes;
    CutAscent::Side side;
  };
  constexpr Attempt kAttempts[] = {
      {true, false, guided}, {false, true, guided}, {true, true, upper}, {true, true, lower}};
  keep_.assign(p.size(), 1);
  ascent_.start(p, best_);
  std::size_t num_kept = p.terminals.size();
  for (const auto& attempt : kAttempts) {
    if (attempt.anew) upper_ = ascent_.bound_anew();
    upper_ = ascent_.lower(upper_, attempt.side, attempt.by_pushes);
    if (local_search_.choose([&](std::uint32_t n) { return ascent_.selected(n); })) {
      consider(p, local_search_.improve());
    }
    if (depth == 0) root_bound_ = std::min(root_bound_, upper_);
    const double enough = best_.enough();
    if (upper_ <= enough) {
      left_bound_ = std::max(left_bound_, upper_);
      return 0;
    }
    num_kept = 0;
    for (std::size_t t = 0; t < p.terminals.size(); ++t) {
      char& keep = keep_[p.terminals[t]];
      if (!keep) continue;
      const double bound = upper_ - ascent_.demand_above(t);
      keep = bound > enough;
      if (!keep) left_bound_ = std::max(left_bound_, bound);
      num_kept += keep != 0;
    }
    if (is_much_smaller(num_kept, p.terminals.size())) break;
  }
  return num_kept;
}

// Searches the label sets with one of the nodes, and leaves in keep_ the terminals that may be
// chosen without it.
void CutSearch::branch(std::size_t depth) {
  if (depth + 1 == problems_.size()) problems_.push_back(std::make_unique<TerminalProblem>());
  const TerminalProblem& p = *problems_[depth];
  TerminalProblem& with = *problems_[depth + 1];
  const std::uint32_t n = branching_node(p, keep_, best_.tolerance(), ascent_);
  // Twice what any label set may gain on the best one, so that rounding cannot make them equal. The
  // empty set is worth the offset, which may exceed the bound where a terminal is needed.
  const double most = p.needed ? std::max(upper_, p.offset) : upper_;
  const double price = 2 * (most - best_.value());
  std::vector<char> keep = keep_;
  const std::size_t num_taken = taken_.size();
  maker_.restrict_to(p, keep, p.is_terminal[n] ? n : kNoNode, with, taken_);
  if (!p.is_terminal[n]) {
    // Label sets without n, and the empty one, are now worth less than the best one.
    const std::uint32_t number = maker_.number_of(n);
    with.weight[number] += price;
    with.offset -= price;
    with.is_required[number] = 1;
    with.needed = false;
  }
  search(depth + 1);
  taken_.resize(num_taken);
  for (std::size_t t = 0; t < p.terminals.size(); ++t) {
    if (std::ranges::count(p.above[t], n) > 0) keep[p.terminals[t]] = 0;
  }
  keep_ = std::move(keep);
  if (!gave_up_) ++num_branches_;
}

// Solves a problem whose parts share no node, one part after the other, the smallest first, as long
// as all parts together may be worth more than the best label set.
void CutSearch::search_parts(std::size_t depth, std::span<const std::uint32_t> part_of,
                             std::uint32_t num_parts) {
  const TerminalProblem& p = *problems_[depth];
  std::vector<double> upper(num_parts, 0.0);
  std::vector<std::uint32_t> size(num_parts, 0), order(num_parts);
  for (std::uint32_t n = 0; n < p.size(); ++n) {
    if (part_of[n] == kNoNode) continue;
    upper[part_of[n]] += ascent_.supply(n);
    ++size[part_of[n]];
  }
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return size[a] < size[b]; });
  double bound = std::accumulate(upper.begin(), upper.end(), p.offset);
  double value = p.offset, slack = best_.allowance();
  std::size_t size_left = std::accumulate(size.begin(), size.end(), std::size_t{0});
  std::vector<char> in_set(2 * std::size_t{core_->size()}, 0), keep(p.size(), 0);
  bool gave_up = false;
  for (const auto part : order) {
    const double enough = best_.enough();
    const double part_slack = slack * size[part] / static_cast<double>(size_left);
    const double others = bound - upper[part];
    Outcome found{0.0, upper[part], 0.0, 0, false};
    if (num_branches_ < branch_limit_) {
      for (const auto t : p.terminals) keep[t] = keep_[t] && part_of[t] == part;
      found = search_part(p, keep, enough - others - part_slack, part_slack);
      for (const auto origin : parts_search_->best_.terminals()) in_set[origin] = 1;
    }
    bound = others + found.bound;
    if (bound <= enough) {
      value = -kInfiniteValue;
      gave_up = false;
      break;
    }
    gave_up = gave_up || !found.proven;
    value += found.value;
    slack -= std::min(slack, found.bound - found.value);
    size_left -= size[part];
  }
  local_search_.choose([&](std::uint32_t n) { return in_set[p.origin[n]] != 0; });
  consider(p, value);
  if (depth == 0) root_bound_ = std::min(root_bound_, bound);
  if (gave_up) {
    gave_up_ = true;
  } else {
    left_bound_ = std::max(left_bound_, bound);
  }
}

// The best set of terminals in `keep`, those of a part, if it is worth more than max(floor, 0),
// otherwise the empty set.
CutSearch::Outcome CutSearch::search_part(const TerminalProblem& p, std::span<const char> keep,
                                          double floor, double slack) {
  if (!parts_search_) parts_search_ = std::make_unique<CutSearch>();
  CutSearch& search = *parts_search_;
  const double least = std::max(0.0, floor);
  search.start(*core_, branch_limit_ - num_branches_, {.gap = slack, .control = goal_.control},
               best_.tolerance(), least);
  TerminalProblem& alone = *search.problems_[0];
  search.maker_.restrict_to(p, keep, kNoNode, alone, search.taken_);
  alone.offset -= p.offset;
  search.search(0);
  num_branches_ += search.num_branches_;
  const double value = search.best_.value() > least ? search.best_.value() : 0.0;
  return {value, search.bound(), 0.0, search.num_branches_, !search.gave_up_};
}

// alive_ = the nodes of the core that are in p or taken, and all above them.
void CutSearch::mark_alive(const TerminalProblem& p) {
  alive_.assign(2 * std::size_t{core_->size()}, 0);
  mark_origins(*core_, p.origin, alive_);
  mark_origins(*core_, taken_, alive_);
}

}  // namespace margrove::detail
