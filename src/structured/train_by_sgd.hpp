#pragma once
// One run of stochastic subgradient descent, with warm start and final state.

#include <limits>
#include <memory>
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

/// The subgradient at a labelling that misses the maximum by this share is as good as the exact
/// one. For the same reason ProbLoss uses no bans: psi is nearly flat along the edges, so that the
/// best corner is as good as the maximum.
inline constexpr double kSgdSearchTolerance = 1e-2;

/// Makes all epochs. ProbLoss is flat where margin violations are large, so that examples there
/// would never improve. Therefore the first half of the epochs uses its convex extension.
template <class Run>
StructuredFit run_epochs(Run& run, const DynamicSurrogate& psi, int epochs) {
  if (psi.is_convex()) return run.run(epochs);
  const int convex_epochs = epochs / 2;
  run.set_surrogate(DynamicSurrogate(ConvexProbLoss{}));
  StructuredFit fit = run.run(convex_epochs);
  if (fit.passes < convex_epochs) return fit;
  run.set_surrogate(psi);
  fit = run.run(epochs - convex_epochs);
  fit.passes += convex_epochs;
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
  const bool is_prob = is<ProbLoss>(psi.any()) || is<ConvexProbLoss>(psi.any());
  const auto search =
      AnySearch::make(search_kind, is_prob ? 0 : training.max_bans, kSgdSearchTolerance);
  const std::string surrogate = training.surrogate.to_text();
  Sgd run(model, psi, search,
          SgdOptions{.C = training.C, .max_passes = training.epochs, .seed = training.seed},
          executor, control, inputs.example_weights);
  if (const auto* start = inputs.continuation.template start_as<State>()) {
    require(start->problem == inputs.problem && start->surrogate == surrogate,
            "sgd: the earlier run had another hierarchy, other node weights or another loss");
    run.resume(start->sums);
  }
  StructuredResult result;
  result.fit = run_epochs(run, psi, training.epochs);
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
  const Stop limit = control.proceed() ? Stop::epochs_done : control.stop_reason();
  result.fit.stop = stop_of(result.fit, 0.0, limit);
  if (inputs.continuation.keep) {
    result.state = std::make_shared<FitState>(State{inputs.problem, surrogate, run.state()});
  }
  return result;
}

}  // namespace margrove
