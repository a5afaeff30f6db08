#pragma once
// Precision and recall of the nodes' scores at every threshold.

#include <vector>

#include "eval/score_rows.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// Average precision as in scikit-learn: sum_t (R_t - R_{t-1}) P_t over the distinct scores t in
/// descending order; 0 if there is no positive pair.
struct PrecisionRecall {
  double pooled = 0;    // of all pairs (row, node) together: average="micro"
  double macro = 0;     // mean over the nodes that have rows
  double weighted = 0;  // the same, weighted by their numbers of rows
  /// Protein-centric Fmax of CAFA (Radivojac et al. 2013), exact:
  ///   max_t 2 P_t R_t / (P_t + R_t),
  /// P_t the mean precision of the rows that have a node of score >= t, R_t the mean recall of
  /// all rows that have a true node.
  double f_max = 0;
  std::vector<double> of_node;        // average precision; 0 for nodes without rows
  std::vector<std::int64_t> support;  // rows of each node

  /// n times the derivatives of the values with respect to the weight of a row of n. That of f_max
  /// is at the threshold of the maximum.
  struct Influence {
    double pooled = 0, macro = 0, weighted = 0, f_max = 0;
  };
  std::vector<Influence> influence;  // of each row, where requested
};

/// Over the columns that are counted. The labels of `truth` are columns. Scores are computed twice,
/// with influences three times, and not stored: memory O(labels of the truth + a block of rows per
/// thread), time O(rows * columns * log(labels of the truth)). The same bits for any executor.
/// Throws InvalidInput when sizes differ.
PrecisionRecall precision_recall(const ScoreRows& scores, const LabelSets& truth,
                                 const std::vector<bool>& counted, Executor& executor,
                                 bool with_influence = false);

}  // namespace margrove
