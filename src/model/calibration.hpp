#pragma once
// Probabilities from scores. Of models that give a row one label, p(l | x) is proportional to
// exp(score(x, l) / T). The temperature T is fitted on rows that the model was not trained on (Guo
// et al. 2017, "On calibration of modern neural networks"). Of label sets, each label has a
// probability of its own, 1 / (1 + exp(-(score(x, l) / T + b))), where T and the shift b are the
// same for all labels (Platt 1999, "Probabilistic outputs for support vector machines").

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "hierarchy/graph_operations.hpp"
#include "margrove/control.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "model/predictor.hpp"

namespace margrove {

/// A fitted temperature, which the model file keeps.
struct Calibration {
  double temperature = 1;
  double shift = 0;           // b of label sets
  std::int64_t num_rows = 0;  // held-out rows that it was fitted on; 0: not fitted
  /// Expected calibration error of the most probable label, or leaf where scores estimate nodes, on
  /// those rows: each half with the temperature and shift of the other half, and with temperature 1
  /// and no shift.
  double error = 0;
  double error_before = 0;
};

/// How the scores of a model become probabilities.
struct ProbabilityRule {
  enum class Form {
    one_of_all,     // softmax(score / temperature): a row has one label
    independent,    // 1 / (1 + exp(-z)) of each label, z = score / temperature + shift
    node_estimate,  // the score, kept within (0, 1), estimates p(some label is at or below); if it
                    // is calibrated, 1 / (1 + exp(-z)), z = its log odds / temperature + shift
  };
  Form form = Form::one_of_all;
  double temperature = 1, shift = 0;
};

class HierarchyProbabilities;

/// First and second derivative by b of a negative log-likelihood that is convex in b.
struct LikelihoodSlope {
  double first = 0, second = 0;
};
/// The derivatives of -log p(label) for p(l) proportional to exp(b scores[l]), over the finite
/// scores:
///   d/db = mean score under p - score of the label,  d2/db2 = variance of the score under p.
LikelihoodSlope likelihood_slope(std::span<const float> scores, std::size_t label, double b);
/// The b in [1e-4, 1e4] with the least negative log-likelihood, whose slope at b is slope_at(b):
/// Newton's method kept inside a bracket, at most 50 steps.
double most_likely_factor(const std::function<LikelihoodSlope(double b)>& slope_at);

/// Rows that a model was not trained on.
struct CalibrationRows {
  CsrView X;
  const LabelSets& truth;
  std::span<const double> weights = {};  // each >= 0; empty: all 1
};

/// The temperature with the least negative log-likelihood, of label sets with the shift, where rows
/// count by their weights. Rows of weight 0, those without exactly one label, and those whose label
/// is never predicted, are left out; of label sets all rows with a weight count, each with all
/// labels, or with all nodes where scores estimate nodes. Throws InvalidInput if fewer than two
/// rows remain, and OutOfTime where `control`, which gets a report before each pass over the rows,
/// asks to end. Scores are recomputed in each of at most 50 steps to save memory. The same bits for
/// any executor.
Calibration fit_calibration(const RowPredictor& predictor, const LabelGraph& hierarchy,
                            const CalibrationRows& rows, Executor& executor, RunControl& control);

/// The softmax of one row's scores; 0 for labels that are never predicted (score -infinity).
void softmax(std::span<const float> scores, double temperature, std::span<double> probabilities);

/// The scores and probabilities of one row. Valid only during the call that receives it.
struct RowProbabilities {
  std::span<const float> scores;   // probability_scores(), one per label
  std::span<const double> labels;  // p(label | row) of each label; a node_estimate is of the node
  /// p(the row has a label at or below the node | row); empty without a hierarchy. Of independent
  /// labels 1 - prod (1 - p(label)) over those at or below. Never larger than that of a parent.
  std::span<const double> nodes;
};
/// Calls use(i, probabilities of row i) for every row, from several threads at once. `hierarchy`
/// may be null.
using UseProbabilities = std::function<void(std::size_t row, const RowProbabilities&)>;
void for_probabilities(const RowPredictor& predictor, const ProbabilityRule& rule,
                       const HierarchyProbabilities* hierarchy, const CsrView& X,
                       Executor& executor, const UseProbabilities& use);

/// Predictions of equal confidence in one bin.
struct ReliabilityBin {
  std::int64_t count = 0;
  double weight = 0;      // of all together
  double confidence = 0;  // weighted mean probability of the predicted label
  double accuracy = 0;    // weighted share of right predictions
};
/// num_bins bins of equal width over [0, 1]; empty ones have count 0. `weights` are > 0, or empty
/// if all are 1.
std::vector<ReliabilityBin> reliability(std::span<const double> confidences,
                                        const std::vector<bool>& right, int num_bins,
                                        std::span<const double> weights = {});
/// Mean of |accuracy - confidence|, weighted by the bins' weights.
double expected_calibration_error(std::span<const ReliabilityBin> bins);

/// Probabilities on a hierarchy. Where a row has one label, a leaf or an inner label with rows of
/// its own, the probability of a node is the sum over the labels at or below it. On a tree the
/// probabilities of the nodes of one depth and of the labels above it sum to one. In a DAG each
/// label counts once for a node, whatever the number of paths.
class HierarchyProbabilities {
 public:
  explicit HierarchyProbabilities(const LabelGraph& hierarchy);
  /// result[n] = the sum of the values of the labels at or below n.
  void sum_below(std::span<const double> label_values, std::span<double> result) const;
  /// Walks down from the most probable root, always to the most probable child, while the child's
  /// probability is at least min_confidence and at least that of the present node's own label;
  /// returns the last node, and nothing if that root is less probable. Ties go to the lowest node.
  std::optional<LabelId> confident(std::span<const double> label_probabilities,
                                   std::span<const double> node_probabilities,
                                   double min_confidence) const;
  /// For label sets: the nodes with a probability of at least min_confidence, and above 0, that
  /// have no child with one; ascending.
  std::vector<LabelId> lowest_confident(std::span<const double> node_probabilities,
                                        double min_confidence) const;

 private:
  LabelGraph graph_;
  ListedAncestors ancestors_;  // of DAGs only
};

}  // namespace margrove
