#pragma once
// How the decisions of rows with several labels are tuned: on scores of training rows by models
// that were not trained on them (docs/notation.md, Decisions).

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/memory_estimate.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/linear_estimators.hpp"
#include "model/decision.hpp"
#include "model/predictor.hpp"

namespace margrove {

/// Rows with the best labels of each, and the labels they should have.
struct HeldOutScores {
  RankedLabels ranked;
  LabelSets truth;
  std::uint32_t num_labels = 0;
  bool at_least_one = false;  // no training row is without labels
};

struct DecisionOptions {
  DecisionKind rule = DecisionKind::automatic;
  int folds = 3;
  std::uint64_t seed = 0;  // of the folds
};
/// Of an estimator's options.
template <class Options>
DecisionOptions decision_options(const Options& options) {
  return {options.decision, options.decision_folds, options.seed};
}

/// Trains on the given rows of X and predicts labels for such rows.
using FitRows = std::function<std::unique_ptr<RowPredictor>(const std::vector<std::uint32_t>& rows,
                                                            RunControl& control)>;

/// The decision that `options` ask for, tuned where it has to be on the scores of a
/// cross-validation over X, stratified by the rows' first labels. `automatic` is argmax where every
/// row has one label and instance elsewhere. `sets` holds nodes; label_of_node says which of the
/// predictors' labels each stands for. With fewer than two rows nothing is tuned: every label above
/// 0. Where time is limited, every fold gets an equal share of what is left, and leaves one for the
/// training that comes after.
Decision tuned_decision(const DecisionOptions& options, const CsrView& X, const LabelSets& sets,
                        std::span<const LabelId> label_of_node, const FitRows& fit,
                        Executor& executor, RunControl& control);

/// What a training on all rows and, before it, the cross-validation take, if `training` is what one
/// training takes.
MemoryEstimate tuned_memory(const DecisionOptions& options, const CsrView& X, const LabelSets& sets,
                            std::uint32_t num_labels, MemoryEstimate training);

/// The threshold, one for all labels, with the largest micro-F1 of `ranked` (a row's labels outside
/// its ranking count as not chosen) against `truth`; with `at_least_one`, each row's first label is
/// chosen in any case. Between two scores their midpoint; of equal maxima the highest threshold.
/// O(n log n) for n ranked labels.
struct TunedThreshold {
  float threshold = 0;
  double micro_f1 = 0;
};
TunedThreshold tune_threshold(const RankedLabels& ranked, const LabelSets& truth,
                              bool at_least_one);

/// One threshold per label, each with the largest F1 of its label (Yang's SCut). Where that F1 is
/// below a level, the label's highest score is its threshold instead (SCutFBR.1): a rare label's
/// best cut is mostly chance. The level, of 0, 0.1, ..., 0.8, is the one with the best macro-F1
/// when the even rows are cut by thresholds from the odd ones and the reverse.
ThresholdDecision tune_scut(const HeldOutScores& scores);

/// The number of labels a row with the largest micro-F1 (RCut).
RcutDecision tune_rcut(const HeldOutScores& scores);

/// A row's threshold from its sorted scores, as HR has it after Elisseeff and Weston: ridge
/// regression of the cut that gives the row its best F1 (the midpoint of the scores beside it) on
/// the row's 32 best scores; strength by leave-one-out error. The intercept is then moved to the
/// largest micro-F1 under the leave-one-out thresholds. O(rows * 32^2).
InstanceDecision tune_instance(const HeldOutScores& scores);

}  // namespace margrove
