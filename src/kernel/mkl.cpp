#include "kernel/mkl.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "kernel/mkl_rules.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kLargestRelaxation = 16.0;  // over-relaxation of a step in log beta
constexpr double kFinestSvmTolerance = 1e-9;
constexpr double kClassifierShare = 0.2;  // of the duality gap may come from the classifiers
constexpr int kRestoreTrials = 5;
// A weight whose logarithm falls by this much in a round is taken to tend to zero.
constexpr double kFallToZero = 0.02;
constexpr double kRounding = 1e-7;  // of the objective, from K in float32
// Training ends after this many rounds without progress, without and with a bound.
constexpr int kMaxIdleRounds = 2;
constexpr int kMaxIdleRoundsWithBound = 30;

/// Weights and the classifiers that belong to them.
struct Iterate {
  std::vector<double> logs;
  std::vector<SvmSolution> classifiers;
  std::vector<double> q;  // of the paths with positive weight; of all if `complete`
  double primal = 0;
  bool complete = false;
};

/// Whether some classifier is not at its optimum and would not come there with more steps.
bool have_stalled(std::span<const SvmSolution> classifiers) {
  return std::ranges::any_of(classifiers, [](const auto& each) {
    return each.stop == Stop::stalled || each.stop == Stop::pass_limit;
  });
}

/// The lines are those of mkl.hpp. Weights are tried before they are taken, so that line 3 includes
/// lines 1 and 2 of the next round.
class MklAlternation {
 public:
  MklAlternation(const PathKernels& kernels, const WeightRule& rule, const ClassLabels& labels,
                 const MklControl& options, Executor& executor, RunControl& control)
      : kernels_(kernels),
        rule_(rule),
        labels_(labels),
        options_(options),
        svm_(options.svm),
        executor_(executor),
        control_(control),
        K_(kernels.num_rows() * kernels.num_rows()) {
    // Less accurate classifiers could not certify the target gap.
    if (rule.has_bound()) svm_.tolerance = std::min(svm_.tolerance, options.gap_tolerance);
  }

  MklFit run() {
    now_ = trained(rule_.initial());  // lines 1 and 2
    best_primal_ = now_.primal;
    for (round_ = 1;; ++round_) {
      if (const auto stop = stop_before_update()) return finished(*stop);
      if (!has_restored_) update();  // line 3, lines 1 and 2
      if (const auto stop = stop_after_update()) return finished(*stop);
    }
  }

 private:
  /// Ends by the duality gap, the number of rounds or the time. Restores paths if only the gap
  /// without the deleted paths is small enough.
  std::optional<Stop> stop_before_update() {
    has_restored_ = false;
    if (rule_.has_bound() && control_.proceed()) bound_ = std::max(bound_, lower_bound(now_));
    if (!report()) return control_.stop_reason();
    if (have_stalled(now_.classifiers)) return Stop::stalled;
    if (gap_reached(now_.primal, bound_)) {
      bound_ = full_bound(now_);
      if (gap_reached(now_.primal, bound_)) {
        delete_falling();
        return Stop::converged;
      }
      has_restored_ = restore_deleted();
    }
    if (round_ >= options_.max_rounds) return Stop::pass_limit;
    return std::nullopt;
  }

  /// Ends by the time or after rounds without progress, unless there are paths to restore.
  std::optional<Stop> stop_after_update() {
    // A round that was cut short says nothing about the next.
    if (!control_.proceed()) return control_.stop_reason();
    const double least_decrease = rule_.has_bound() ? 0.0 : options_.change_tolerance;
    idle_rounds_ = best_primal_ - now_.primal > least_decrease * now_.primal ? 0 : idle_rounds_ + 1;
    best_primal_ = std::min(best_primal_, now_.primal);
    if (idle_rounds_ < (rule_.has_bound() ? kMaxIdleRoundsWithBound : kMaxIdleRounds)) return {};
    if (!rule_.has_bound()) return Stop::converged;
    bound_ = full_bound(now_);
    if (!restore_deleted()) return Stop::converged;
    idle_rounds_ = 0;
    return std::nullopt;
  }

  bool gap_reached(double primal, double bound) const {
    return rule_.has_bound() && primal - bound <= options_.gap_tolerance * primal;
  }

  bool report() {
    Progress progress{.stage = "mkl",
                      .done = round_,
                      .total = options_.max_rounds,
                      .unit = Progress::Unit::rounds,
                      .objective = now_.primal};
    if (std::isfinite(bound_)) progress.relative_gap = (now_.primal - bound_) / now_.primal;
    return control_.proceed(progress);
  }

  /// Lines 1 and 2, and the objective, for these weights. Starts at the present classifiers.
  Iterate trained(std::vector<double> logs) {
    Iterate at;
    at.logs = std::move(logs);
    const auto weights = rule_.path_weights(at.logs);
    kernels_.combine(weights, executor_, K_);
    at.classifiers = solve_one_vs_rest(K_, labels_.class_of, labels_.num_classes, svm_, executor_,
                                       control_, now_.classifiers);
    at.primal = rule_.penalty(at.logs);
    double classifier_gap = 0;
    for (const auto& classifier : at.classifiers) {
      at.primal += classifier.primal;
      classifier_gap += classifier.primal - classifier.dual;
    }
    // The next classifiers must leave a share of the target gap to the weights.
    if (rule_.has_bound() &&
        classifier_gap > kClassifierShare * options_.gap_tolerance * at.primal) {
      svm_.tolerance = std::max(kFinestSvmTolerance, svm_.tolerance / 3);
    }
    at.q.assign(weights.size(), 0.0);
    quadratic_forms(at, weights, /*of_positive=*/true);
    at.complete =
        std::all_of(weights.begin(), weights.end(), [](double weight) { return weight > 0; });
    return at;
  }

  /// q of the paths with positive weight, or of the others.
  void quadratic_forms(Iterate& at, std::span<const double> weights, bool of_positive) {
    std::vector<bool> wanted(weights.size());
    for (std::size_t m = 0; m < weights.size(); ++m) wanted[m] = (weights[m] > 0) == of_positive;
    std::vector<std::span<const double>> u;
    for (const auto& classifier : at.classifiers) u.emplace_back(classifier.u);
    kernels_.quadratic_forms(u, wanted, executor_, at.q);
  }

  double lower_bound(const Iterate& at) const {
    double sum_alpha = 0;
    for (const auto& classifier : at.classifiers) sum_alpha += classifier.sum_alpha;
    return rule_.lower_bound(at.logs, sum_alpha, at.q);
  }

  /// The bound with the deleted paths counted.
  double full_bound(Iterate& at) {
    if (!at.complete) quadratic_forms(at, rule_.path_weights(at.logs), /*of_positive=*/false);
    at.complete = true;
    return lower_bound(at);
  }

  /// Line 3 with lines 1 and 2 for its weights; if these are not better, more accurate classifiers.
  void update() {
    const double svm_tolerance = svm_.tolerance;
    if (update_weights()) return;
    refine_classifiers();
    // If nothing has changed, the next round would be the same.
    if (rule_.has_bound() && svm_.tolerance == svm_tolerance) {
      idle_rounds_ = kMaxIdleRoundsWithBound;
    }
  }

  /// Line 3, over-relaxed while that lowers the objective. Takes weights that are better, or as
  /// good up to the rounding of K (the distance to the optimum may still shrink while the objective
  /// does not show it); otherwise false.
  bool update_weights() {
    const auto target = rule_.optimum(now_.logs, now_.q);
    const double acceptable = best_primal_ * (1 + kRounding);
    for (;;) {
      std::vector<double> logs = over_relaxed(target);
      if (take_pruned(logs)) return true;
      Iterate next = trained(std::move(logs));
      const bool is_better = next.primal < now_.primal;
      if (is_better || (relaxation_ == 1 && next.primal <= acceptable)) {
        now_ = std::move(next);
        if (options_.over_relaxation && is_better) {
          relaxation_ = std::min(kLargestRelaxation, 1.5 * relaxation_);
        }
        return true;
      }
      if (relaxation_ == 1) return false;
      relaxation_ = relaxation_ > 2 ? relaxation_ / 2 : 1;
    }
  }

  /// now + relaxation (target - now).
  std::vector<double> over_relaxed(const std::vector<double>& target) const {
    std::vector<double> logs = target;
    if (relaxation_ <= 1) return logs;
    for (std::size_t v = 0; v < target.size(); ++v) {
      if (target[v] != kLogOfZero) {
        logs[v] = now_.logs[v] + relaxation_ * (target[v] - now_.logs[v]);
      }
    }
    rule_.normalise(logs);
    return logs;
  }

  /// Takes these weights without the paths of negligible weight, if there are any and the
  /// objective still falls.
  bool take_pruned(std::vector<double> logs) {
    const auto weights = rule_.path_weights(logs);
    double total = 0;
    for (const double weight : weights) total += weight;
    const double least = options_.prune_tolerance * total;
    const auto heaviest = rule_.heaviest_paths(weights);
    return rule_.set_zero(logs, [&](std::size_t v) { return heaviest[v] < least; }) &&
           take_if_better(std::move(logs));
  }

  bool take_if_better(std::vector<double> logs) {
    Iterate next = trained(std::move(logs));
    if (!(next.primal < now_.primal)) return false;
    now_ = std::move(next);
    return true;
  }

  /// Weights that still tend to zero when the others have converged are zero at the optimum. Sets
  /// them to zero if that does not raise the objective.
  void delete_falling() {
    const auto target = rule_.optimum(now_.logs, now_.q);
    for (const double fall : {kFallToZero, 10 * kFallToZero}) {
      std::vector<double> logs = now_.logs;
      const auto falls = [&](std::size_t v) { return target[v] < now_.logs[v] - fall; };
      if (!rule_.set_zero(logs, falls)) return;
      Iterate next = trained(std::move(logs));
      if (!(next.primal <= now_.primal)) continue;
      if (!gap_reached(next.primal, full_bound(next))) continue;
      now_ = std::move(next);
      return;
    }
  }

  /// Gives a weight to deleted paths that have one at the optimum; true if that lowered the
  /// objective.
  bool restore_deleted() {
    std::vector<double> logs = now_.logs;
    if (!rule_.restore(logs, now_.q)) return false;
    for (int trial = 0; trial < kRestoreTrials; ++trial) {
      if (take_if_better(logs)) return true;
      for (std::size_t v = 0; v < logs.size(); ++v) {
        if (now_.logs[v] == kLogOfZero && logs[v] != kLogOfZero) logs[v] -= std::log(10.0);
      }
      rule_.normalise(logs);
    }
    return false;
  }

  /// Line 1 to a tenth of its tolerance, unless that is at its lowest.
  void refine_classifiers() {
    if (svm_.tolerance <= kFinestSvmTolerance) return;
    svm_.tolerance = std::max(kFinestSvmTolerance, svm_.tolerance / 10);
    Iterate refined = trained(now_.logs);
    if (refined.primal <= now_.primal) now_ = std::move(refined);
  }

  MklFit finished(Stop stop) {
    MklFit fit;
    fit.stop = stop;
    fit.rounds = round_;
    fit.primal = now_.primal;
    fit.dual = kUnknown;
    fit.relative_gap = kUnknown;
    if (rule_.has_bound() && control_.proceed()) {
      fit.dual = full_bound(now_);
      fit.relative_gap = (fit.primal - fit.dual) / fit.primal;
    }
    fit.path_weights = rule_.path_weights(now_.logs);
    fit.weights.resize(now_.logs.size());
    for (std::size_t v = 0; v < now_.logs.size(); ++v) fit.weights[v] = std::exp(now_.logs[v]);
    fit.classifiers = std::move(now_.classifiers);
    return fit;
  }

  const PathKernels& kernels_;
  const WeightRule& rule_;
  const ClassLabels& labels_;
  const MklControl& options_;
  SvmOptions svm_;
  Executor& executor_;
  RunControl& control_;
  std::vector<float> K_;
  Iterate now_;
  double bound_ = -std::numeric_limits<double>::infinity();  // of the minimum
  double best_primal_ = 0;
  double relaxation_ = 1.0;
  int round_ = 0;
  int idle_rounds_ = 0;  // consecutive rounds without progress
  bool has_restored_ = false;
};

std::vector<std::vector<std::uint32_t>> single_kernels(std::size_t num_kernels) {
  std::vector<std::vector<std::uint32_t>> paths(num_kernels);
  for (std::size_t k = 0; k < num_kernels; ++k) paths[k] = {static_cast<std::uint32_t>(k)};
  return paths;
}

}  // namespace

MklFit fit_network(std::span<const SymmetricMatrix* const> kernels,
                   std::span<const NetworkPath> paths, std::span<const double> p, double lambda,
                   const ClassLabels& labels, const MklControl& control_options, Executor& executor,
                   RunControl& control) {
  require<InvalidOption>(lambda > 0 && std::isfinite(lambda), "mkl: lambda is ", lambda,
                         ", but must be > 0");
  std::vector<std::vector<std::uint32_t>> lists;
  for (const auto& path : paths) {
    lists.push_back(path.kernels);
    for (const auto& factor : path.factors) {
      require(factor.product < p.size(), "mkl: a path holds product node ", factor.product,
              ", but p has ", p.size(), " values");
    }
  }
  for (std::size_t v = 0; v < p.size(); ++v) {
    require<InvalidOption>(p[v] > 0 && std::isfinite(p[v]), "mkl: p[", v, "] is ", p[v],
                           ", but must be > 0");
  }
  const PathKernels path_kernels(kernels, std::move(lists));
  const NetworkRule rule(paths, p, lambda);
  return MklAlternation(path_kernels, rule, labels, control_options, executor, control).run();
}

MklFit fit_lp(std::span<const SymmetricMatrix* const> kernels, double p, const ClassLabels& labels,
              const MklControl& control_options, Executor& executor, RunControl& control) {
  require<InvalidOption>(p >= 1 && std::isfinite(p), "mkl: p is ", p, ", but must be >= 1");
  const PathKernels path_kernels(kernels, single_kernels(kernels.size()));
  const LpRule rule(kernels.size(), p);
  return MklAlternation(path_kernels, rule, labels, control_options, executor, control).run();
}

MklFit fit_average(std::span<const SymmetricMatrix* const> kernels, const ClassLabels& labels,
                   const SvmOptions& options, Executor& executor, RunControl& control) {
  const PathKernels path_kernels(kernels, single_kernels(kernels.size()));
  MklFit fit;
  fit.weights.assign(kernels.size(), 1.0 / static_cast<double>(kernels.size()));
  fit.path_weights = fit.weights;
  std::vector<float> K(path_kernels.num_rows() * path_kernels.num_rows());
  path_kernels.combine(fit.weights, executor, K);
  fit.classifiers =
      solve_one_vs_rest(K, labels.class_of, labels.num_classes, options, executor, control);
  for (const auto& classifier : fit.classifiers) {
    fit.primal += classifier.primal;
    fit.dual += classifier.dual;
    if (classifier.stop != Stop::converged) fit.stop = classifier.stop;
  }
  fit.relative_gap = (fit.primal - fit.dual) / fit.primal;
  fit.rounds = 1;
  return fit;
}

}  // namespace margrove
