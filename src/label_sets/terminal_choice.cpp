#include "label_sets/terminal_choice.hpp"

#include <algorithm>

namespace margrove::detail {

void Incumbent::start(const LabelSetCore& core, const SearchGoal& goal, double tolerance,
                      double least) {
  core_ = &core;
  goal_ = goal;
  tolerance_ = tolerance;
  value_ = least;
  terminals_.clear();
  contains_.assign(2 * std::size_t{core.size()}, 0);
}

double Incumbent::allowance() const { return std::max(tolerance_, goal_.allowed_gap(value_)); }

void Incumbent::consider(double value, const TerminalProblem& p, std::span<const char> chosen,
                         std::span<const std::uint32_t> taken) {
  if (value <= value_) return;
  value_ = value;
  terminals_.assign(taken.begin(), taken.end());
  for (std::size_t t = 0; t < chosen.size(); ++t) {
    if (chosen[t]) terminals_.push_back(p.origin[p.terminals[t]]);
  }
  contains_.assign(contains_.size(), 0);
  mark_origins(*core_, terminals_, contains_);
}

void LocalSearch::start(const TerminalProblem& p) {
  p_ = &p;
  has_terminals_below_ = false;
  chosen_.assign(p.terminals.size(), 0);
  count_.assign(p.size(), 0);
}

// The weight of the nodes in A(t) that have `count` chosen terminals below them.
double LocalSearch::weight_above(std::size_t t, std::uint32_t count) const {
  const TerminalProblem& p = *p_;
  double sum = 0;
  for (const auto n : p.above[t]) {
    if (count_[n] == count) sum += p.weight[n];
  }
  return sum;
}

// The change of the value when t is removed (if it is chosen) or added.
double LocalSearch::gain(std::size_t t) const {
  return chosen_[t] ? -weight_above(t, 1) : weight_above(t, 0);
}

double LocalSearch::improve() {
  constexpr int kMaxSteps = 200;
  const TerminalProblem& p = *p_;
  const std::size_t num_terminals = chosen_.size();
  auto num_chosen = static_cast<std::size_t>(std::ranges::count(chosen_, 1));
  gain_.resize(num_terminals);
  for (std::size_t t = 0; t < num_terminals; ++t) gain_[t] = gain(t);
  for (int step = 0; step < kMaxSteps; ++step) {
    std::size_t best = num_terminals;
    double best_gain = 0;
    for (std::size_t t = 0; t < num_terminals; ++t) {
      if (chosen_[t] && num_chosen == 1 && p.needed) continue;
      const bool forced = p.needed && num_chosen == 0;
      if ((forced && best == num_terminals) || gain_[t] > best_gain) {
        best = t;
        best_gain = gain_[t];
      }
    }
    if (best == num_terminals) break;
    flip(best);
    chosen_[best] ? ++num_chosen : --num_chosen;
  }
  if (p.needed && num_chosen == 0) return -kInfiniteValue;
  double value = p.offset;
  for (std::uint32_t n = 0; n < p.size(); ++n) {
    if (count_[n] > 0) value += p.weight[n];
  }
  return value;
}

// Removes or adds t and updates chosen_, count_ and gain_.
void LocalSearch::flip(std::size_t t) {
  const TerminalProblem& p = *p_;
  if (!has_terminals_below_) find_terminals_below();
  chosen_[t] = !chosen_[t];
  changed_.assign(1, static_cast<std::uint32_t>(t));
  for (const auto n : p.above[t]) chosen_[t] ? ++count_[n] : --count_[n];
  // The terminals that would be the first, or are the only one, below n may have changed.
  for (const auto n : p.above[t]) {
    const std::uint32_t larger = chosen_[t] ? count_[n] : count_[n] + 1;  // before or after
    if (larger > 2) continue;
    for (const std::uint32_t other : terminals_below_[n]) {
      if ((chosen_[other] != 0) == (larger == 2)) changed_.push_back(other);
    }
  }
  std::sort(changed_.begin(), changed_.end());
  changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
  for (const auto other : changed_) gain_[other] = gain(other);
}

void LocalSearch::find_terminals_below() {
  const TerminalProblem& p = *p_;
  has_terminals_below_ = true;
  terminals_below_.items.resize(p.above.items.size());
  const auto pairs = [&](const auto& visit) {
    for (std::uint32_t t = 0; t < p.above.size(); ++t) {
      for (const auto n : p.above[t]) visit(n, t);
    }
  };
  group_by_key(p.size(), pairs, terminals_below_.pointers,
               [&](std::size_t place, std::uint32_t t) { terminals_below_.items[place] = t; });
}

}  // namespace margrove::detail
