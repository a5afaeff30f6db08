#pragma once
// Logistic calibration of the scores of each label [Platt2000], shrunk towards that of all labels.

#include <span>
#include <vector>

#include "methods/held_out_scores.hpp"

namespace margrove::detail {

/// The log-odds that a row has a label with the score z: slope z + intercept.
struct LogOdds {
  double slope = 1, intercept = 0;
  double at(double z) const { return slope * z + intercept; }
};

/// Of each label, and those that they are shrunk to.
struct LabelCalibration {
  std::vector<LogOdds> labels;
  LogOdds common;
};

/// The decisions of each label.
using DecisionsOfLabels = std::vector<std::span<const ScoredDecision>>;

/// The minimum over the common a and b, and a_l and b_l of each label, of
///   sum_l sum_k v_k log(1 + exp(-y_k (a_l z_k + b_l)))
///     + strength / 2 sum_l [4 (a_l - a)^2 + (b_l - b)^2],
/// where decision k of label l has score z_k and weight v_k, and y_k is 1 if it is correct, else
/// -1. By Newton's method from `start`, O(decisions + labels) for each of a few steps.
/// strength > 0. The penalty is meant for scores with standard deviation 1.
LabelCalibration calibrate(const DecisionsOfLabels& decisions, double strength,
                           LabelCalibration start);

/// The first line of that sum.
double log_loss(const DecisionsOfLabels& decisions, const LabelCalibration& calibration);

}  // namespace margrove::detail
