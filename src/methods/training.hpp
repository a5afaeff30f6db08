#pragma once
// The steps from a file of rows to a trained model, in the order in which every front end takes
// them.

#include <string>

#include "methods/memory_obstacle.hpp"
#include "methods/prepared_rows.hpp"
#include "model/model.hpp"

namespace margrove {

/// For a training on all rows of a user. Throws InvalidOption if the option decision_folds names
/// more folds than there are rows, which parts of the rows may have; and InvalidInput, naming the
/// estimate, its parts and the limit, if training would take more memory than the limit (in units
/// of 10^9 bytes; 0: 90 % of what is free) beside the data already there.
void require_trainable(const Plan& plan, MethodRun& run, const TrainingSet& data,
                       double limit_gigabytes);

/// What users call a column of data.X, which `preprocessing` made: feature_name() in model/.
std::string column_name(FeatureId column, const TrainingSet& data,
                        const Preprocessing& preprocessing);

/// The plan of a run, which must be one of `method`. Where rows have one label each, rows without a
/// label are left out with a warning, for every method. Throws InvalidOption if the method needs a
/// hierarchy and there is none, and what MethodRun::plan() throws.
Plan plan_training(const Method& method, MethodRun& run, const TrainingSet& data,
                   Executor& executor, RunControl& control);

/// Carries the plan out and puts the model together. report.stop is `converged` only where the
/// relative gap is at most the tolerance; a warning in the report says what else ended training.
/// Throws InvalidInput if the objective is not finite, OutOfTimeLimit where a limit or an
/// interruption ended the work before there were any weights.
ModelParts train_model(const Method& method, MethodRun& run, const Plan& plan,
                       const TrainingSet& data, const Preprocessing& preprocessing,
                       Executor& executor, RunControl& control);
/// Reads the examples of a method whose examples are not rows with these options, plans, and
/// trains; `start`, whose weights it starts from, may be null. Throws as require_trainable(), and
/// InvalidOption for methods of rows.
ModelParts train_examples(const Method& method, MethodRun& run, const ExampleSource& source,
                          const ModelParts* start, double memory_limit_gigabytes,
                          Executor& executor, RunControl& control);
/// Plans and trains.
ModelParts train_model(const Method& method, MethodRun& run, const TrainingSet& data,
                       const Preprocessing& preprocessing, Executor& executor, RunControl& control);

}  // namespace margrove
