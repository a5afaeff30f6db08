#include "structured/structured_training.hpp"

#include "margrove/errors.hpp"

namespace margrove {
namespace {

bool is_affine(const AnySurrogate& surrogate) { return DynamicSurrogate(surrogate).is_affine(); }
bool is_convex(const AnySurrogate& surrogate) { return DynamicSurrogate(surrogate).is_convex(); }
bool is_increasing(const AnySurrogate& surrogate) {
  return DynamicSurrogate(surrogate).is_increasing();
}

bool serves_slack_rescaling_only(StructuredSearch search) {
  return search == StructuredSearch::sarawagi || search == StructuredSearch::binary ||
         search == StructuredSearch::bisecting || search == StructuredSearch::angular;
}

}  // namespace

StructuredSolver chosen_solver(StructuredSolver solver, const AnySurrogate& surrogate) {
  if (solver == StructuredSolver::automatic) {
    return is_affine(surrogate) ? StructuredSolver::bcfw : StructuredSolver::sgd;
  }
  require<InvalidOption>(solver != StructuredSolver::bcfw || is_affine(surrogate),
                         "option solver is 'bcfw', but surrogate ", surrogate.to_text(),
                         " is not affine in the margin; use sgd");
  const bool is_planes =
      solver == StructuredSolver::cutting_plane || solver == StructuredSolver::one_slack;
  require<InvalidOption>(!is_planes || is_convex(surrogate), "option solver is '", name_of(solver),
                         "', but surrogate ", surrogate.to_text(),
                         " is not convex in the margin; use sgd");
  return solver;
}

StructuredSearch chosen_search(StructuredSearch search, const AnySurrogate& surrogate,
                               StructuredSolver solver, const OracleAbilities& oracle) {
  const bool is_margin = is<MarginRescaling>(surrogate);
  if (search == StructuredSearch::automatic) {
    if (is_margin) return StructuredSearch::margin;
    search = oracle.enumerates ? StructuredSearch::enumeration : StructuredSearch::convex_hull;
  }
  require<InvalidOption>(oracle.enumerates || is_increasing(surrogate), "option surrogate is '",
                         surrogate.to_text(),
                         "', which does not increase with the task loss, so that all labellings "
                         "must be enumerated; this type of output has too many");
  require<InvalidOption>(search != StructuredSearch::enumeration || oracle.enumerates,
                         "option search is 'enumeration', but this type of output has too many "
                         "labellings; use convex-hull");
  require<InvalidOption>(search == StructuredSearch::enumeration || is_increasing(surrogate),
                         "option search is '", name_of(search), "', but surrogate ",
                         surrogate.to_text(),
                         " does not increase with the task loss; use enumeration");
  require<InvalidOption>(search != StructuredSearch::margin || is_margin,
                         "option search is 'margin', but surrogate ", surrogate.to_text(),
                         " needs convex-hull");
  require<InvalidOption>(!serves_slack_rescaling_only(search) || is<SlackRescaling>(surrogate),
                         "option search is '", name_of(search),
                         "', which serves slack rescaling only, but surrogate is ",
                         surrogate.to_text());
  require<InvalidOption>(
      search != StructuredSearch::sarawagi || solver == StructuredSolver::cutting_plane,
      "option search is 'sarawagi', which needs the slacks of solver cutting-plane, but solver is ",
      name_of(solver));
  require<InvalidOption>(search != StructuredSearch::angular || oracle.has_slope_bounds,
                         "option search is 'angular', but this model has no oracle with bounds on "
                         "the slope; use convex-hull or bisecting");
  return search;
}

void require_criteria(const AnySurrogate& surrogate, Criteria of_model) {
  require<InvalidOption>(needs_f1_criteria(surrogate) == (of_model == Criteria::micro_f1),
                         "option surrogate is '", surrogate.to_text(),
                         "', which this type of output does not support; use ",
                         of_model == Criteria::micro_f1 ? "micro-f1" : "margin or slack");
}

void require_no_continuation(StructuredSolver solver, const Continuation& continuation) {
  require<InvalidOption>(!continuation.keep && continuation.start == nullptr, "option solver is '",
                         name_of(solver),
                         "', which cannot continue an earlier run; use bcfw or sgd");
}

}  // namespace margrove
