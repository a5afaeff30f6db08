#pragma once
// Tests whether a hierarchy helps: compares a model that uses it with a flat one on the same rows.

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "eval/label_frequency.hpp"
#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/significance.hpp"

namespace margrove {

enum class Gain { helps, harms, nearer, further, not_shown };
std::string_view to_string(Gain gain);

struct HierarchyGain {
  struct Value {
    std::string name;
    double with = 0, flat = 0;
  };
  std::vector<Value> values;  // micro_f1, hierarchical_f1, tree_distance
  /// The labels of one frequency.
  struct Band {
    FrequencyBand with, flat;
    PairedTest decisions;  // sign test over (row, label); the first model has the hierarchy
  };
  std::vector<Band> by_frequency;
  /// Tests over rows; the first model is the one with the hierarchy. labels: sign test of the F1 of
  /// label sets (with one label per row, McNemar's exact test). nodes: Wilcoxon's signed rank test
  /// of the F1 of ancestor-closed sets.
  PairedTest labels, nodes;
  Gain gain = Gain::not_shown;
  std::string answer;  // one sentence
};

/// The gain is helps or harms if `labels` is significant at 5 %, otherwise nearer or further if
/// `nodes` is: the labels are right about as often, but wrong ones are nearer to or further from
/// the truth. training_rows[l] is the number of training rows of label l. Throws InvalidInput when
/// the numbers of rows differ or there are none.
HierarchyGain hierarchy_gain(const LabelSets& truth, const LabelSets& with, const LabelSets& flat,
                             const LabelGraph& hierarchy,
                             std::span<const std::uint32_t> training_rows);

}  // namespace margrove
