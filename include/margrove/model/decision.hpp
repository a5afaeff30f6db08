#pragma once
// From one row's label scores to its label set.

#include <span>
#include <vector>

#include "margrove/base/tensors.hpp"
#include "margrove/data/dataset.hpp"
#include "margrove/model/predictor.hpp"

namespace margrove {

/// Labels whose score is -infinity are never chosen; ties go to the lowest label.
struct Decision {
  enum class Kind {
    argmax,     // the best label
    threshold,  // every label whose score exceeds its threshold
  };
  Kind kind = Kind::argmax;
  std::vector<float> thresholds;  // of `threshold`: one a label, or one for all
  bool at_least_one = false;      // of `threshold`: the best label in any case

  /// Writes the chosen labels, ascending.
  void choose(std::span<const float> scores, std::vector<LabelId>& labels) const;

  void save(TensorMap& out, const std::string& prefix) const;
  static Decision load(const TensorMap& tensors, const std::string& prefix,
                       std::uint32_t num_labels);
};
std::string_view to_string(Decision::Kind kind);

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

}  // namespace margrove
