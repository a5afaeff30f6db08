#pragma once
// How a solver continues an earlier run.

#include <any>
#include <utility>

namespace margrove {

class Checkpoint;

/// The state of a solver at its end beside the weights, such as dual variables. Each solver has a
/// type of its own. It is kept in memory only, not in model files.
class FitState {
 public:
  template <class State>
  explicit FitState(State state) : state_(std::move(state)) {}
  /// Null if another solver left it.
  template <class State>
  const State* as() const {
    return std::any_cast<State>(&state_);
  }

 private:
  std::any state_;
};

/// Tells a solver whether to continue from a state and whether to keep its own at the end.
struct Continuation {
  /// The state of an earlier run, or null. Solvers say what they do if it does not fit the problem.
  const FitState* start = nullptr;
  bool keep = false;
  /// Where the state is kept while the solver runs, or null. Only plans that say so use it
  /// (Plan::keeps_checkpoints).
  Checkpoint* checkpoint = nullptr;

  /// The state to go on from, if it is one of this type; otherwise null.
  template <class State>
  const State* start_as() const {
    return start != nullptr ? start->as<State>() : nullptr;
  }
};

}  // namespace margrove
