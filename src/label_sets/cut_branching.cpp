// How the search by cuts branches and divides a problem into parts (docs/notation.md, "How label
// sets are found", step 4).

#include <algorithm>
#include <cmath>
#include <numeric>

#include "label_sets/cut_search.hpp"

namespace margrove::detail {
// Searches the label sets with one of the nodes, and leaves in keep_ the terminals that may be
// chosen without it.
void CutSearch::branch(std::size_t depth) {
  if (depth + 1 == problems_.size()) problems_.push_back(std::make_unique<TerminalProblem>());
  const TerminalProblem& p = *problems_[depth];
  const std::uint32_t n = branching_node(p);
  // Twice what any label set may gain on the best one, so that rounding cannot make them equal. The
  // empty set is worth the offset, which may exceed the bound where a terminal is needed.
  const double most = p.needed ? std::max(upper_, p.offset) : upper_;
  const double price = 2 * (most - best_value_);
  const std::vector<char> keep = keep_;
  const std::size_t num_taken = taken_.size();
  TerminalProblem& with = *problems_[depth + 1];
  restrict_to(p, keep, p.is_terminal[n] ? n : kNoNode, with);
  if (!p.is_terminal[n]) {
    // Label sets without n, and the empty one, are now worth less than the best one.
    with.weight[number_[n]] += price;
    with.offset -= price;
    with.is_required[number_[n]] = 1;
    with.needed = false;
  }
  search(depth + 1);
  taken_.resize(num_taken);
  keep_ = keep;
  for (std::size_t t = 0; t < p.terminals.size(); ++t) {
    const auto above = p.above[t];
    if (std::find(above.begin(), above.end(), n) != above.end()) keep_[p.terminals[t]] = 0;
  }
  if (!gave_up_) ++num_branches_;
}

// part_ = the connected components of the graph of all nodes in A(t) of the terminals t in keep_,
// or kNoNode for other nodes. Returns their number.
std::uint32_t CutSearch::find_parts(const TerminalProblem& p) {
  mark_useful(p, keep_);
  part_.resize(p.size());
  std::iota(part_.begin(), part_.end(), 0U);
  const auto root = [&](std::uint32_t n) {
    while (part_[n] != n) n = part_[n] = part_[part_[n]];
    return n;
  };
  for (std::uint32_t n = p.size(); n-- > 0;) {
    if (!useful_[n]) continue;
    for (const auto parent : p.parents[n]) {
      const std::uint32_t one = root(n), other = root(parent);
      part_[std::max(one, other)] = std::min(one, other);
    }
  }
  std::uint32_t num_parts = 0;
  number_.resize(p.size());
  for (std::uint32_t n = 0; n < p.size(); ++n) {  // the lowest node of a part is its root
    if (part_[n] == n) {
      number_[n] = useful_[n] ? num_parts++ : kNoNode;
      continue;
    }
    part_[n] = root(n);
  }
  for (auto& part : part_) part = number_[part];
  return num_parts;
}

// Solves a problem whose parts share no node, one part after the other, the smallest first, as long
// as all parts together may be worth more than the best label set.
void CutSearch::search_parts(std::size_t depth, std::uint32_t num_parts) {
  const TerminalProblem& p = *problems_[depth];
  std::vector<double> upper(num_parts, 0.0);
  std::vector<std::uint32_t> size(num_parts, 0), order(num_parts);
  for (std::uint32_t n = 0; n < p.size(); ++n) {
    if (part_[n] == kNoNode) continue;
    upper[part_[n]] += closure_.supply(n);
    ++size[part_[n]];
  }
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return size[a] < size[b]; });
  double bound = std::accumulate(upper.begin(), upper.end(), p.offset);
  double value = p.offset, slack = allowance();
  std::size_t size_left = std::accumulate(size.begin(), size.end(), std::size_t{0});
  std::vector<char> in_set(2 * std::size_t{core_->size()}, 0);
  if (!parts_search_) parts_search_ = std::make_unique<CutSearch>();
  bool gave_up = false;
  for (const auto part : order) {
    const double enough = best_value_ + allowance();
    const double part_slack = slack * size[part] / static_cast<double>(size_left);
    const double others = bound - upper[part];
    Outcome found{0.0, upper[part], 0.0, 0, false};
    if (num_branches_ < branch_limit_) {
      found = search_part(p, part, enough - others - part_slack, part_slack);
      for (const auto origin : parts_search_->best_) in_set[origin] = 1;
    }
    bound = others + found.bound;
    if (bound <= enough) {
      value = -kInfinity;
      gave_up = false;
      break;
    }
    gave_up = gave_up || !found.proven;
    value += found.value;
    slack -= std::min(slack, found.bound - found.value);
    size_left -= size[part];
  }
  for (std::size_t t = 0; t < p.terminals.size(); ++t) {
    chosen_[t] = in_set[p.origin[p.terminals[t]]];
  }
  consider(p, value);
  if (depth == 0) root_bound_ = std::min(root_bound_, bound);
  if (gave_up) {
    gave_up_ = true;
  } else {
    left_bound_ = std::max(left_bound_, bound);
  }
}

// The best set of terminals of a part if it is worth more than max(floor, 0), otherwise the empty
// set.
CutSearch::Outcome CutSearch::search_part(const TerminalProblem& p, std::uint32_t part,
                                          double floor, double slack) {
  std::vector<char> keep(p.size(), 0);
  for (const auto t : p.terminals) keep[t] = keep_[t] && part_[t] == part;
  CutSearch& search = *parts_search_;
  search.start(*core_, branch_limit_ - num_branches_, {.gap = slack, .control = goal_.control});
  search.tolerance_ = tolerance_;
  TerminalProblem& alone = *search.problems_[0];
  search.restrict_to(p, keep, kNoNode, alone);
  alone.offset -= p.offset;
  search.in_best_.assign(2 * std::size_t{core_->size()}, 0);
  const double least = std::max(0.0, floor);
  search.best_value_ = least;
  search.search(0);
  num_branches_ += search.num_branches_;
  const double value = search.best_value_ > least ? search.best_value_ : 0.0;
  return {value, search.bound(), 0.0, search.num_branches_, !search.gave_up_};
}

// The node to branch on. Of the nodes above terminals without demand it is the one with the largest
// product of supply_above() and the logarithm of the number of terminals below it, because either
// branch decides more terminals.
std::uint32_t CutSearch::branching_node(const TerminalProblem& p) {
  num_below_.assign(p.size(), 0);
  useful_.assign(p.size(), 0);
  for (std::size_t t = 0; t < p.terminals.size(); ++t) {
    if (!keep_[p.terminals[t]]) continue;
    const bool is_free = demand_above(p, t) <= tolerance_;
    for (const auto n : p.above[t]) {
      ++num_below_[n];
      if (is_free) useful_[n] = 1;
    }
  }
  const bool any_completed = std::find(completed_.begin(), completed_.end(), 1) != completed_.end();
  if (p.needed && !any_completed) return uppermost_node();
  std::uint32_t best = kNoNode;
  double most = -1;
  for (std::uint32_t n = 0; n < p.size(); ++n) {
    if (!useful_[n] || p.is_required[n]) continue;
    const double value = supply_above(p, n) * std::log2(1.0 + num_below_[n]);
    if (value <= most) continue;
    most = value;
    best = n;
  }
  return best == kNoNode ? cheapest_terminal(p) : best;
}

// The node with the most terminals below it.
std::uint32_t CutSearch::uppermost_node() const {
  return static_cast<std::uint32_t>(std::max_element(num_below_.begin(), num_below_.end()) -
                                    num_below_.begin());
}

std::uint32_t CutSearch::cheapest_terminal(const TerminalProblem& p) const {
  std::uint32_t best = kNoNode;
  double least = kInfinity;
  for (std::size_t t = 0; t < p.terminals.size(); ++t) {
    if (!keep_[p.terminals[t]]) continue;
    const double demand = demand_above(p, t);
    if (demand >= least) continue;
    least = demand;
    best = p.terminals[t];
  }
  return best;
}

// The supply left of the selected nodes in A(n) that have no terminal of the closure below them.
double CutSearch::supply_above(const TerminalProblem& p, std::uint32_t n) {
  queue_.clear();
  append_above(p, n, queue_);
  double supply = 0;
  for (const auto a : queue_) {
    if (closure_.selected(a) && !completed_[a]) supply += closure_.supply(a);
  }
  return supply;
}

}  // namespace margrove::detail
