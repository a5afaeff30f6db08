#pragma once
// What one run of train_structured() is asked for, and which surrogates, searches and solvers go
// together.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <tuple>
#include <vector>

#include "base/fit_state.hpp"
#include "margrove/options.hpp"
#include "margrove/structured_options.hpp"
#include "margrove/surrogates.hpp"
#include "structured/bcfw_options.hpp"
#include "structured/criteria.hpp"
#include "structured/oracle.hpp"
#include "structured/structured_fit.hpp"

namespace margrove {

/// The surrogate, the solver and its options. The callers name tolerance and passes: every method
/// has its own defaults.
struct StructuredTraining {
  AnySurrogate surrogate = MarginRescaling{};
  SearchKind search = SearchKind::automatic;
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

  static auto fields() {
    using Options = StructuredTraining;
    return std::tuple{
        field("surrogate", &Options::surrogate, kSurrogateHelp),
        field("search", &Options::search, kSearchHelp),
        field("solver", &Options::solver, kSolverHelp),
        field("C", &Options::C, positive, "loss weight"),
        field("tolerance", &Options::tolerance, positive,
              "relative duality gap at which bcfw and cutting planes stop"),
        field("max_passes", &Options::max_passes, at_least(1),
              "bcfw and cutting planes: passes over the examples, at most"),
        field("epochs", &Options::epochs, at_least(1), "sgd: passes over the examples"),
        field("max_bans", &Options::max_bans, at_least(0), kMaxBansHelp),
        field("seed", &Options::seed, non_negative, "order of the examples"),
        field("minibatch", &Options::minibatch, at_least(1),
              "bcfw: examples whose oracles run at the same weights"),
        field("cached_passes", &Options::cached_passes, at_least(0),
              "bcfw: passes over known labellings between two that ask the oracle"),
    };
  }
  BcfwOptions bcfw() const {
    return {.C = C,
            .tolerance = tolerance,
            .max_passes = max_passes,
            .cached_passes = cached_passes,
            .minibatch = minibatch,
            .seed = seed};
  }
};

struct StructuredResult {
  std::vector<float> weights;             // one per weight of the model
  StructuredFit fit;                      // sgd: no dual, and `converged` once all epochs are made
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
SearchKind chosen_search(SearchKind search, const AnySurrogate& surrogate, StructuredSolver solver,
                         const OracleAbilities& oracle);
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
