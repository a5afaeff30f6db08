#pragma once
// Probabilities calibrated on rows that training did not see.

#include <optional>
#include <string_view>

#include "methods/training.hpp"

namespace margrove {

/// Trains on a part of the rows and fits the temperature, and the shift of label sets, on the
/// others, about `fraction` of every label's rows (stratified_hold_out with a fixed seed). They are
/// then used for the model of all rows. Rows count by their weights. None where `control` ends the
/// training or the fit: scores of a training cut short are not those of the model. Throws
/// InvalidOption unless 0 < fraction < 1, InvalidInput for methods whose examples are not rows, and
/// otherwise as train_model() and fit_calibration().
std::optional<Calibration> calibrate_held_out(const Method& method, MethodRun& run,
                                              const TrainingSet& data, double fraction,
                                              Executor& executor, RunControl& control);

/// The same for a trained model, unless an interruption ended its training. Where it stays without,
/// its report gets a warning.
void calibrate_held_out(ModelParts& model, const Method& method, MethodRun& run,
                        const TrainingSet& data, double fraction, Executor& executor,
                        RunControl& control);

/// What users are told where `control` left a model without calibration.
std::string_view why_not_calibrated(const RunControl& control);

}  // namespace margrove
