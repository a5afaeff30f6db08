#pragma once
// Multinomial logistic regression without a hierarchy.

#include "margrove/linear_estimators.hpp"
#include "model/plan.hpp"
#include "model/training_set.hpp"

namespace margrove {

/// The plan of flat-lr with multiclass softmax. Throws InvalidOption for options of one-vs-rest.
Plan plan_softmax(const FlatLrOptions& options, const TrainingSet& data, Executor& executor,
                  RunControl& control);

}  // namespace margrove
