// Branch and bound for label sets. The bound drops the constraint that a node needs a child: what
// is left is a maximum closure. Two things make up for it: nodes all of whose children are
// worthless pay for the cheapest of them beforehand (the multiplier shift_k of that constraint),
// and branching decides which child completes a node.

#include <algorithm>
#include <cmath>

#include "label_set_core.hpp"

namespace margrove::detail {

void LabelSetCore::clear() {
  weight.clear();
  reserve.clear();
  grounded.clear();
  up_pointers.assign(1, 0);
  up_nodes.clear();
  child_pointers.assign(1, 0);
  child_nodes.clear();
}

LabelSetSearch::Outcome LabelSetSearch::solve(const LabelSetCore& core, std::int64_t branch_limit) {
  core_ = &core;
  branch_limit_ = branch_limit;
  num_branches_ = 0;
  gave_up_ = false;
  closure_.set_graph(core.up_pointers, core.up_nodes);
  double scale = 0;
  for (std::uint32_t k = 0; k < core.size(); ++k) scale += std::fabs(core.weight[k]);
  tolerance_ = 1e-13 * scale;
  best_value_ = -std::numeric_limits<double>::infinity();
  best_.assign(core.size(), 0);
  fix_.assign(core.size(), kFree);
  trail_.clear();
  child_order_.clear();
  // What completing k is worth at most along one path, other parents ignored: only a guide.
  down_.assign(core.size(), 0.0);
  for (std::uint32_t k = core.size(); k-- > 0;) {
    double completion = 0;
    if (!core.grounded[k]) {
      completion = core.reserve[k];
      for (const auto c : core.children(k)) completion = std::max(completion, down_[c]);
    }
    down_[k] = core.weight[k] + completion;
  }
  fix_[0] = kIn;
  branch();
  return {best_value_, num_branches_, !gave_up_};
}

bool LabelSetSearch::uses_reserve(std::uint32_t k) const {
  return best_[k] && !core_->grounded[k] && !has_selected_child(best_, k);
}

bool LabelSetSearch::has_selected_child(std::span<const char> z, std::uint32_t k) const {
  const auto children = core_->children(k);
  return std::any_of(children.begin(), children.end(), [&](auto c) { return z[c] != 0; });
}

void LabelSetSearch::branch() {
  if (gave_up_ || ++num_branches_ > branch_limit_) {
    gave_up_ = true;
    return;
  }
  double upper = 0;
  if (!bound(upper) || upper <= best_value_ + tolerance_) return;
  const std::uint32_t k = branching_node();
  complete();
  if (upper <= best_value_ + tolerance_ || k == kNoNode) return;

  // The first child that completes k is c_1, or c_2 but not c_1, ..., or k is not completed by any
  // child: left out or on its reserve.
  const std::size_t order_begin = child_order_.size(), trail_begin = trail_.size();
  for (const auto c : core_->children(k)) {
    if (fix_[c] != kOut) child_order_.push_back(c);
  }
  const std::size_t order_end = child_order_.size();
  std::sort(child_order_.begin() + static_cast<std::ptrdiff_t>(order_begin), child_order_.end(),
            [&](auto a, auto b) { return down_[a] != down_[b] ? down_[a] > down_[b] : a < b; });
  bool possible = true;
  for (std::size_t place = order_begin; place < order_end && possible; ++place) {
    const std::uint32_t c = child_order_[place];
    const std::size_t before = trail_.size();
    if (fix_in(c)) branch();
    undo(before);
    possible = fix_out(c);
  }
  if (possible) branch();
  undo(trail_begin);
  child_order_.resize(order_begin);
}

// An upper bound at the present fixings, and in z_ the closure that attains it; false when the
// fixings contradict each other.
bool LabelSetSearch::bound(double& value) {
  const auto& core = *core_;
  penalised_.assign(core.weight.begin(), core.weight.end());
  shift_.assign(core.size(), 0.0);
  positive_below_.assign(core.size(), 0);
  active_.assign(core.size(), 0);
  for (std::uint32_t k = core.size(); k-- > 0;) {
    if (fix_[k] == kOut) continue;
    active_[k] = fix_[k] == kFree;
    bool completed = core.grounded[k] != 0, has_open_child = false, worthless = true;
    double cheapest = -kNoReserve;
    if (!completed) {
      for (const auto c : core.children(k)) {
        if (fix_[c] == kOut || (fix_[c] == kFree && !active_[c])) continue;
        completed = completed || fix_[c] == kIn;
        has_open_child = true;
        worthless = worthless && !positive_below_[c];
        cheapest = std::min(cheapest, -penalised_[c]);
      }
    }
    if (!completed && !has_open_child && core.reserve[k] == kNoReserve) {
      if (fix_[k] == kIn) return false;
      active_[k] = 0;
      continue;
    }
    if (!completed && !has_open_child) {
      penalised_[k] += core.reserve[k];
    } else if (!completed && worthless) {
      const double shift = std::min(-core.reserve[k], cheapest);
      shift_[k] = shift;
      penalised_[k] -= shift;
      for (const auto c : core.children(k)) penalised_[c] += shift;
    }
    if (active_[k] && penalised_[k] > 0) positive_below_[k] = 1;
    if (positive_below_[k]) {
      for (const auto p : core.parents(k)) positive_below_[p] = 1;
    }
  }
  // A free node above a node that was just found impossible is not: only its descendants are.
  for (std::uint32_t k = 0; k < core.size(); ++k) {
    for (const auto p : core.parents(k)) {
      if (active_[k] && fix_[p] != kIn && !active_[p]) active_[k] = 0;
    }
  }
  value = closure_.solve(penalised_, active_);
  z_.assign(core.size(), 0);
  for (std::uint32_t k = 0; k < core.size(); ++k) {
    if (fix_[k] == kIn) value += penalised_[k];
    z_[k] = fix_[k] == kIn || closure_.selected(k);
  }
  return true;
}

// The selected node whose missing child costs most; then one whose multiplier is not met tightly.
std::uint32_t LabelSetSearch::branching_node() const {
  const auto& core = *core_;
  std::uint32_t worst = kNoNode, loose = kNoNode;
  double worst_cost = kNoReserve;
  for (std::uint32_t k = 0; k < core.size(); ++k) {
    if (!z_[k] || core.grounded[k]) continue;
    int num_selected = 0;
    bool fixed = false, open = false;
    double cost = -core.reserve[k];
    for (const auto c : core.children(k)) {
      num_selected += z_[c];
      fixed = fixed || fix_[c] == kIn;
      open = open || fix_[c] == kFree;
      if (fix_[c] == kFree) cost = std::min(cost, -down_[c]);
    }
    if (fixed || !open) continue;
    cost -= shift_[k];
    if (num_selected == 0 && (worst == kNoNode || cost > worst_cost)) {
      worst_cost = cost;
      worst = k;
    }
    if (num_selected > 1 && shift_[k] > 0) loose = k;
  }
  return worst != kNoNode && worst_cost > 0 ? worst : loose != kNoNode ? loose : worst;
}

// Turns z_ into a feasible label set, bottom-up: a node without a child is completed the cheapest
// way, or left out where that is worth more.
void LabelSetSearch::complete() {
  const auto& core = *core_;
  for (std::uint32_t k = core.size(); k-- > 0;) {
    if (!z_[k] || core.grounded[k] || has_selected_child(z_, k)) continue;
    double completion = core.reserve[k];
    for (const auto c : core.children(k)) {
      if (fix_[c] != kOut) completion = std::max(completion, down_[c]);
    }
    if (k != 0 && fix_[k] != kIn && core.weight[k] + completion <= 0) {
      z_[k] = 0;
    } else {
      ground(k);
    }
  }
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

// Follows the most promising children until one is grounded.
void LabelSetSearch::ground(std::uint32_t k) {
  const auto& core = *core_;
  while (!core.grounded[k] && !has_selected_child(z_, k)) {
    std::uint32_t best_child = kNoNode;
    double best_worth = core.reserve[k];
    for (const auto c : core.children(k)) {
      if (fix_[c] == kOut) continue;  // so that a closure which meets the bound stays as it is
      double worth = down_[c];
      for (const auto p : core.parents(c)) {
        if (!z_[p]) worth += std::min(core.weight[p], 0.0);
      }
      if (worth > best_worth) {
        best_worth = worth;
        best_child = c;
      }
    }
    if (best_child == kNoNode) return;
    add_with_ancestors(best_child);
    k = best_child;
  }
}

void LabelSetSearch::add_with_ancestors(std::uint32_t k) {
  stack_.assign(1, k);
  while (!stack_.empty()) {
    const std::uint32_t m = stack_.back();
    stack_.pop_back();
    if (z_[m]) continue;
    z_[m] = 1;
    for (const auto p : core_->parents(m)) stack_.push_back(p);
  }
}

bool LabelSetSearch::fix_in(std::uint32_t k) {
  stack_.assign(1, k);
  while (!stack_.empty()) {
    const std::uint32_t m = stack_.back();
    stack_.pop_back();
    if (fix_[m] == kIn) continue;
    if (fix_[m] == kOut) return false;
    fix_[m] = kIn;
    trail_.push_back(m);
    for (const auto p : core_->parents(m)) stack_.push_back(p);
  }
  return true;
}

bool LabelSetSearch::fix_out(std::uint32_t k) {
  stack_.assign(1, k);
  while (!stack_.empty()) {
    const std::uint32_t m = stack_.back();
    stack_.pop_back();
    if (fix_[m] == kOut) continue;
    if (fix_[m] == kIn) return false;
    fix_[m] = kOut;
    trail_.push_back(m);
    for (const auto c : closure_.children(m)) stack_.push_back(c);
  }
  return true;
}

void LabelSetSearch::undo(std::size_t trail_size) {
  while (trail_.size() > trail_size) {
    fix_[trail_.back()] = kFree;
    trail_.pop_back();
  }
}

}  // namespace margrove::detail
