#pragma once
// The solvers of structured SVMs over paths, for one assignment of leaves to rows.

#include <span>

#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "outputs/path/path_oracle.hpp"
#include "outputs/path/path_svm.hpp"
#include "structured/structured_training.hpp"

namespace margrove {

/// train_structured() at the pace that suits paths.
StructuredResult solve_paths(const PathModel& model, const StructuredTraining& training,
                             const StructuredInputs<PathModel, HierarchyProblem>& inputs,
                             Executor& executor, RunControl& control);

/// The objective at the weights, by exact searches: O(rows x (nonzeros x nodes + leaves)). Throws
/// OutOfTime.
double path_objective(const PathModel& model, const StructuredTraining& training,
                      std::span<const float> weights, Executor& executor, RunControl& control,
                      std::span<const double> row_weights);

}  // namespace margrove
