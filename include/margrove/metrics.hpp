#pragma once
// Metrics of predicted label sets.
//
// Labels are ids of one codec. Ids below hierarchy.num_nodes() are nodes of the hierarchy as it was
// given (before leaves are spawned: a spawned leaf is counted as its inner label); higher ids
// are labels unknown to the model, which no prediction can match.

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"

namespace margrove MARGROVE_API {

/// All in [0, 1]; a quotient 0/0 is 0 except where said.
struct Metrics {
  std::int64_t examples = 0;
  double accuracy = 0;     // rows whose whole set is right
  double jaccard = 0;      // mean of |y & p| / |y | p|; 1 for two empty sets
  double instance_f1 = 0;  // mean of 2 |y & p| / (|y| + |p|); 1 for two empty sets
  // Over the labels that occur in training or in the truth.
  double micro_f1 = 0;
  double macro_f1 = 0;
  double hamming_loss = 0;
  // Sums over rows of the ancestor-closed sets, without the root if there is a single one.
  double hierarchical_precision = 0;
  double hierarchical_recall = 0;
  double hierarchical_f1 = 0;
};

/// One label's counts over all rows.
struct LabelScore {
  LabelId label = 0;
  std::int64_t support = 0;         // rows that have the label
  std::int64_t predicted = 0;       // rows that are given it
  std::int64_t true_positives = 0;  // both
  double precision() const;
  double recall() const;
  double f1() const;
};

/// The labels that occur in training or in the truth, ascending. in_training[l] says whether label
/// l has training rows; labels beyond its end have none.
/// Throws InvalidInput when the numbers of rows differ. O(labels in all sets).
std::vector<LabelScore> label_scores(const LabelSets& truth, const LabelSets& predicted,
                                     const std::vector<bool>& in_training);

/// Throws InvalidInput when the numbers of rows differ or there are none. Every ancestor set is
/// walked once per row: O(sum of closed sets' sizes).
Metrics compute_metrics(const LabelSets& truth, const LabelSets& predicted,
                        const LabelGraph& hierarchy, const std::vector<bool>& in_training);

}  // namespace margrove
