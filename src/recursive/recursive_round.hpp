#pragma once
// The end of a round of the joint solvers of recursive regularisation.

#include <string_view>

#include "recursive/recursive.hpp"

namespace margrove::detail {

/// Reports a round whose primal and dual are known. Returns whether it is the last; then sets
/// `fit.stop`.
template <class Options>
bool is_last_round(std::string_view stage, const Options& options, RecursiveFit& fit,
                   RunControl& control) {
  if (!control.proceed({.stage = stage,
                        .done = fit.passes,
                        .objective = fit.primal,
                        .relative_gap = fit.relative_gap()})) {
    fit.stop = control.stop_reason();
    return true;
  }
  // Also where the objective is not a number.
  if (!(fit.relative_gap() > options.tolerance)) return true;
  if (fit.passes < options.max_passes) return false;
  fit.stop = Stop::pass_limit;
  return true;
}

}  // namespace margrove::detail
