#pragma once
// Scores by the frequency of labels: whether a model serves labels with few training rows.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "margrove/dataset.hpp"
#include "margrove/metrics.hpp"
#include "margrove/significance.hpp"

namespace margrove {

/// The labels with `least` to `most` training rows, among those that occur in training or truth.
struct FrequencyBand {
  std::uint32_t least = 0, most = 0;
  std::int64_t num_labels = 0;
  LabelScore total;     // sums over the labels
  double macro_f1 = 0;  // mean over the labels; 0 without labels

  std::string name() const;  // "0", "2-5", "101+"
};

/// The bands 0, 1, 2-5, 6-20, 21-100 and 101+. training_rows[l] is the number of training rows of
/// label l; labels beyond its end have none. Throws InvalidInput when the numbers of rows differ.
std::vector<FrequencyBand> scores_by_frequency(const LabelSets& truth, const LabelSets& predicted,
                                               std::span<const std::uint32_t> training_rows);

/// For each of these bands the sign test over the decisions (row, label) about its labels.
std::vector<PairedTest> sign_tests_by_frequency(const LabelSets& truth, const LabelSets& first,
                                                const LabelSets& second,
                                                std::span<const std::uint32_t> training_rows);

}  // namespace margrove
