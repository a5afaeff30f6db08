#pragma once
// One run of stochastic subgradient descent, from its start to the state that it leaves.

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

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

/// The subgradient at a labelling that misses the maximum by this share serves as well as any. For
/// the same reason ProbLoss uses no bans: psi is nearly flat along the edges, so that the best
/// corner serves as well as the maximum.
inline constexpr double kSgdSearchTolerance = 1e-2;

/// All epochs. ProbLoss is flat where margin violations are large, and examples that a run from
/// zero brings there would never leave. Therefore the first half of the epochs uses its convex
/// extension.
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

/// Throws InvalidInput if the run to go on from had another problem or another surrogate.
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
            "sgd: the run to go on from had another hierarchy, other node weights or another loss");
    run.resume(start->sums);
  }
  StructuredResult result;
  result.fit = run_epochs(run, psi, training.epochs);
  if (result.fit.stop == Stop::pass_limit) result.fit.stop = Stop::epochs_done;
  result.weights = run.weights();
  if (control.proceed()) {
    const StructuredObjective objective = structured_objective(
        model, psi, search, training.C, {result.weights, 1.0}, executor, inputs.example_weights);
    result.fit.primal = objective.value;
    result.fit.oracle_calls += objective.oracle_calls;
  }
  if (inputs.continuation.keep) {
    result.state = std::make_shared<FitState>(State{inputs.problem, surrogate, run.state()});
  }
  return result;
}

}  // namespace margrove
