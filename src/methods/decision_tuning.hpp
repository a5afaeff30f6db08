#pragma once
// Tunes the decisions of rows with several labels, on scores of training rows by models that were
// not trained on them (docs/notation.md, "Decisions of rows with several labels").

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
#include "methods/held_out_scores.hpp"
#include "model/decision.hpp"
#include "model/decision_options.hpp"
#include "model/predictor.hpp"
#include "model/splits.hpp"

namespace margrove {

/// Trains on the given rows of X and returns a predictor of their labels, or null where a limit
/// left none.
using FitRows = std::function<std::unique_ptr<RowPredictor>(const std::vector<std::uint32_t>& rows,
                                                            RunControl& control)>;

/// The decision that `options` name. If it needs tuning, it is tuned on the scores of a
/// cross-validation over X that is stratified by the rows' first labels. Rows count with their
/// weights (row_weights; empty: all 1). `automatic` is argmax if every row has one label, otherwise
/// tune_automatic(). `sets` has nodes, and label_of_node gives the predictor's label of each. With
/// fewer than two rows nothing is tuned, and every label with a score > 0 is chosen. Under a time
/// limit, each fold and the training that follows get equal shares of the time left.
Decision tuned_decision(const DecisionOptions& options, const CsrView& X, const LabelSets& sets,
                        std::span<const double> row_weights, std::span<const LabelId> label_of_node,
                        const FitRows& fit, Executor& executor, RunControl& control);

/// The same decision, tuned on the scores of predictors that are trained elsewhere.
class DecisionTuner {
 public:
  /// What it refers to must outlive it.
  DecisionTuner(const DecisionOptions& options, const LabelSets& sets,
                std::span<const double> row_weights, std::span<const LabelId> label_of_node);
  /// Otherwise the decision does not depend on scores, and add() need not be called.
  bool needs_scores() const;
  bool has_scores() const { return scores_.truth.num_rows() > 0; }
  /// Scores rows of X that the predictor was not trained on.
  void add(const RowPredictor& predictor, const CsrView& X,
           const std::vector<std::uint32_t>& held_out, Executor& executor);
  Decision tuned() const;

 private:
  DecisionKind rule_;
  const LabelSets& sets_;
  std::span<const double> row_weights_;
  std::span<const LabelId> label_of_node_;
  HeldOutScores scores_;
};

/// The folds of that cross-validation, in the order in which tuned_decision() trains on them; empty
/// if nothing is tuned.
std::vector<Split> decision_folds(const DecisionOptions& options, const LabelSets& sets);

/// The memory that the cross-validation and the training after it take, if one training on all rows
/// takes `training`. kept_of_folds: what the cross-validation holds beside it.
MemoryEstimate tuned_memory(const DecisionOptions& options, const CsrView& X, const LabelSets& sets,
                            std::uint32_t num_labels, MemoryEstimate training,
                            const MemoryEstimate& kept_of_folds = {});

/// The threshold for all labels with the largest micro-F1. Labels of a row that are not in `ranked`
/// count as not chosen. With `at_least_one`, the first label of each row is always chosen. Rows
/// count with their weights (empty: all 1). The threshold is the midpoint of two scores, and the
/// highest of equally good ones. O(n log n) for n ranked labels.
struct TunedThreshold {
  float threshold = 0;
  double micro_f1 = 0;
};
TunedThreshold tune_threshold(const RankedLabels& ranked, const LabelSets& truth, bool at_least_one,
                              std::span<const double> weights = {});

/// One threshold per label, with the largest F1 of this label (Yang's SCut). If that F1 is below a
/// level, the highest score of the label is its threshold instead (SCutFBR.1), because the best
/// threshold of a rare label is mostly chance. The level is the one of 0, 0.1, ..., 0.8 with the
/// best macro-F1 if even rows use thresholds from odd rows and vice versa.
ThresholdDecision tune_scut(const HeldOutScores& scores);

/// The number of labels per row with the largest micro-F1 (RCut).
RcutDecision tune_rcut(const HeldOutScores& scores);

/// A threshold per row from its sorted scores, as in HR, after Elisseeff and Weston. Ridge
/// regression predicts the threshold with the row's best F1 (a midpoint of two scores) from the
/// row's 32 best scores; its strength has the least leave-one-out error. The intercept is then
/// moved to the maximum of micro-F1 under the leave-one-out thresholds. O(rows * 32^2).
struct TunedInstance {
  InstanceDecision decision;
  double micro_f1 = 0;  // under the leave-one-out thresholds
};
TunedInstance tune_instance(const HeldOutScores& scores);

/// Of tune_threshold() and tune_instance() the one with the better micro-F1; of equal ones
/// tune_instance(). Not tune_shrunk(), which takes from the labels with few rows on many sets.
Decision tune_automatic(const HeldOutScores& scores);

}  // namespace margrove
