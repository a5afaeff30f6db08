#pragma once
// Probabilities from scores, for models that give a row one label: p(l | x) is proportional to
// exp(score(x, l) / T). The temperature T is fitted on rows that the model was not trained on (Guo
// et al. 2017, "On calibration of modern neural networks").

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "hierarchy/graph_operations.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "model/predictor.hpp"

namespace margrove {

/// Kept in the model file.
struct Calibration {
  double temperature = 1;
  std::int64_t num_rows = 0;  // held-out rows it was fitted on; 0: it was not
  /// Expected calibration error on those rows, each half with the temperature of the other half,
  /// and with temperature 1.
  double error = 0;
  double error_before = 0;
};

class HierarchyProbabilities;

/// First and second derivative by b of a negative log-likelihood that is convex in b.
struct LikelihoodSlope {
  double first = 0, second = 0;
};
/// Of -log p(label) for p(l) proportional to exp(b scores[l]), over the finite scores:
///   d/db = mean score under p - score of the label,  d2/db2 = variance of the score under p.
LikelihoodSlope likelihood_slope(std::span<const float> scores, std::size_t label, double b);
/// The b in [1e-4, 1e4] with the least negative log-likelihood, whose slope at b is slope_at(b):
/// Newton's method kept inside a bracket, at most 50 steps.
double most_likely_factor(const std::function<LikelihoodSlope(double b)>& slope_at);

/// The temperature with the least negative log-likelihood. Rows that have not exactly one label, or
/// one that is never predicted, are left out. Throws InvalidInput if fewer than two remain. Scores
/// are computed anew in each of at most 50 steps, so that memory stays small. The same bits for any
/// executor.
Calibration fit_calibration(const RowPredictor& predictor, const CsrView& X, const LabelSets& truth,
                            Executor& executor);

/// Of scores of one row; 0 for labels that are never predicted (score -infinity).
void softmax(std::span<const float> scores, double temperature, std::span<double> probabilities);

/// The scores and probabilities of one row. Valid during the call that gets it.
struct RowProbabilities {
  std::span<const float> scores;   // one per label
  std::span<const double> labels;  // of ending at each label
  std::span<const double> nodes;   // of ending there or below; empty without a hierarchy
};
/// Calls use(i, probabilities of row i) for every row, for several of them at once. `hierarchy` may
/// be null. For predictors that give each row one label.
using UseProbabilities = std::function<void(std::size_t row, const RowProbabilities&)>;
void for_probabilities(const RowPredictor& predictor, double temperature,
                       const HierarchyProbabilities* hierarchy, const CsrView& X,
                       Executor& executor, const UseProbabilities& use);

/// Predictions of equal confidence in one bin.
struct ReliabilityBin {
  std::int64_t count = 0;
  double confidence = 0;  // mean probability of the predicted label
  double accuracy = 0;    // share of right predictions
};
/// num_bins bins of equal width over [0, 1]; empty ones have count 0.
std::vector<ReliabilityBin> reliability(std::span<const double> confidences,
                                        const std::vector<bool>& right, int num_bins);
/// Mean of |accuracy - confidence|, weighted by the bins' counts.
double expected_calibration_error(std::span<const ReliabilityBin> bins);

/// Probabilities on a hierarchy. A row ends at one label: a leaf, or an inner label that has rows
/// of its own. The probability of a node is that of ending there or below, so that on a tree the
/// probabilities of the nodes of one depth, and of ending above it, sum to one however uneven the
/// depths are; in a DAG each label counts once below a node, along however many paths.
class HierarchyProbabilities {
 public:
  explicit HierarchyProbabilities(const LabelGraph& hierarchy);
  /// From the probabilities of ending at each label.
  void node_probabilities(std::span<const double> label_probabilities,
                          std::span<double> result) const;
  /// The most specific label on the way down the most probable nodes whose probability is at least
  /// min_confidence; if no root has it, the most probable root. The way ends where ending is more
  /// probable than every child. Ties go to the lowest node.
  LabelId confident(std::span<const double> label_probabilities,
                    std::span<const double> node_probabilities, double min_confidence) const;

 private:
  LabelGraph graph_;
  AncestorSets ancestors_;  // of DAGs only
};

}  // namespace margrove
