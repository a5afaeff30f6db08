#pragma once
// Probabilities calibrated on rows that training did not see.

#include "methods/training.hpp"

namespace margrove {

/// Throws InvalidOption where rows have several labels and the model will give label sets. To be
/// called before a training whose model is then calibrated.
void require_calibratable(MethodRun& run, const TrainingSet& data);

/// Trains on a part of the rows and fits the temperature on the others, about `fraction` of every
/// label's rows (stratified_hold_out with a fixed seed). The temperature is then used for the model
/// of all rows. Throws as train_model() and fit_calibration(), InvalidOption unless 0 < fraction <
/// 1, and InvalidInput for methods whose examples are not rows.
Calibration calibrate_held_out(const Method& method, MethodRun& run, const TrainingSet& data,
                               double fraction, Executor& executor, RunControl& control);

}  // namespace margrove
