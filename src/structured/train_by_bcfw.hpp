#pragma once
// One run of block-coordinate Frank-Wolfe, with warm start and final state.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "structured/bcfw.hpp"
#include "structured/structured_training.hpp"

namespace margrove {

/// The dual variables, and what must be the same for a later run to start from them: problem,
/// surrogate and true labellings.
template <class Labelling, class Problem>
struct BcfwState {
  Problem problem;
  std::string surrogate;
  std::vector<Labelling> truths;
  double C = 0;
  std::vector<ActiveSet<Labelling>> sets;
};

template <StructuredModel Model>
std::vector<typename Model::Labelling> truths_of(const Model& model) {
  std::vector<typename Model::Labelling> truths;
  for (std::size_t i = 0; i < model.num_examples(); ++i) truths.push_back(model.truth(i));
  return truths;
}

/// Uses `psi` and `search`; training.surrogate only names the surrogate in the state. A state with
/// another problem, surrogate or other true labellings is ignored: the run then starts from
/// inputs.dual_start or zero, and near inputs.start.
template <StructuredModel Model, AffineSurrogate Psi, class Search, class Problem>
StructuredResult train_by_bcfw(const Model& model, const Psi& psi, const Search& search,
                               const StructuredTraining& training,
                               const StructuredInputs<Model, Problem>& inputs, Executor& executor,
                               RunControl& control) {
  using State = BcfwState<typename Model::Labelling, Problem>;
  const std::string surrogate = training.surrogate.to_text();
  Bcfw run(model, psi, search, training.bcfw(), executor, control, inputs.example_weights);
  Checkpoint* const checkpoint = inputs.continuation.checkpoint;
  if constexpr (SavableLabelling<typename Model::Labelling>) {
    if (checkpoint != nullptr) run.keep_state_in(*checkpoint);
  }
  const auto* start = inputs.continuation.template start_as<State>();
  if (saved_state(checkpoint) != nullptr) {
    // keep_state_in() has put it back.
  } else if (start != nullptr && start->problem == inputs.problem &&
             start->surrogate == surrogate && start->truths == truths_of(model)) {
    run.warm_start(start->sets, training.C / start->C);
  } else {
    if constexpr (EvaluatingOracle<OracleOf<Model>>) {
      if (inputs.dual_start) run.start_from(inputs.dual_start(training.C));
    }
    if (!inputs.start.empty()) run.start_near(inputs.start);
  }
  StructuredResult result;
  result.fit = run.run();
  result.weights = run.take_weights();
  if (inputs.continuation.keep) {
    result.state = std::make_shared<FitState>(
        State{inputs.problem, surrogate, truths_of(model), training.C, run.take_active()});
  }
  return result;
}

}  // namespace margrove
