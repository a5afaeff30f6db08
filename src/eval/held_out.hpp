#pragma once
// Probabilities calibrated on rows that training did not see.

#include "methods/training.hpp"

namespace margrove {

/// Trains on a part of the rows and fits the temperature, and the shift of label sets, on the
/// others, about `fraction` of every label's rows (stratified_hold_out with a fixed seed). They are
/// then used for the model of all rows. Throws as train_model() and fit_calibration(),
/// InvalidOption unless 0 < fraction < 1, and InvalidInput for methods whose examples are not rows.
Calibration calibrate_held_out(const Method& method, MethodRun& run, const TrainingSet& data,
                               double fraction, Executor& executor, RunControl& control);

}  // namespace margrove
