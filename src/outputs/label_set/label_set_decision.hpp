#pragma once
// The decision of methods that are trained on label sets of a hierarchy.

#include <functional>
#include <string>

#include "base/memory_estimate.hpp"
#include "data/weight_matrix.hpp"
#include "margrove/control.hpp"
#include "margrove/executor.hpp"
#include "model/decision.hpp"
#include "model/decision_options.hpp"
#include "model/training_set.hpp"
#include "outputs/leaf_sets.hpp"

namespace margrove {

/// How a decision is tuned.
struct LabelSetTuning {
  DecisionOptions options;
  const LabelGraph* hierarchy;  // of the training set's labels; null: none
};

/// Trains on rows with the intercept and their leaves, and returns U.
using FitLabelSets = std::function<WeightMatrix(const PlannedRows& rows, const LabelSets& leaves,
                                                RunControl& control)>;

/// The best label set or, if the options say so, the best one at an offset that tuned_offset()
/// tunes. `automatic` is the offset if some row has several leaves. With fewer than two rows
/// nothing is tuned, and the offset is 0.
Decision label_set_decision(const LabelSetTuning& tuning, const LeafSets& leaves,
                            const PlannedRows& rows, const FitLabelSets& fit, Executor& executor,
                            RunControl& control);

/// The memory that label_set_decision() and the training after it take, if one training on all rows
/// takes `training`.
MemoryEstimate label_set_decision_memory(const LabelSetTuning& tuning, const LeafSets& leaves,
                                         const PlannedRows& rows, MemoryEstimate training);

/// Throws InvalidOption if the options name an offset but every row has one leaf, so that paths are
/// learned.
void require_label_sets(const DecisionOptions& options, const LeafSets& leaves);

}  // namespace margrove
