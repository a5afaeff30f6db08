#pragma once
// Structured SVMs with any model, surrogate and solver that go together:
//
//   min_w  ||w||^2 / 2 + C sum_i c_i max_y psi(m_i(y; w), g_i(y))
//
// with the margin violation m and the task loss g of the model (margrove/oracle.hpp), the surrogate
// psi (margrove/surrogates.hpp) and factors c_i >= 0. The solvers need:
//
//   bcfw                      psi affine in m
//   cutting-plane, one-slack  psi convex in m
//   sgd                       every psi

#include "structured/any_search.hpp"
#include "structured/cutting_plane.hpp"
#include "structured/structured_training.hpp"
#include "structured/train_by_bcfw.hpp"
#include "structured/train_by_sgd.hpp"

namespace margrove {

template <StructuredModel Model, class Problem>
StructuredResult train_by_cutting_planes(const Model& model, const StructuredTraining& training,
                                         StructuredSolver solver, StructuredSearch search,
                                         const StructuredInputs<Model, Problem>& inputs,
                                         Executor& executor, RunControl& control) {
  CuttingPlane planes(model, DynamicSurrogate(training.surrogate),
                      AnySearch::make(search, search_limits(training, search, solver)),
                      CuttingPlaneOptions{.C = training.C,
                                          .tolerance = training.tolerance,
                                          .max_rounds = training.max_passes,
                                          .one_slack = solver == StructuredSolver::one_slack},
                      executor, control, inputs.example_weights);
  StructuredResult result;
  if (!inputs.start.empty()) planes.start_at(inputs.start);
  result.fit = planes.run();
  result.weights = planes.weights();
  return result;
}

/// Throws InvalidOption for a surrogate, search and solver that do not go together, or that the
/// model or the inputs do not allow (structured_training.hpp).
template <StructuredModel Model, class Problem = AnyProblem>
StructuredResult train_structured(const Model& model, const StructuredTraining& training,
                                  Executor& executor, RunControl& control,
                                  const StructuredInputs<Model, Problem>& inputs = {}) {
  require_criteria(training.surrogate, criteria_of(model));
  StructuredSolver solver = chosen_solver(training.solver, training.surrogate);
  check_options_of_sgd(training, solver);
  const StructuredSearch search =
      chosen_search(training.search, training.surrogate, solver, abilities_of<OracleOf<Model>>());
  if (model.num_examples() == 0) solver = StructuredSolver::bcfw;  // all weights are 0
  switch (solver) {
    case StructuredSolver::sgd:
      return train_by_sgd(model, training, search, inputs, executor, control);
    case StructuredSolver::cutting_plane:
    case StructuredSolver::one_slack:
      require_no_continuation(solver, inputs.continuation);
      return train_by_cutting_planes(model, training, solver, search, inputs, executor, control);
    default:
      break;
  }
  const SearchLimits limits = search_limits(training, search, solver);
  if (search == StructuredSearch::margin) {  // its search takes goals
    return train_by_bcfw(model, MarginRescaling{}, MarginSearch{}, training, inputs, executor,
                         control);
  }
  return train_by_bcfw(model, DynamicSurrogate(training.surrogate), AnySearch::make(search, limits),
                       training, inputs, executor, control);
}

}  // namespace margrove
