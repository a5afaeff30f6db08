#include "kernel/mkl.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "kernel/mkl_rules.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
constexpr double kZero = -std::numeric_limits<double>::infinity();
constexpr double kLargestRelaxation = 16.0;  // over-relaxation of a step in log beta
constexpr double kFinestSvmTolerance = 1e-9;
constexpr double kClassifierShare = 0.2;  // of the duality gap may come from the classifiers
constexpr int kReopenTrials = 5;
// A weight whose logarithm falls by this much in a round is taken to tend to zero.
constexpr double kVanishingFall = 0.02;
constexpr double kRounding = 1e-7;  // of the objective, from K in float32
// The number of rounds with hardly a change after which training ends, without and with a bound.
constexpr int kQuietRounds = 2;
constexpr int kQuietRoundsWithBound = 30;

/// Weights and the classifiers that belong to them.
struct Iterate {
  std::vector<double> logs;
  std::vector<SvmSolution> classifiers;
  std::vector<double> q;  // of the paths with positive weight; of all after complete_q()
  double primal = 0;
  bool complete = false;
};

/// Whether some classifier is not at its optimum and would not come there with more steps.
bool have_stalled(std::span<const SvmSolution> classifiers) {
  return std::ranges::any_of(classifiers, [](const auto& each) {
    return each.stop == Stop::stalled || each.stop == Stop::pass_limit;
  });
}

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
    if (rule.has_bound()) {
      svm_.tolerance = std::min(svm_.tolerance, options.gap_tolerance);
    }
  }

  MklFit run() {
    Iterate now;
    now.logs = rule_.first();
    evaluate(now, {});
    MklFit fit;
    double bound = kZero;
    double relaxation = 1.0;
    double best = now.primal;
    int quiet_rounds = 0;
    fit.stop = Stop::pass_limit;
    for (fit.rounds = 1;; ++fit.rounds) {
      if (rule_.has_bound() && control_.proceed()) bound = std::max(bound, lower_bound(now));
      if (!report(fit.rounds, now.primal, bound)) {
        fit.stop = control_.stop_reason();
        break;
      }
      if (have_stalled(now.classifiers)) {
        fit.stop = Stop::stalled;
        break;
      }
      bool reopened = false;
      if (gap_reached(now.primal, bound)) {
        bound = full_bound(now);  // the bound so far leaves out dropped paths
        if (gap_reached(now.primal, bound)) {
          drop_vanishing(now);
          fit.stop = Stop::converged;
          break;
        }
        reopened = reopen(now);
      }
      if (fit.rounds >= options_.max_rounds) break;
      if (!reopened && !advance(now, best, relaxation)) quiet_rounds = kQuietRoundsWithBound;
      // A round that was cut short says nothing about the next.
      if (!control_.proceed()) {
        fit.stop = control_.stop_reason();
        break;
      }
      quiet_rounds = best - now.primal > quiet_change() * now.primal ? 0 : quiet_rounds + 1;
      best = std::min(best, now.primal);
      if (quiet_rounds >= (rule_.has_bound() ? kQuietRoundsWithBound : kQuietRounds)) {
        if (rule_.has_bound()) {
          bound = full_bound(now);
          if (reopen(now)) {
            quiet_rounds = 0;
            continue;
          }
        }
        fit.stop = Stop::converged;
        break;
      }
    }
    return finished(std::move(fit), std::move(now));
  }

 private:
  /// A round: better weights, or else more accurate classifiers. False if it changes neither, so
  /// that the next would be the same.
  bool advance(Iterate& now, double best, double& relaxation) {
    const double svm_tolerance = svm_.tolerance;
    if (improve(now, best, relaxation)) return true;
    refine_classifiers(now);
    return !rule_.has_bound() || svm_.tolerance != svm_tolerance;
  }

  bool gap_reached(double primal, double bound) const {
    return rule_.has_bound() && primal - bound <= options_.gap_tolerance * primal;
  }

  bool report(int round, double primal, double bound) {
    Progress progress{.stage = "mkl",
                      .done = round,
                      .total = options_.max_rounds,
                      .unit = "rounds",
                      .objective = primal};
    if (std::isfinite(bound)) progress.relative_gap = (primal - bound) / primal;
    return control_.proceed(progress);
  }

  /// Steps 1 and 2: classifiers, norms and objective for the iterate's weights.
  void evaluate(Iterate& at, std::span<const SvmSolution> starts) {
    const auto weights = rule_.path_weights(at.logs);
    kernels_.combine(weights, executor_, K_);
    at.classifiers = solve_one_vs_rest(K_, labels_.class_of, labels_.num_classes, svm_, executor_,
                                       control_, starts);
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
  }

  /// q of the paths with positive weight, or of the others.
  void quadratic_forms(Iterate& at, std::span<const double> weights, bool of_positive) {
    std::vector<bool> wanted(weights.size());
    for (std::size_t m = 0; m < weights.size(); ++m) wanted[m] = (weights[m] > 0) == of_positive;
    std::vector<std::span<const double>> u;
    for (const auto& classifier : at.classifiers) u.emplace_back(classifier.u);
    kernels_.quadratic_forms(u, wanted, executor_, at.q);
  }

  /// q of the paths that were dropped, too.
  void complete_q(Iterate& at) {
    quadratic_forms(at, rule_.path_weights(at.logs), /*of_positive=*/false);
    at.complete = true;
  }

  double lower_bound(const Iterate& at) const {
    double sum_alpha = 0;
    for (const auto& classifier : at.classifiers) sum_alpha += classifier.sum_alpha;
    return rule_.lower_bound(at.logs, sum_alpha, at.q);
  }

  /// The relative decrease of the objective in a round below which the round is quiet.
  double quiet_change() const { return rule_.has_bound() ? 0.0 : options_.change_tolerance; }

  /// The bound with all paths counted.
  double full_bound(Iterate& at) {
    if (!at.complete) complete_q(at);
    return lower_bound(at);
  }

  /// Replaces `now` by an iterate that is better, or as good up to the rounding of K (the distance
  /// to the optimum may still shrink while the objective does not show it); otherwise false.
  bool improve(Iterate& now, double best, double& relaxation) {
    const auto target = rule_.improved(now.logs, now.q);
    const double acceptable = best * (1 + kRounding);
    for (;;) {
      Iterate next;
      next.logs = target;
      if (relaxation > 1) {
        for (std::size_t v = 0; v < target.size(); ++v) {
          if (target[v] != kZero) {
            next.logs[v] = now.logs[v] + relaxation * (target[v] - now.logs[v]);
          }
        }
        rule_.restore(next.logs);
      }
      if (try_pruned(now, next)) return true;
      evaluate(next, now.classifiers);
      if (next.primal < now.primal || (relaxation == 1 && next.primal <= acceptable)) {
        const bool better = next.primal < now.primal;
        now = std::move(next);
        if (options_.over_relaxation && better)
          relaxation = std::min(kLargestRelaxation, 1.5 * relaxation);
        return true;
      }
      if (relaxation == 1) return false;
      relaxation = relaxation > 2 ? relaxation / 2 : 1;
    }
  }

  /// Takes the same weights without the paths of negligible weight, if there are any and the
  /// objective still falls.
  bool try_pruned(Iterate& now, const Iterate& next) {
    Iterate pruned;
    pruned.logs = next.logs;
    if (!prune(pruned.logs)) return false;
    evaluate(pruned, now.classifiers);
    if (!(pruned.primal < now.primal)) return false;
    now = std::move(pruned);
    return true;
  }

  bool prune(std::vector<double>& logs) const {
    const auto weights = rule_.path_weights(logs);
    double total = 0;
    for (const double weight : weights) total += weight;
    return rule_.drop(logs, weights, options_.prune_tolerance * total);
  }

  /// Weights that still tend to zero when the others have converged are zero at the optimum. Sets
  /// them to zero if that does not raise the objective.
  void drop_vanishing(Iterate& now) {
    const auto target = rule_.improved(now.logs, now.q);
    for (const double fall : {kVanishingFall, 10 * kVanishingFall}) {
      Iterate dropped;
      dropped.logs = now.logs;
      bool any = false;
      for (std::size_t v = 0; v < target.size(); ++v) {
        if (!rule_.may_vanish(v) || !(target[v] < now.logs[v] - fall)) continue;
        dropped.logs[v] = kZero;
        any = true;
      }
      if (!any) return;
      rule_.restore(dropped.logs);
      evaluate(dropped, now.classifiers);
      if (!(dropped.primal <= now.primal)) continue;
      if (!gap_reached(dropped.primal, full_bound(dropped))) continue;
      now = std::move(dropped);
      return;
    }
  }

  /// Restores dropped weights that are positive at the optimum; true if that lowered the objective.
  bool reopen(Iterate& now) {
    Iterate opened;
    opened.logs = now.logs;
    if (!rule_.reopen(opened.logs, now.q)) return false;
    for (int trial = 0; trial < kReopenTrials; ++trial) {
      evaluate(opened, now.classifiers);
      if (opened.primal < now.primal) {
        now = std::move(opened);
        return true;
      }
      for (std::size_t v = 0; v < opened.logs.size(); ++v) {
        if (now.logs[v] == kZero && opened.logs[v] != kZero) opened.logs[v] -= std::log(10.0);
      }
      rule_.restore(opened.logs);
    }
    return false;
  }

  /// Solves the SVMs to a tenth of their tolerance, unless it is at its lowest.
  void refine_classifiers(Iterate& now) {
    if (svm_.tolerance <= kFinestSvmTolerance) return;
    svm_.tolerance = std::max(kFinestSvmTolerance, svm_.tolerance / 10);
    Iterate refined;
    refined.logs = now.logs;
    evaluate(refined, now.classifiers);
    if (refined.primal <= now.primal) now = std::move(refined);
  }

  MklFit finished(MklFit fit, Iterate now) {
    fit.primal = now.primal;
    fit.dual = kUnknown;
    fit.relative_gap = kUnknown;
    if (rule_.has_bound() && control_.proceed()) {
      fit.dual = full_bound(now);
      fit.relative_gap = (fit.primal - fit.dual) / fit.primal;
    }
    fit.path_weights = rule_.path_weights(now.logs);
    fit.weights.resize(now.logs.size());
    for (std::size_t v = 0; v < now.logs.size(); ++v) fit.weights[v] = std::exp(now.logs[v]);
    fit.classifiers = std::move(now.classifiers);
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
