#pragma once
// How accurate the searches of block-coordinate Frank-Wolfe must be in each phase of a run.
//
// A search that takes a goal (GoalSearchFor) may end at a labelling before it has proven that none
// is better. The first passes use heuristic searches, because any labelling that raises the dual is
// useful. When these miss too much, later passes use approximate searches. The certificate needs
// upper bounds whose sum over the examples is tight enough for the target gap. Searches without
// goals are always exact.

#include <limits>

#include "base/search_goal.hpp"
#include "structured/block_gaps.hpp"

namespace margrove {

/// The constants of the policy. "The target gap" is the tolerance times the primal.
struct AccuracyPolicy {
  /// A certificate is tried once the bound on the gap is at most this share of the target gap.
  double closing_share = 0.85;
  /// With goals it is also tried once the estimated gap is at most this share of the target gap.
  /// The searches may leave the rest unproven.
  double estimate_share = 1.0 / 3;
  /// With goals it is also tried once the estimated gap is below the target gap and more than this
  /// share of the estimate one pass earlier, because further passes would hardly reduce it.
  double stall_share = 0.8;
  /// The searches of all examples together may always leave this share of the target gap
  /// unproven.
  double min_unproven_share = 0.15;
  /// The goals of all searches together allow only this share of the gap that may stay unproven.
  /// The searches find labellings worth a little more than the known ones, which raises the
  /// estimated gap by about the rest.
  double goal_share = 0.8;
  /// An approximate search may end once nothing exceeds its answer by more than this share of the
  /// answer's gain over the known labellings.
  double gain_share = 0.5;
  /// A certificate multiplies the branch limits of its searches by up to this factor.
  double max_branch_limit_factor = 1 << 20;
  /// An example is shrunk if its gap is at most this share of the target gap divided by the
  /// number of examples.
  double shrink_share = 0.1;
  /// Passes end early enough for a certificate before the time limit, unless the certificate would
  /// take more than this share of the whole time. Then there is no certificate, and the passes use
  /// all the time.
  double certificate_time_share = 0.25;

  /// The defaults for searches with or without goals. Without goals nothing stays unproven.
  static AccuracyPolicy for_searches(bool have_goals) {
    AccuracyPolicy policy;
    if (!have_goals) policy.closing_share = 1.0;
    return policy;
  }
};

/// The accuracy that the present pass or certificate requires of its searches.
class SearchAccuracy {
 public:
  SearchAccuracy(const AccuracyPolicy& policy, bool have_goals, double tolerance,
                 double total_budget)
      : policy_(policy),
        have_goals_(have_goals),
        tolerance_(tolerance),
        total_budget_(total_budget),
        of_passes_(have_goals ? Accuracy::heuristic : Accuracy::exact) {}

  const AccuracyPolicy& policy() const { return policy_; }
  Accuracy of_passes() const { return of_passes_; }
  /// The dual plus the gap in the last pass; 0 before the first pass has ended.
  double primal_estimate() const { return primal_estimate_; }
  double target_gap() const { return tolerance_ * primal_estimate_; }
  /// The largest gap at which one of `num_examples` examples is shrunk.
  double shrink_limit(std::size_t num_examples) const {
    return policy_.shrink_share * tolerance_ * primal_estimate_ / static_cast<double>(num_examples);
  }

  void start_pass(const BlockGaps& gaps) {
    if (of_passes_ != Accuracy::approximate) return;
    allow_unproven(target_gap() - gaps.gap_estimate(), total_budget_);
  }
  /// Updates the estimate of the primal after a pass. Returns the gap in the pass.
  double end_pass(double dual, const BlockGaps& gaps) {
    const double gap = of_passes_ == Accuracy::heuristic ? gaps.gap_estimate() : gaps.gap_bound();
    primal_estimate_ = dual + gap;
    return gap;
  }
  bool wants_certificate(const BlockGaps& gaps) {
    const double estimate = gaps.gap_estimate(), target = target_gap();
    const bool has_stalled = estimate > policy_.stall_share * last_estimate_;
    const bool leaves_room =
        estimate <= policy_.estimate_share * target || (estimate <= target && has_stalled);
    const bool wanted =
        gaps.gap_bound() <= policy_.closing_share * target || (have_goals_ && leaves_room);
    last_estimate_ = wanted ? std::numeric_limits<double>::infinity() : estimate;
    return wanted;
  }
  /// To be called after a certificate that found too large a gap. If the labellings found show that
  /// heuristic searches missed too much, passes are approximate from now on.
  void certificate_failed(const BlockGaps& gaps) {
    if (of_passes_ == Accuracy::heuristic && gaps.gap_estimate() > target_gap()) {
      of_passes_ = Accuracy::approximate;
    }
  }

  /// Lets searches whose budgets C_i sum to `budget` leave `unproven` of the gap unproven.
  void allow_unproven(double unproven, double budget) {
    const double least = policy_.min_unproven_share * tolerance_ * primal_estimate_ / total_budget_;
    goal_gap_ = std::max(least, policy_.goal_share * unproven / budget);
  }
  /// The part of max_y psi_iy that each search may leave unproven; times C_i it is a part of the
  /// gap.
  double goal_gap() const { return goal_gap_; }
  void set_branch_limit_factor(double factor) { branch_limit_factor_ = factor; }
  SearchGoal goal(Accuracy accuracy) const {
    if (accuracy == Accuracy::heuristic) return SearchGoal::heuristic();
    return {.gap = goal_gap_, .branch_limit_factor = branch_limit_factor_};
  }
  /// The goal of an approximate search where the known labellings are worth `floor`.
  SearchGoal goal_above(double floor) const {
    SearchGoal goal = this->goal(Accuracy::approximate);
    goal.accuracy = Accuracy::approximate;
    goal.gain_share = policy_.gain_share;
    goal.floor = floor;
    return goal;
  }

 private:
  AccuracyPolicy policy_;
  bool have_goals_;
  double tolerance_, total_budget_;
  Accuracy of_passes_;
  double primal_estimate_ = 0.0;
  double last_estimate_ = std::numeric_limits<double>::infinity();  // of the gap, one pass ago
  double goal_gap_ = 0.0;
  double branch_limit_factor_ = 1.0;
};

}  // namespace margrove
