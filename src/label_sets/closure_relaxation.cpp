#include "label_sets/closure_relaxation.hpp"

#include <algorithm>
#include <cmath>

namespace margrove::detail {

void LabelSetCore::clear() {
  weight.clear();
  reserve.clear();
  grounded.clear();
  parents.clear();
  children.clear();
}

bool ClosureRelaxation::settle(const LabelSetCore& core) {
  start(core);
  penalise();
  double upper = penalised_[0] + closure_.solve(penalised_, active_);
  take_closure();
  complete_by_weights();
  bound_ = upper;
  if (upper <= best_value_ + tolerance_) return true;
  take_closure();
  tighten(upper);
  bound_ = upper;
  complete_by_reduced_costs();
  return upper <= best_value_ + tolerance_;
}

void ClosureRelaxation::start(const LabelSetCore& core) {
  core_ = &core;
  closure_.set_graph(core.parents);
  double scale = 0;
  for (std::uint32_t k = 0; k < core.size(); ++k) scale += std::fabs(core.weight[k]);
  tolerance_ = 1e-13 * scale;
  best_value_ = -std::numeric_limits<double>::infinity();
  best_.assign(core.size(), 0);
  shift_.assign(core.size(), 0.0);
  z_.assign(core.size(), 0);
  // down_ ignores the other parents of nodes on the path, so that it only guides the search.
  down_.assign(core.size(), 0.0);
  for (std::uint32_t k = core.size(); k-- > 0;) {
    double completion = 0;
    if (!core.grounded[k]) {
      completion = core.reserve[k];
      for (const auto c : core.children[k]) completion = std::max(completion, down_[c]);
    }
    down_[k] = core.weight[k] + completion;
  }
}

bool ClosureRelaxation::has_selected_child(std::span<const char> z, std::uint32_t k) const {
  const auto children = core_->children[k];
  return std::any_of(children.begin(), children.end(), [&](auto c) { return z[c] != 0; });
}

void ClosureRelaxation::take_closure() {
  for (std::uint32_t k = 0; k < core_->size(); ++k) {
    z_[k] = k == 0 || closure_.selected(k);
  }
}

// Sets the first multipliers, > 0 where all children of a node are worthless, and penalised_, the
// weights under them. active_ marks the nodes below the root that are in some label set.
void ClosureRelaxation::penalise() {
  const auto& core = *core_;
  penalised_.assign(core.weight.begin(), core.weight.end());
  positive_below_.assign(core.size(), 0);
  active_.assign(core.size(), 0);
  for (std::uint32_t k = core.size(); k-- > 0;) {
    active_[k] = k != 0;
    const bool grounded = core.grounded[k] != 0;
    bool has_open_child = false, worthless = true;
    double cheapest = -kNoReserve;
    if (!grounded) {
      for (const auto c : core.children[k]) {
        if (!active_[c]) continue;
        has_open_child = true;
        worthless = worthless && !positive_below_[c];
        cheapest = std::min(cheapest, -penalised_[c]);
      }
    }
    if (!grounded && !has_open_child && core.reserve[k] == kNoReserve) {
      active_[k] = 0;
      continue;
    }
    if (!grounded && !has_open_child) {
      penalised_[k] += core.reserve[k];
    } else if (!grounded && worthless) {
      const double shift = std::min(-core.reserve[k], cheapest);
      shift_[k] = shift;
      penalised_[k] -= shift;
      for (const auto c : core.children[k]) penalised_[c] += shift;
    }
    if (active_[k] && penalised_[k] > 0) positive_below_[k] = 1;
    if (positive_below_[k]) {
      for (const auto p : core.parents[k]) positive_below_[p] = 1;
    }
  }
  // The descendants of a node that is in no label set are in none either; its ancestors may be.
  for (std::uint32_t k = 0; k < core.size(); ++k) {
    for (const auto p : core.parents[k]) {
      if (p != 0 && !active_[p]) active_[k] = 0;
    }
  }
}

// Dual ascent: raises the multipliers of selected nodes without a selected child while this lowers
// the closure bound by the same amount, that is, while the children can take the weight without
// becoming worth selecting.
void ClosureRelaxation::tighten(double& value) {
  const auto& core = *core_;
  constexpr int kMaxRounds = 20;
  for (int round = 0; round < kMaxRounds && value > best_value_ + tolerance_; ++round) {
    double gained = 0;
    for (std::uint32_t k = core.size(); k-- > 0;) {
      if (!z_[k] || core.grounded[k] || has_selected_child(z_, k)) continue;
      gained += raise_shift(k, -core.reserve[k] - shift_[k]);
    }
    value -= gained;
    closure_.mark_selected();
    take_closure();
    if (gained <= 0.02 * (value - best_value_) || gained <= tolerance_) break;
  }
}

// Raises shift_k by at most `amount`. Returns the decrease of the bound.
double ClosureRelaxation::raise_shift(std::uint32_t k, double amount) {
  const auto& core = *core_;
  const auto children = core.children[k];
  const bool has_open_child =
      std::any_of(children.begin(), children.end(), [&](auto c) { return active_[c] != 0; });
  if (!has_open_child || amount <= tolerance_) return 0;
  saved_shift_ = shift_;
  amount = std::min(amount, 1e13 * tolerance_);  // finite also if k has no reserve
  const auto pull = [&](double most) { return k == 0 ? most : closure_.pull(k, most); };
  closure_.start_journal();
  double step = pull(amount), raised = 0;
  for (int attempt = 0; attempt < 2 && step > tolerance_ && raised == 0; ++attempt) {
    double taken = step;
    for (const auto c : children) {
      if (active_[c]) taken = std::min(taken, absorb(c, taken));
    }
    if (taken == step) {
      raised = step;
    } else {
      closure_.undo_journal();
      shift_ = saved_shift_;
      step = pull(taken);
    }
  }
  if (raised > 0) {
    shift_[k] += raised;
  } else {
    closure_.undo_journal();
    shift_ = saved_shift_;
  }
  closure_.stop_journal();
  return raised;
}

// Raises the weight of c by at most `amount` and returns the part that does not raise the bound:
// the flow takes some, and c passes some on to its own children. If one child takes less than
// another, the difference is lost, which weakens the bound but keeps it valid.
double ClosureRelaxation::absorb(std::uint32_t c, double amount) {
  const auto& core = *core_;
  const double taken = closure_.push(c, amount);
  if (taken == amount || core.grounded[c]) return taken;
  double passed = std::min(amount - taken, -core.reserve[c] - shift_[c]);
  bool has_open_child = false;
  for (const auto d : core.children[c]) {
    if (!active_[d] || passed <= tolerance_) continue;
    has_open_child = true;
    passed = std::min(passed, absorb(d, passed));
  }
  if (!has_open_child || passed <= tolerance_) return taken;
  shift_[c] += passed;
  return passed == amount - taken ? amount : taken + passed;
}

// Turns z_ into a label set, bottom-up: a node without a selected child is completed in the
// cheapest way, or left out if that is worth more.
void ClosureRelaxation::complete_by_weights() {
  const auto& core = *core_;
  for (std::uint32_t k = core.size(); k-- > 0;) {
    if (!z_[k] || core.grounded[k] || has_selected_child(z_, k)) continue;
    double completion = core.reserve[k];
    for (const auto c : core.children[k]) completion = std::max(completion, down_[c]);
    if (k != 0 && core.weight[k] + completion <= 0) {
      z_[k] = 0;
    } else {
      ground(k, down_);
    }
  }
  keep_if_best();
}

// The same by reduced costs, which are the weights less the multipliers and the flow. They are 0
// along a label set that attains the bound.
void ClosureRelaxation::complete_by_reduced_costs() {
  const auto& core = *core_;
  reduced_.assign(core.size(), 0.0);
  for (std::uint32_t k = core.size(); k-- > 0;) {
    double completion = 0;
    if (!core.grounded[k]) {
      completion = core.reserve[k] + shift_[k];
      for (const auto c : core.children[k]) completion = std::max(completion, reduced_[c]);
    }
    reduced_[k] = completion - (active_[k] ? closure_.demand(k) : 0.0);
  }
  for (std::uint32_t k = core.size(); k-- > 0;) {
    if (z_[k] && !core.grounded[k] && !has_selected_child(z_, k)) ground(k, reduced_);
  }
  keep_if_best();
}

void ClosureRelaxation::keep_if_best() {
  const auto& core = *core_;
  double value = 0;
  for (std::uint32_t k = 0; k < core.size(); ++k) {
    if (!z_[k]) continue;
    value += core.weight[k];
    if (!core.grounded[k] && !has_selected_child(z_, k)) value += core.reserve[k];
  }
  if (value > best_value_) {
    best_value_ = value;
    best_ = z_;
  }
}

// Completes k: walks down to the child of the largest worth until a node is grounded.
void ClosureRelaxation::ground(std::uint32_t k, std::span<const double> worth) {
  const auto& core = *core_;
  const bool reduced = worth.data() == reduced_.data();
  while (!core.grounded[k] && !has_selected_child(z_, k)) {
    std::uint32_t best_child = kNoNode;
    double best_worth = core.reserve[k] + (reduced ? shift_[k] : 0.0);
    for (const auto c : core.children[k]) {
      double child_worth = worth[c];
      for (const auto p : core.parents[c]) {
        if (z_[p]) continue;
        child_worth += reduced ? -closure_.demand(p) : std::min(core.weight[p], 0.0);
      }
      if (child_worth > best_worth) {
        best_worth = child_worth;
        best_child = c;
      }
    }
    if (best_child == kNoNode) return;
    if (reduced) closure_.add_forced(best_child, z_);
    add_with_ancestors(best_child);
    k = best_child;
  }
}

void ClosureRelaxation::add_with_ancestors(std::uint32_t k) {
  stack_.assign(1, k);
  while (!stack_.empty()) {
    const std::uint32_t m = stack_.back();
    stack_.pop_back();
    if (z_[m]) continue;
    z_[m] = 1;
    for (const auto p : core_->parents[m]) stack_.push_back(p);
  }
}

}  // namespace margrove::detail
