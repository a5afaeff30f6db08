#include "structured/structured_training.hpp"

#include <algorithm>
#include <utility>

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

void check_options_of_sgd(const StructuredTraining& training, StructuredSolver solver) {
  const auto check_solver = [&](const char* option, auto given) {
    require<InvalidOption>(solver == StructuredSolver::sgd, "option ", option, " is ", given,
                           ", but solver is ", name_of(solver), "; it is for sgd");
  };
  if (training.given_epochs) check_solver("epochs", *training.given_epochs);
  if (training.learning_rate) check_solver("learning_rate", *training.learning_rate);
  if (!training.convex_passes) return;
  const int given = *training.convex_passes;
  require<InvalidOption>(is<ProbLoss>(training.surrogate), "option convex_passes is ", given,
                         ", but surrogate is ", training.surrogate.to_text(), "; it is for prob");
  check_solver("convex_passes", given);
}

int convex_passes(const StructuredTraining& training, bool has_start) {
  if (!is<ProbLoss>(training.surrogate)) return 0;
  const int automatic = has_start ? 0 : training.epochs / 2;
  return std::min(training.convex_passes.value_or(automatic), training.epochs);
}

SearchLimits search_limits(const StructuredTraining& training, StructuredSearch search,
                           StructuredSolver solver) {
  const bool makes_one_call =
      search == StructuredSearch::margin || search == StructuredSearch::enumeration;
  require<InvalidOption>(!training.search_tolerance || !makes_one_call,
                         "option search_tolerance is ", training.search_tolerance.value_or(0),
                         ", but search is ", name_of(search), ", which is exact");
  require<InvalidOption>(!training.search_calls || !makes_one_call, "option search_calls is ",
                         training.search_calls.value_or(0), ", but search is ", name_of(search),
                         ", which makes one call");
  require<InvalidOption>(!training.max_bans || search == StructuredSearch::convex_hull,
                         "option max_bans is ", training.max_bans.value_or(0), ", but search is ",
                         name_of(search), ", which bans no outputs");
  const bool is_sgd = solver == StructuredSolver::sgd;
  SearchLimits limits{.max_bans = training.max_bans.value_or(is_sgd ? 0 : 10),
                      .tolerance = training.search_tolerance,
                      .max_calls = training.search_calls};
  if (search == StructuredSearch::convex_hull && is_sgd && !limits.tolerance) {
    limits.tolerance = kSgdSearchTolerance;
  }
  return limits;
}

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
                         kNoSlopeBounds);
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
