#pragma once
// A bound on the gap of block-coordinate Frank-Wolfe by one search per example, all at the same
// weights, and further searches where upper bounds are too loose.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "base/out_of_time.hpp"
#include "margrove/control.hpp"
#include "structured/accuracy_policy.hpp"
#include "structured/block_gaps.hpp"
#include "structured/block_searches.hpp"
#include "structured/dual_blocks.hpp"
#include "structured/structured_fit.hpp"

namespace margrove {

/// Bounds on the losses from searches at the same weights. Without goals, a search that is not
/// exact has no useful bound. Then the primal is computed from the labellings found, and is_exact
/// is false.
struct Certificate {
  double half_squared_norm = 0.0;   // ||w||^2 / 2
  std::vector<double> loss_bounds;  // >= C_i max_y psi_iy, one per example
  std::vector<double> unproven;     // loss bound less C_i psi of the best known labelling
  double dual = 0.0;
  double unproven_gap = 0.0;  // the sum of `unproven`
  bool is_exact = true;

  /// Before any search: the loss bounds are infinite.
  Certificate(std::size_t num_examples, double squared_norm, double dual_objective)
      : half_squared_norm(0.5 * squared_norm),
        loss_bounds(num_examples, std::numeric_limits<double>::infinity()),
        unproven(num_examples, 0.0),
        dual(dual_objective) {}

  /// The primal objective is at most this. O(examples).
  double primal() const {
    return std::accumulate(loss_bounds.begin(), loss_bounds.end(), half_squared_norm);
  }
  double relative_gap() const {
    const double gap = primal() - dual;
    return gap <= 0 ? 0.0 : gap / primal();
  }
  /// The part of the gap that known labellings prove. primal: what primal() returns.
  double proven_gap(double primal) const { return primal - dual - unproven_gap; }
};

/// Makes certificates. The labellings that the searches find are added to the active sets.
template <StructuredModel Model, AffineSurrogate Psi, class Search>
class Certifier {
 public:
  using Searches = BlockSearches<Model, Psi, Search>;
  static constexpr bool kHaveGoals = Searches::kHaveGoals;

  Certifier(DualBlocks<Model, Psi>& blocks, Searches& searches, BlockGaps& gaps,
            SearchAccuracy& accuracy, double tolerance, RunControl& control)
      : blocks_(blocks),
        searches_(searches),
        gaps_(gaps),
        accuracy_(accuracy),
        tolerance_(tolerance),
        control_(control) {}

  /// Whether passes should end now, so that a certificate fits before the time limit.
  bool is_due() const {
    const double left = control_.seconds_left();
    if (left == std::numeric_limits<double>::infinity()) return false;
    const double needed = seconds_needed(blocks_.size());
    return left < needed &&
           needed < accuracy_.policy().certificate_time_share * (control_.seconds() + left);
  }

  /// The certificate of `weights`, which are those of the blocks (is_iterate) or an average of
  /// earlier ones. Returns none if the run was interrupted or the time did not suffice for all
  /// examples. With goals, the remaining searches are heuristic once exact ones would take too
  /// long.
  std::optional<Certificate> certify(std::span<const float> weights, bool is_iterate) {
    weights_ = weights;
    is_iterate_ = is_iterate;
    if (!kHaveGoals || !is_iterate) gaps_.unshrink_all();
    Certificate certificate(blocks_.size(), squared_norm({weights, 1.0}), blocks_.dual());
    try {
      examine_all(certificate);
    } catch (const OutOfTime&) {
      return std::nullopt;
    }
    if constexpr (kHaveGoals) tighten(certificate);
    return certificate;
  }

 private:
  static constexpr std::size_t kChunk = 64;  // examples per call of find_all()

  // The time for searches that are somewhat slower than those of the passes.
  double seconds_needed(std::size_t num_examples) const {
    constexpr double kSlower = 1.5;
    return kSlower * searches_.seconds_per_search() * static_cast<double>(num_examples);
  }

  // One search per example.
  void examine_all(Certificate& certificate) {
    std::vector<std::uint32_t> examples(blocks_.size());
    std::iota(examples.begin(), examples.end(), 0U);
    double budget = blocks_.total_budget();
    for (std::size_t begin = 0; begin < examples.size(); begin += kChunk) {
      num_left_ = examples.size() - begin;
      const std::span chunk =
          std::span(examples).subspan(begin, std::min(kChunk, examples.size() - begin));
      if constexpr (kHaveGoals) {
        // What one chunk does not use of the allowed gap is left to the chunks after it.
        accuracy_.allow_unproven(
            accuracy_.target_gap() - gaps_.gap_estimate() - certificate.unproven_gap, budget);
        for (const std::uint32_t i : chunk) budget -= blocks_.budget(i);
      }
      examine(chunk, certificate);
      if (kHaveGoals) report(begin + chunk.size(), examples.size());
    }
    num_left_ = 0;
  }

  // If the gap is missed only because of loose bounds, the examples with such bounds are searched
  // again with doubled branch limits until the gap is met. At other weights all examples would have
  // to be searched again.
  void tighten(Certificate& certificate) {
    const AccuracyPolicy& policy = accuracy_.policy();
    const auto may_stay_unproven = [&] {
      const double primal = certificate.primal();
      return tolerance_ * primal - certificate.proven_gap(primal);
    };
    for (double factor = 2.0; factor <= policy.max_branch_limit_factor; factor *= 2) {
      accuracy_.set_branch_limit_factor(factor);
      const double least = (1 - policy.closing_share) * tolerance_ * certificate.primal();
      if (certificate.unproven_gap <= may_stay_unproven() || may_stay_unproven() < least) break;
      accuracy_.allow_unproven(may_stay_unproven(), blocks_.total_budget());
      std::vector<std::uint32_t> examples;
      for (std::uint32_t i = 0; i < blocks_.size(); ++i) {
        if (certificate.unproven[i] > blocks_.budget(i) * accuracy_.goal_gap()) {
          examples.push_back(i);
        }
      }
      std::size_t begin = 0;
      while (begin < examples.size() && certificate.unproven_gap > may_stay_unproven() &&
             control_.proceed()) {
        const std::span chunk =
            std::span(examples).subspan(begin, std::min(kChunk, examples.size() - begin));
        try {
          examine(chunk, certificate);
        } catch (const OutOfTime&) {  // the earlier bounds hold
          break;
        }
        begin += chunk.size();
        report(begin, examples.size());
      }
      if (!control_.proceed()) break;
    }
    accuracy_.set_branch_limit_factor(1.0);
  }

  void examine(std::span<const std::uint32_t> examples, Certificate& certificate) {
    std::vector<typename Searches::Result> found(examples.size());
    const auto accuracy = [&] {
      const bool is_late = control_.seconds_left() < seconds_needed(num_left_);
      return is_late ? Accuracy::heuristic : Accuracy::exact;
    };
    searches_.find_all(examples, weights_, accuracy_, accuracy, found);
    for (std::size_t k = 0; k < examples.size(); ++k) take(examples[k], found[k], certificate);
  }

  // Records the answer for example i.
  void take(std::uint32_t i, const typename Searches::Result& found, Certificate& certificate) {
    const double budget = blocks_.budget(i);
    blocks_.admit(i, found.best);
    double best = found.value, bound = found.upper_bound;
    // The values of an exact search are equal up to rounding. Otherwise a known labelling may be
    // better.
    const bool is_exact = bound <= best * (1 + 1e-9);
    if (is_iterate_ && (kHaveGoals || !is_exact)) {
      blocks_.load_margins(i);
      best = std::max(best, blocks_.best_value(i));
    }
    if (!kHaveGoals) {
      certificate.is_exact = certificate.is_exact && is_exact;
      bound = best;
    }
    certificate.loss_bounds[i] = std::min(certificate.loss_bounds[i], budget * bound);
    const double unproven = certificate.loss_bounds[i] - budget * best;
    certificate.unproven_gap += unproven - certificate.unproven[i];
    certificate.unproven[i] = unproven;
    if (kHaveGoals && is_iterate_) {
      gaps_.record(i, budget * best - blocks_.mixture_value(i), unproven);
      gaps_.shrink(i, accuracy_.shrink_limit(blocks_.size()),
                   accuracy_.of_passes() == Accuracy::heuristic);
    }
  }

  void report(std::size_t done, std::size_t total) {
    Progress progress{.stage = "bcfw certificate", .unit = Progress::Unit::rows};
    progress.done = static_cast<std::int64_t>(done);
    progress.total = static_cast<std::int64_t>(total);
    control_.proceed(progress);
  }

  DualBlocks<Model, Psi>& blocks_;
  Searches& searches_;
  BlockGaps& gaps_;
  SearchAccuracy& accuracy_;
  double tolerance_;
  RunControl& control_;
  std::span<const float> weights_;
  std::size_t num_left_ = 0;  // examples that have no bound yet
  bool is_iterate_ = true;
};

}  // namespace margrove
