#pragma once
// Going on from an earlier run of a solver.

namespace margrove {

/// What a solver knows at its end beyond the weights: dual variables, sums of steps. Each solver
/// derives its own. Lives in memory only, not in model files.
struct FitState {
  virtual ~FitState() = default;
};

/// Asks a solver to go on from a state, and to leave one.
struct Continuation {
  /// Of an earlier run; solvers say what they do where it does not fit the problem. Null: none.
  const FitState* start = nullptr;
  bool keep = false;
};

}  // namespace margrove
