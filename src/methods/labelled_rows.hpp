#pragma once
// Missing labels.

#include <string>

#include "methods/training.hpp"
#include "model/method.hpp"

namespace margrove {

/// The plan of a run. Where rows have one label each, rows without a label are left out, which a
/// warning in the report of the training counts. Where some row has several labels, a row without
/// one has the empty set, and the method decides. Throws what MethodRun::plan() throws. The copy of
/// the rows is part of the plan.
Plan plan_labelled_rows(MethodRun& run, const TrainingSet& data, Executor& executor,
                        RunControl& control);

/// The same of rows that a model with one label for each row is measured on. Returns the warning;
/// empty: no row was left out.
std::string leave_out_unlabelled(RawRows& raw);

}  // namespace margrove
