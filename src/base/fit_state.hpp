#pragma once
// How a solver continues an earlier run.

namespace margrove {

/// What a solver knows at its end beyond the weights: dual variables, sums of steps. Each solver
/// derives its own state. It lives in memory only, not in model files.
struct FitState {
  virtual ~FitState() = default;
};

/// Tells a solver to continue from a state, and to leave one.
struct Continuation {
  /// The state of an earlier run, or null. Solvers say what they do if it does not fit the problem.
  const FitState* start = nullptr;
  bool keep = false;
};

}  // namespace margrove
