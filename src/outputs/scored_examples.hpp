#pragma once
// The losses of score_loss.hpp for any type of output that offers:
//
//   Labelling, Workspace         Workspace has a member `Labelling truth`
//   read(i, w)                   copies the scores of example i to w and checks them
//   labelling(i, numbers, what, w)  a given labelling, checked; messages say `what` it is of
//                                example i, after read(i, w)
//   oracle(w)                    of the scores and of w.truth
//   scores(w)                    all scores, as pointers to vectors of double
//   prepare(w)                   to be called after these have changed
//   best(w)                      argmax f(y)
//   score(w, y)                  f(y)
//   add(i, y, amount)            adds to the gradient of example i at the parts of y
//   write(i, y)                  the labelling, to the result
//   add_marginals(i, w)          optional: adds the expected parts to the gradient, returns log Z
//   check(options)               throws InvalidOption for what is not offered

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "margrove/errors.hpp"
#include "outputs/score_loss.hpp"
#include "structured/any_search.hpp"
#include "structured/structured_training.hpp"

namespace margrove {

template <class Output, class Real>
class ScoredExamples {
 public:
  using Workspace = typename Output::Workspace;

  ScoredExamples(const Output& output, const LossBlocks<Real>& out, const ScoreLossOptions& options,
                 Executor& executor)
      : output_(output),
        out_(out),
        options_(options),
        executor_(executor),
        workspaces_(static_cast<std::size_t>(executor.size())) {}

  void run() {
    output_.check(options_);
    switch (options_.task) {
      case ScoreTask::structured:
        return search();
      case ScoreTask::perturbed:
        return for_each([&](std::size_t i, Workspace& w) { return perturb(i, w); });
      case ScoreTask::best:
        return for_each([&](std::size_t i, Workspace& w) {
          const auto y = output_.best(w);
          output_.write(i, y);
          return output_.score(w, y);
        });
      case ScoreTask::marginals:
      case ScoreTask::log_likelihood:
        return sum_over_labellings();
    }
  }

 private:
  using Labelling = typename Output::Labelling;

  /// Reads each example and writes what loss(i, workspace) returns.
  template <class Loss>
  void for_each(const Loss& loss) {
    executor_.for_each(out_.size(), [&](std::size_t i, int worker) {
      Workspace& w = workspaces_[static_cast<std::size_t>(worker)];
      output_.read(i, w);
      if (options_.task != ScoreTask::best && options_.task != ScoreTask::marginals) {
        w.truth = output_.labelling(i, out_.truth_of(i), "truth", w);
      }
      out_.losses[i] = static_cast<Real>(loss(i, w));
    });
  }

  void search() {
    using O = decltype(output_.oracle(std::declval<Workspace&>()));
    // Any solver but cutting planes, whose slacks one search needs.
    const StructuredSearch kind = chosen_search(options_.search, options_.surrogate,
                                                StructuredSolver::sgd, abilities_of<O>());
    const DynamicSurrogate psi(options_.surrogate);
    for_each([&](std::size_t i, Workspace& w) {
      const O oracle = output_.oracle(w);
      LabelCache<Labelling> cache;
      if (out_.has_start(i)) {
        cache.labellings.push_back(output_.labelling(i, out_.start_of(i), "start", w));
      }
      SearchLimits limits{.max_bans = options_.max_bans};
      if (kind == StructuredSearch::convex_hull) limits.tolerance = options_.tolerance;
      AnySearch run = AnySearch::make(kind, limits);
      const auto found = run(oracle, psi, cache);
      if (!(found.value > 0.0)) {
        output_.write(i, w.truth);
        return 0.0;
      }
      output_.write(i, found.best.y);
      move_from_truth(i, w, found.best.y, psi.derivative_m(found.best.m, found.best.g));
      return found.value;
    });
  }

  // Each term is max_y f(y) - f(y_i) at the same perturbed scores, so that it is >= 0; the mean of
  // f(y_i) is that of the given scores.
  double perturb(std::size_t i, Workspace& w) const {
    const auto scores = output_.scores(w);
    std::vector<std::vector<double>> given;
    for (const std::vector<double>* each : scores) given.push_back(*each);
    Random random(options_.seed, i);
    double sum = 0.0;
    for (int s = 0; s < options_.samples; ++s) {
      for (std::size_t k = 0; k < given.size(); ++k) {
        std::vector<double>& perturbed = *scores[k];
        for (std::size_t j = 0; j < perturbed.size(); ++j) {
          perturbed[j] = given[k][j] + options_.sigma * random.normal();
        }
      }
      output_.prepare(w);
      const auto y = output_.best(w);
      if (y == w.truth) continue;
      sum += output_.score(w, y) - output_.score(w, w.truth);
      move_from_truth(i, w, y, 1.0 / options_.samples);
    }
    return sum / options_.samples;
  }

  void sum_over_labellings() {
    if constexpr (requires(Workspace& w) { output_.add_marginals(0, w); }) {
      for_each([&](std::size_t i, Workspace& w) {
        const double log_partition = output_.add_marginals(i, w);
        if (options_.task == ScoreTask::marginals) return log_partition;
        output_.add(i, w.truth, Real{-1});
        // The sum includes the truth; rounding must not make a loss negative.
        return std::max(0.0, log_partition - output_.score(w, w.truth));
      });
    } else {
      throw InvalidOption(
          "log-likelihood: the sum over all label sets of a field of pairs cannot be computed; "
          "structured and perturbed losses need only the best one");
    }
  }

  void move_from_truth(std::size_t i, const Workspace& w, const Labelling& y, double amount) const {
    output_.add(i, y, static_cast<Real>(amount));
    output_.add(i, w.truth, static_cast<Real>(-amount));
  }

  const Output& output_;
  const LossBlocks<Real>& out_;
  const ScoreLossOptions& options_;
  Executor& executor_;
  std::vector<Workspace> workspaces_;
};

template <class Output, class Real>
void run_examples(const Output& output, const LossBlocks<Real>& out,
                  const ScoreLossOptions& options, Executor& executor) {
  ScoredExamples(output, out, options, executor).run();
}

/// Copies scores to `out`; throws InvalidInput, naming `what`, example i and the score, unless all
/// are finite.
template <class Real>
void copy_finite(std::span<const Real> scores, std::string_view what, std::size_t i,
                 std::vector<double>& out) {
  out.resize(scores.size());
  for (std::size_t k = 0; k < scores.size(); ++k) {
    out[k] = static_cast<double>(scores[k]);
    require(std::isfinite(out[k]), what, " of example ", i, ": score ", k, " is ", out[k],
            ", but must be finite");
  }
}

/// The length of example i, which must be in [1, out.width]; out.width, if there are no lengths.
template <class Real>
std::size_t length_of(std::span<const std::int64_t> lengths, const LossBlocks<Real>& out,
                      std::size_t i) {
  if (lengths.empty()) return out.width;
  require(lengths[i] >= 1 && static_cast<std::size_t>(lengths[i]) <= out.width,
          "lengths: that of example ", i, " is ", lengths[i], ", but must be in [1, ", out.width,
          "]");
  return static_cast<std::size_t>(lengths[i]);
}

/// The first `length` numbers of a labelling, which must be in [0, end).
template <class Label>
std::vector<Label> checked_labels(std::span<const std::int64_t> given, std::size_t length,
                                  std::size_t end, std::string_view what, std::size_t i) {
  std::vector<Label> labels(length);
  for (std::size_t t = 0; t < length; ++t) {
    require(given[t] >= 0 && static_cast<std::size_t>(given[t]) < end, what, " of example ", i,
            ": number ", t, " is ", given[t], ", but must be in [0, ", end, ")");
    labels[t] = static_cast<Label>(given[t]);
  }
  return labels;
}

}  // namespace margrove
