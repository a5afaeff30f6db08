#pragma once
// Going on from an earlier run of a solver.

namespace margrove {

/// One address per type of state.
template <class State>
inline constexpr char kStateId = 0;
template <class State>
constexpr const void* state_id() {
  return &kStateId<State>;
}

/// What a solver knows at its end beyond the weights: dual variables, sums of steps. Each solver
/// derives its own and passes its state_id(). Lives in memory only, not in model files.
class FitState {
 public:
  explicit FitState(const void* id) : id_(id) {}
  virtual ~FitState() = default;
  const void* id() const { return id_; }

 private:
  const void* id_;
};

/// The state, if there is one and it is of this type; otherwise null.
template <class State>
const State* state_as(const FitState* state) {
  return state != nullptr && state->id() == state_id<State>() ? static_cast<const State*>(state)
                                                              : nullptr;
}

/// Asks a solver to go on from a state, and to leave one.
struct Continuation {
  /// Of an earlier run; solvers say what they do where it does not fit the problem. Null: none.
  const FitState* start = nullptr;
  bool keep = false;
};

}  // namespace margrove
