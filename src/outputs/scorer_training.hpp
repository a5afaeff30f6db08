#pragma once
// Training of models whose weights a NodeScorer holds, by either solver.

#include <memory>
#include <string>
#include <vector>

#include "outputs/path/path_svm.hpp"
#include "structured/bcfw.hpp"
#include "structured/sgd.hpp"

namespace margrove {

/// What must be the same for a state to mean anything.
struct ScorerProblem {
  LabelGraph graph;
  std::vector<double> alpha;
  std::string loss;
  bool operator==(const ScorerProblem&) const = default;
};

/// The dual variables, which belong to the rows and their labels.
template <class Labelling>
struct BcfwFitState {
  ScorerProblem problem;
  std::vector<Labelling> truths;
  double C = 0;
  std::vector<ActiveSet<Labelling>> active;
};

/// The sums over the steps so far, for rows with the same features.
struct SgdFitState {
  ScorerProblem problem;
  SgdState sums;
};

/// Whether the weights must have the same places for other rows.
inline bool keeps_sums(const std::string& solver, const Continuation& continuation) {
  return solver == "sgd" && (continuation.keep || continuation.start != nullptr);
}

template <class Model>
std::vector<typename Model::Labelling> truths_of(const Model& model) {
  std::vector<typename Model::Labelling> truths;
  for (std::size_t i = 0; i < model.num_examples(); ++i) truths.push_back(model.truth(i));
  return truths;
}

/// What to train beside the model, its surrogate and its search.
struct ScorerRun {
  ScorerProblem problem;
  std::string solver;  // "bcfw" with `bcfw`, or "sgd" with its C and seed
  BcfwOptions bcfw;
  int epochs;                  // of sgd
  std::uint32_t num_features;  // of the weights
  const Continuation& continuation;
  std::span<const double> row_weights;
  Executor& executor;
  RunControl& control;
};

/// Of PathSvmOptions or LabelSetSvmOptions.
template <class Options>
ScorerRun scorer_run(const Options& options, const CsrView& X, ScorerProblem problem,
                     std::span<const double> row_weights, const Continuation& continuation,
                     Executor& executor, RunControl& control) {
  return {
      .problem = std::move(problem),
      .solver = options.solver,
      .bcfw = {.C = options.C,
               .tolerance = options.tolerance,
               .max_passes = options.max_passes,
               .seed = options.seed},
      .epochs = options.epochs,
      .num_features = X.num_columns(),
      .continuation = continuation,
      .row_weights = row_weights,
      .executor = executor,
      .control = control,
  };
}

template <class Model, class Psi, class Search>
PathSvmResult train_by_sgd(const Model& model, Psi psi, Search search, const ScorerRun& given) {
  SgdOptions options;
  options.C = given.bcfw.C;
  options.max_passes = given.epochs;
  options.seed = given.bcfw.seed;
  PathSvmResult result;
  Sgd run(model, psi, search, options, given.executor, given.control, given.row_weights);
  if (const auto* start = given.continuation.start_as<SgdFitState>()) {
    require(start->problem == given.problem,
            "sgd: the run to go on from had another hierarchy, other node weights or another loss");
    run.resume(start->sums);
  }
  result.fit = run.run();
  // All epochs made is the whole of what was asked for: there is no tolerance to miss.
  if (result.fit.stop == Stop::pass_limit) result.fit.stop = Stop::converged;
  const std::vector<float> w = run.weights();
  if (result.fit.stop != Stop::interrupted) {
    const StructuredObjective objective = structured_objective(
        model, psi, search, options.C, {w, 1.0}, given.executor, given.row_weights);
    result.fit.primal = objective.value;
    result.fit.oracle_calls += objective.oracle_calls;
  }
  result.weights = model.scorer().node_weights({w, 1.0}, given.num_features);
  if (given.continuation.keep) {
    result.state = std::make_shared<FitState>(SgdFitState{given.problem, run.state()});
  }
  return result;
}

template <class Model, class Psi, class Search>
PathSvmResult train_by_bcfw(const Model& model, Psi psi, Search search, const ScorerRun& given) {
  using State = BcfwFitState<typename Model::Labelling>;
  PathSvmResult result;
  Bcfw run(model, psi, search, given.bcfw, given.executor, given.control, given.row_weights);
  // Duals of other rows or labels say nothing here: the run then starts at zero.
  const auto* start = given.continuation.start_as<State>();
  if (start != nullptr && start->problem == given.problem && start->truths == truths_of(model)) {
    run.warm_start(start->active, given.bcfw.C / start->C);
  }
  result.fit = run.run();
  result.weights = model.scorer().node_weights({run.weights(), 1.0}, given.num_features);
  if (given.continuation.keep) {
    result.state = std::make_shared<FitState>(
        State{given.problem, truths_of(model), given.bcfw.C, run.take_active()});
  }
  return result;
}

template <class Model, class Psi, class Search>
PathSvmResult train_scorer_model(const Model& model, Psi psi, Search search,
                                 const ScorerRun& given) {
  return given.solver == "sgd" && model.num_examples() > 0
             ? train_by_sgd(model, psi, search, given)
             : train_by_bcfw(model, psi, search, given);
}

}  // namespace margrove
