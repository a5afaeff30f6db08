// Branch and bound for label sets on linear programmes: for cores on which closure bounds are weak.
// A relaxation has few fractions, and its reduced costs fix most nodes once a good label set is
// known, so that little is left after the first.

#include <algorithm>
#include <cmath>

#include "label_sets/label_set_core.hpp"

namespace margrove::detail {
namespace {

constexpr double kWhole = 1e-9;         // fractions closer to 0 or 1 are whole
constexpr double kClpTolerance = 1e-9;  // relative: what CLP leaves of a bound that is met
constexpr double kShrunk = 0.8;         // of the free nodes left: worth a programme of their own

}  // namespace

LabelSetSearch::Outcome LabelSetSearch::solve_by_relaxations(const LabelSetCore& core, double value,
                                                             std::span<const char> found,
                                                             std::span<const char> alive,
                                                             std::int64_t branch_limit,
                                                             const SearchGoal& goal) {
  start(core);
  goal_ = goal;
  left_bound_ = value;
  branch_limit_ = branch_limit;
  num_branches_ = 0;
  gave_up_ = false;
  best_value_ = value;
  best_.assign(found.begin(), found.end());
  for (std::uint32_t k = 1; k < core.size(); ++k) {
    if (!alive[k]) fix_[k] = kOut;
  }
  const double infinity = std::numeric_limits<double>::infinity();
  if (branch_limit <= 0) return {best_value_, infinity, value, 0, false};
  const std::size_t num_free = count_free();
  CoreRelaxation relaxation(*core_, fix_);
  const bool is_left = relax(relaxation);
  trail_.clear();  // what the reduced costs have fixed here stays so
  const double root_bound = is_left ? solution_.bound : -infinity;
  if (is_left) branch_on_fractions(relaxation, num_free);
  const double bound = gave_up_ ? std::max(left_bound_, root_bound) : left_bound_;
  return {best_value_, std::max(bound, best_value_), left_bound_, num_branches_, !gave_up_};
}

std::size_t LabelSetSearch::count_free() const {
  return static_cast<std::size_t>(std::count(fix_.begin(), fix_.end(), char{kFree}));
}

// Solves the relaxation at the present fixings, rounds it, and fixes what its reduced costs decide;
// false where no better label set can be left.
bool LabelSetSearch::relax(CoreRelaxation& relaxation) {
  if (gave_up_ || ++num_branches_ > branch_limit_) {
    gave_up_ = true;
    return false;
  }
  if (!relaxation.solve(solution_)) return false;
  round();
  const double gap = solution_.bound - best_value_;
  if (gap <= std::max(allowance(), kClpTolerance * std::fabs(best_value_))) {
    left_bound_ = std::max(left_bound_, solution_.bound);
    return false;
  }
  const std::size_t before = trail_.size();
  if (!fix_by_reduced_costs()) return false;
  for (std::size_t t = before; t < trail_.size(); ++t) relaxation.set(trail_[t], fix_[trail_[t]]);
  return true;
}

// The relaxation, of a programme of that many free nodes, is solved at the present fixings and not
// met by a label set.
void LabelSetSearch::branch_on_fractions(CoreRelaxation& relaxation, std::size_t programme_size) {
  const std::size_t num_free = count_free();
  if (static_cast<double>(num_free) < kShrunk * static_cast<double>(programme_size)) {
    const std::size_t before = trail_.size();
    CoreRelaxation smaller(*core_, fix_);
    if (relax(smaller)) branch_on_fractions(smaller, num_free);
    undo(before);
    return;
  }
  std::uint32_t k = kNoNode;
  double farthest = kWhole;
  for (std::uint32_t n = 1; n < core_->size(); ++n) {
    const double distance = std::min(solution_.z[n], 1 - solution_.z[n]);
    if (fix_[n] == kFree && distance > farthest) {
      farthest = distance;
      k = n;
    }
  }
  if (k == kNoNode) return;  // a label set, and round() has seen it
  const bool in_first = solution_.z[k] >= 0.5;
  for (const bool in : {in_first, !in_first}) {
    const std::size_t before = trail_.size();
    if (in ? fix_in(k) : fix_out(k)) {
      for (std::size_t t = before; t < trail_.size(); ++t) {
        relaxation.set(trail_[t], fix_[trail_[t]]);
      }
      if (relax(relaxation)) branch_on_fractions(relaxation, programme_size);
    }
    for (std::size_t t = before; t < trail_.size(); ++t) relaxation.set(trail_[t], kFree);
    undo(before);
  }
}

// Fixes what every better label set has; false if there is none.
bool LabelSetSearch::fix_by_reduced_costs() {
  const double gap = solution_.bound - best_value_ - allowance();
  bool possible = true;
  for (std::uint32_t k = 1; k < core_->size() && possible; ++k) {
    const double cost = std::fabs(solution_.reduced[k]);
    if (fix_[k] != kFree || cost <= gap) continue;
    possible = solution_.reduced[k] > 0 ? fix_in(k) : fix_out(k);
    left_bound_ = std::max(left_bound_, solution_.bound - cost);
  }
  return possible;
}

// Label sets near the relaxation: what exceeds a fraction, completed.
void LabelSetSearch::round() {
  for (const double threshold : {0.5, kWhole}) {
    for (std::uint32_t k = 0; k < core_->size(); ++k) z_[k] = solution_.z[k] > threshold;
    for (std::uint32_t k = core_->size(); k-- > 0;) {  // rounding may have parted equal fractions
      if (!z_[k]) continue;
      z_[k] = 0;
      add_with_ancestors(k);
    }
    keep_if_best();
    complete_by_weights();
  }
}

}  // namespace margrove::detail
