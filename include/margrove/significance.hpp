#pragma once
// Two-sided paired tests of whether one prediction is better than another, as HR reports them.

#include <cstdint>
#include <span>
#include <vector>

#include "margrove/api.hpp"
#include "margrove/dataset.hpp"

namespace margrove MARGROVE_API {

struct PairedTest {
  std::int64_t first_better = 0;   // pairs
  std::int64_t second_better = 0;  // pairs; those that tie are dropped
  double statistic = 0;            // the smaller count (sign test) or rank sum (Wilcoxon)
  double p_value = 1;              // two-sided; 1 when every pair ties
};

/// The sign test over all yes-or-no decisions (row, label) on which the two predictions differ.
/// Throws InvalidInput when the numbers of rows differ.
PairedTest micro_sign_test(const LabelSets& truth, const LabelSets& first, const LabelSets& second);

/// wilcoxon_signed_rank() of the labels' F1 over the labels that occur in the truth.
PairedTest macro_wilcoxon_test(const LabelSets& truth, const LabelSets& first,
                               const LabelSets& second);

}  // namespace margrove
