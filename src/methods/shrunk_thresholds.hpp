#pragma once
// One threshold per label, shrunk towards a common one.

#include "methods/held_out_scores.hpp"
#include "model/decision.hpp"

namespace margrove {

/// The labels whose calibrated probabilities exceed p, the same for all labels, which has the best
/// micro-F1; as thresholds of scores. The logistic calibrations of labels are shrunk towards a
/// common one (detail::calibrate()) on z = (s - t) / d, where t is the threshold of
/// tune_threshold() and d the standard deviation of all scores. Their strength is the one of 100,
/// 10, 1 and 0.1 with the least log loss of even rows under calibrations of odd ones and vice
/// versa. O(n log n) for n ranked labels.
ThresholdDecision tune_shrunk(const HeldOutScores& scores);

}  // namespace margrove
