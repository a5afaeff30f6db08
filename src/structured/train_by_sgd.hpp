#pragma once
// One run of stochastic subgradient descent, with warm start and final state.

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/out_of_time.hpp"
#include "margrove/errors.hpp"
#include "structured/any_search.hpp"
#include "structured/sgd.hpp"
#include "structured/structured_training.hpp"

namespace margrove {

/// The sums over the steps so far. A later run may have other examples with the same features.
template <class Problem>
struct SgdFitState {
  Problem problem;
  std::string surrogate;
  SgdState sums;
};

/// Makes the epochs. ProbLoss is flat where margin violations are large, so that examples there
/// would never improve. Therefore the first `num_convex` epochs use its convex extension. The first
/// `num_done` epochs were made by an earlier run; the fit counts them.
template <class Run>
StructuredFit run_epochs(Run& run, const DynamicSurrogate& psi, int epochs, int num_convex,
                         int num_done, RunControl& control) {
  StructuredFit fit;
  fit.passes = num_done;
  const auto run_until = [&](int last) {
    const int before = fit.passes;
    if (before >= last) return;
    fit = run.run(last - before);
    fit.passes += before;
  };
  if (num_convex > 0) {
    run.set_surrogate(DynamicSurrogate(ConvexProbLoss{}));
    run_until(num_convex);
    if (!control.proceed()) return fit;
    run.set_surrogate(psi);
    if (num_done < num_convex) epochs = fit.passes + epochs - num_convex;
  }
  run_until(epochs);
  return fit;
}

/// Throws InvalidInput if the earlier run had another problem or another surrogate.
template <StructuredModel Model, class Problem>
StructuredResult train_by_sgd(const Model& model, const StructuredTraining& training,
                              StructuredSearch search_kind,
                              const StructuredInputs<Model, Problem>& inputs, Executor& executor,
                              RunControl& control) {
  using State = SgdFitState<Problem>;
  const DynamicSurrogate psi(training.surrogate);
  const int num_convex = convex_passes(training, !inputs.start.empty());
  const auto search =
      AnySearch::make(search_kind, search_limits(training, search_kind, StructuredSolver::sgd));
  const std::string surrogate = training.surrogate.to_text();
  const std::optional<double>& rate = training.learning_rate;
  Sgd run(model, psi, search,
          SgdOptions{.C = training.C,
                     .max_passes = training.epochs,
                     .warm_up = rate ? training.C / *rate : SgdOptions{}.warm_up,
                     .settled = training.settled,
                     .seed = training.seed},
          executor, control, inputs.example_weights);
  if (const auto* start = inputs.continuation.template start_as<State>()) {
    require(start->problem == inputs.problem && start->surrogate == surrogate,
            "sgd: the earlier run had another hierarchy, other node weights or another loss");
    run.resume(start->sums);
  } else if (!inputs.start.empty()) {
    run.start_at(inputs.start, rate ? 0.0 : decltype(run)::kPassesOfStart);
  }
  Checkpoint* const checkpoint = inputs.continuation.checkpoint;
  int num_done = 0;
  if (const TensorMap* saved = saved_state(checkpoint)) num_done = run.restore(*saved);
  if (checkpoint != nullptr) run.keep_state_in(*checkpoint);
  StructuredResult result;
  result.fit = run_epochs(run, psi, training.epochs, num_convex, num_done, control);
  result.weights = run.weights();
  try {
    const StructuredObjective objective =
        structured_objective(model, psi, search, training.C, {result.weights, 1.0}, executor,
                             inputs.example_weights, &control);
    result.fit.primal = objective.value;
    result.fit.oracle_calls += objective.oracle_calls;
  } catch (const OutOfTime&) {
    result.fit.primal = std::numeric_limits<double>::quiet_NaN();  // unknown
  }
  // Epochs that were all made before this run leave no stop of their own.
  const bool has_settled = result.fit.stop == Stop::settled;
  Stop limit = has_settled ? Stop::settled : Stop::epochs_done;
  if (!control.proceed()) limit = control.stop_reason();
  result.fit.stop = stop_of(result.fit, 0.0, limit);
  if (inputs.continuation.keep) {
    result.state = std::make_shared<FitState>(State{inputs.problem, surrogate, run.state()});
  }
  return result;
}

}  // namespace margrove
