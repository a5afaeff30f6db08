#pragma once
// Metrics of predicted label sets, row by row (docs/command_line.md has their definitions).

#include <vector>

#include "eval/row_ratio.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// accuracy, jaccard, instance_f1, micro_f1, hamming_loss of the sets without their ancestors, in
/// this order. Throws InvalidInput when the numbers of rows differ.
std::vector<RowRatio> label_ratios(const LabelSets& truth, const LabelSets& predicted,
                                   const std::vector<bool>& in_training);

/// hierarchical_precision, _recall, _f1 of ancestor-closed sets, in this order.
std::vector<RowRatio> closed_ratios(const LabelSets& closed_truth,
                                    const LabelSets& closed_predicted);

/// hierarchical_f1_instance, lca_f1, tree_distance, accuracy_level_1, ... up to the deepest level
/// that the truth reaches.
std::vector<RowRatio> hierarchy_ratios(const LabelSets& truth, const LabelSets& predicted,
                                       const LabelGraph& hierarchy);

/// The level of a node in accuracy_level_k. It is the depth, counted from 1 at the first level that
/// is evaluated. Unknown labels are at level 1.
class Levels {
 public:
  explicit Levels(const LabelGraph& hierarchy);
  std::size_t operator()(NodeId n) const {
    return n < hierarchy_.num_nodes() ? hierarchy_.depth(n) + first_ : 1;
  }

 private:
  const LabelGraph& hierarchy_;
  std::size_t first_;
};

/// Counts of the nodes of each level over all rows.
struct LevelScore {
  std::int64_t support = 0, predicted = 0, true_positives = 0;
  std::int64_t rows = 0;        // whose truth reaches the level
  std::int64_t right_rows = 0;  // of these, whose sets of nodes at the level are equal
};
/// Of closed sets; entry k is level k + 1.
std::vector<LevelScore> level_scores(const LabelSets& closed_truth,
                                     const LabelSets& closed_predicted,
                                     const LabelGraph& hierarchy);

}  // namespace margrove
