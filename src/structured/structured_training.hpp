#pragma once
// The settings and inputs of one run of train_structured(), and the checks that surrogate, search
// and solver go together.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
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

/// Stochastic subgradients need no exact maximum: the subgradient at a labelling that misses it by
/// this share is as good as the exact one. For the same reason sgd bans nothing by default: the
/// best corner of the hull serves as well as the maximum, which may take a hundred times as long to
/// find.
inline constexpr double kSgdSearchTolerance = 1e-2;

/// Limits of one search; those that are not given stay at the search's own.
struct SearchLimits {
  int max_bans = 10;
  std::optional<double> tolerance = {};
  std::optional<int> max_calls = {};
};

/// The surrogate, the solver and its options. Callers set tolerance and passes, because every
/// method has its own defaults for them.
struct StructuredTraining {
  AnySurrogate surrogate = MarginRescaling{};
  StructuredSearch search = StructuredSearch::automatic;
  StructuredSolver solver = StructuredSolver::automatic;
  double C = 1.0;
  double tolerance = BcfwOptions{}.tolerance;
  int max_passes = BcfwOptions{}.max_passes;
  int epochs = 50;
  std::optional<int> given_epochs = {};  // where they are not those of the default
  std::optional<int> max_bans = {};      // none, here and below, stands for `auto`
  std::optional<double> search_tolerance = {};
  std::optional<int> search_calls = {};
  std::optional<int> convex_passes = {};
  std::optional<double> learning_rate = {};
  std::uint64_t seed = 0;
  double settled = 0.0;  // of sgd only (SgdOptions)
  // Of bcfw only.
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

/// The settings of a method's options or of StructuredSvmOptions, with loss weight C. If the struct
/// has no epochs, sgd makes at most its max_passes and ends where the objective settles.
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
                              .search_tolerance = options.search_tolerance,
                              .search_calls = options.search_calls,
                              .convex_passes = options.convex_passes,
                              .learning_rate = options.learning_rate,
                              .seed = options.seed};
  if constexpr (requires { options.epochs; }) {
    training.epochs = options.epochs;
    if (options.epochs != Options{}.epochs) training.given_epochs = options.epochs;
  } else {
    training.settled = options.tolerance;
  }
  return training;
}

struct StructuredResult : StructuredWeights {
  std::shared_ptr<const FitState> state;  // null unless the continuation asks to keep it
};

/// The Problem of models whose true labellings alone identify it.
struct AnyProblem {
  bool operator==(const AnyProblem&) const = default;
};

/// Optional inputs of a run. Problem has == and holds what must be the same as in an earlier run,
/// so that this run can start from the state of that one.
template <StructuredModel Model, class Problem = AnyProblem>
struct StructuredInputs {
  std::span<const double> example_weights = {};  // factors >= 0 of the losses; empty for all 1
  Continuation continuation = {};
  Problem problem = {};
  /// Returns, for a given C, the dual variables of margin rescaling that bcfw starts from.
  std::function<std::vector<Mixture<typename Model::Labelling>>(double C)> dual_start = {};
  /// The weights of an earlier model, or empty. sgd begins at them. The other solvers cannot, as
  /// their weights follow from dual variables; they begin with the labellings that violate them
  /// most.
  std::span<const float> start = {};
};

/// What a type of oracle offers to searches.
struct OracleAbilities {
  bool enumerates;        // EnumeratingOracle
  bool has_slope_bounds;  // BoundedSlopeOracle
};
inline constexpr const char* kNoSlopeBounds =
    "option search is 'angular', but this model has no oracle with bounds on the slope; use "
    "convex-hull or bisecting";
template <Oracle O>
constexpr OracleAbilities abilities_of() {
  return {EnumeratingOracle<O>, BoundedSlopeOracle<O>};
}

/// The solver and the search that `automatic` chooses; others are returned as they are. Throw
/// InvalidOption, naming both options and the reason, for a solver that does not suit the surrogate
/// and for a search that does not suit the surrogate, the solver or the oracle.
StructuredSolver chosen_solver(StructuredSolver solver, const AnySurrogate& surrogate);
StructuredSearch chosen_search(StructuredSearch search, const AnySurrogate& surrogate,
                               StructuredSolver solver, const OracleAbilities& oracle);
/// The limits of a search that chosen_search() has returned. Throw InvalidOption if a limit is
/// given that the search does not have.
SearchLimits search_limits(const StructuredTraining& training, StructuredSearch search,
                           StructuredSolver solver);
/// Throws InvalidOption if epochs, convex_passes or learning_rate is given for another solver than
/// sgd, or convex_passes for a surrogate without a convex extension.
void check_options_of_sgd(const StructuredTraining& training, StructuredSolver solver);
/// The passes of sgd, of all that it makes, that train with the convex extension of the surrogate.
int convex_passes(const StructuredTraining& training, bool has_start);
inline bool uses_sgd(const StructuredTraining& training) {
  return chosen_solver(training.solver, training.surrogate) == StructuredSolver::sgd;
}
/// Whether the solver writes checkpoints: bcfw and sgd do.
inline bool writes_checkpoints(const StructuredTraining& training) {
  const StructuredSolver solver = chosen_solver(training.solver, training.surrogate);
  return solver == StructuredSolver::bcfw || solver == StructuredSolver::sgd;
}
constexpr bool keeps_exact_weights(StructuredSolver solver) {
  return solver == StructuredSolver::cutting_plane || solver == StructuredSolver::one_slack;
}
/// The criteria that the surrogate is a function of.
inline Criteria criteria_for(const AnySurrogate& surrogate) {
  return needs_f1_criteria(surrogate) ? Criteria::micro_f1 : Criteria::hamming;
}
/// The criteria of the model: what its member criteria() says, or hamming if it has none.
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
/// For solvers that keep no state: throws InvalidOption if the continuation is not empty.
void require_no_continuation(StructuredSolver solver, const Continuation& continuation);

}  // namespace margrove
