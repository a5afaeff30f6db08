#pragma once
// What one run of train_structured() is asked for, and which surrogates, searches and solvers go
// together.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/fit_state.hpp"
#include "margrove/structured.hpp"
#include "margrove/surrogates.hpp"
#include "structured/bcfw_options.hpp"
#include "structured/criteria.hpp"
#include "structured/oracle.hpp"
#include "structured/structured_fit.hpp"
#include "structured/surrogate.hpp"

namespace margrove {

/// The surrogate, the solver and its options. The callers name tolerance and passes: every method
/// has its own defaults.
struct StructuredTraining {
  AnySurrogate surrogate = MarginRescaling{};
  StructuredSearch search = StructuredSearch::automatic;
  StructuredSolver solver = StructuredSolver::automatic;
  double C = 1.0;
  double tolerance = BcfwOptions{}.tolerance;
  int max_passes = BcfwOptions{}.max_passes;
  int epochs = 50;
  int max_bans = 10;
  std::uint64_t seed = 0;
  // The pace of bcfw.
  int minibatch = BcfwOptions{}.minibatch;
  int cached_passes = BcfwOptions{}.cached_passes;

  BcfwOptions bcfw() const {
    return {.C = C,
            .tolerance = tolerance,
            .max_passes = max_passes,
            .cached_passes = cached_passes,
            .minibatch = minibatch,
            .seed = seed};
  }
};

/// As the options of a method or of a user's model have it, with this loss weight. A struct without
/// epochs has its passes for them, too.
template <class Options>
StructuredTraining structured_training(const Options& options, double C) {
  StructuredTraining training{.surrogate = options.surrogate,
                              .search = options.search,
                              .solver = options.solver,
                              .C = C,
                              .tolerance = options.tolerance,
                              .max_passes = options.max_passes,
                              .epochs = options.max_passes,
                              .max_bans = options.max_bans,
                              .seed = options.seed};
  if constexpr (requires { options.epochs; }) training.epochs = options.epochs;
  return training;
}

struct StructuredResult : StructuredWeights {
  std::shared_ptr<const FitState> state;  // if it was to be kept
};

/// Of a problem that nothing beside the model's labellings identifies.
struct AnyProblem {
  bool operator==(const AnyProblem&) const = default;
};

/// What a run may be given beside its options. Problem: what must be the same as in an earlier run
/// for its state to mean anything, a type with ==.
template <StructuredModel Model, class Problem = AnyProblem>
struct StructuredInputs {
  std::span<const double> example_weights = {};  // factors >= 0 of the losses; empty for all 1
  Continuation continuation = {};
  Problem problem = {};
  /// Called with C for the dual variables of margin rescaling that bcfw starts from.
  std::function<std::vector<Mixture<typename Model::Labelling>>(double C)> dual_start = {};
};

/// What a type of oracle offers to searches.
struct OracleAbilities {
  bool enumerates;        // EnumeratingOracle
  bool has_slope_bounds;  // ConstrainedOracle
};
template <Oracle O>
constexpr OracleAbilities abilities_of() {
  return {EnumeratingOracle<O>, ConstrainedOracle<O>};
}

/// Those that `automatic` stands for. Throw InvalidOption, naming both options and the reason, for
/// a solver that the surrogate forbids, and for a search that cannot serve the surrogate, the
/// solver or the oracle.
StructuredSolver chosen_solver(StructuredSolver solver, const AnySurrogate& surrogate);
StructuredSearch chosen_search(StructuredSearch search, const AnySurrogate& surrogate,
                               StructuredSolver solver, const OracleAbilities& oracle);
/// Those that the surrogate is a function of.
inline Criteria criteria_for(const AnySurrogate& surrogate) {
  return needs_f1_criteria(surrogate) ? Criteria::micro_f1 : Criteria::hamming;
}
/// A model that can have Micro-F1's criteria says by a member criteria() which it has.
template <StructuredModel Model>
Criteria criteria_of(const Model& model) {
  if constexpr (requires { model.criteria(); }) {
    return model.criteria();
  } else {
    return Criteria::hamming;
  }
}
/// Throws InvalidOption unless the surrogate is a function of the model's criteria.
void require_criteria(const AnySurrogate& surrogate, Criteria of_model);
/// Throws InvalidOption if a solver that keeps no state is asked for one.
void require_no_continuation(StructuredSolver solver, const Continuation& continuation);

}  // namespace margrove
