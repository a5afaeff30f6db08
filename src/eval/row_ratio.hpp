#pragma once
// Metrics that are quotients of sums over rows, as nearly all are. With the summands of the rows
// stored, a bootstrap interval costs only the sums.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/metrics.hpp"

namespace margrove {

/// sum_i part[i] / sum_i whole[i], 0 for 0/0; a mean over the rows if `whole` is empty.
struct RowRatio {
  std::string name;
  std::vector<double> part;
  std::vector<double> whole = {};

  double value() const;
  /// The value if row i occurs counts[i] times.
  double value(std::span<const std::uint32_t> counts) const;
  /// n times the derivative of the value with respect to the weight of each row of n, at weights 1.
  std::vector<double> influence() const;
};

/// 0 if there are none.
double mean_f1(std::span<const LabelScore> scores);

/// mean_f1() of the labels that occur in training or in the truth.
class MacroF1 {
 public:
  /// Keeps the sets.
  MacroF1(std::string name, LabelSets truth, LabelSets predicted,
          const std::vector<bool>& in_training)
      : name_(std::move(name)),
        truth_(std::move(truth)),
        predicted_(std::move(predicted)),
        scores_(label_scores(truth_, predicted_, in_training)) {}
  const std::string& name() const { return name_; }
  double value() const { return mean_f1(scores_); }
  /// The value if row i occurs counts[i] times. Labels of which no row is left, be it true or
  /// predicted, have no F1 and are left out of the mean.
  double value(std::span<const std::uint32_t> counts) const;
  std::vector<double> influence() const;  // as RowRatio

 private:
  std::string name_;
  LabelSets truth_, predicted_;
  std::vector<LabelScore> scores_;
};

struct Interval {
  double low = 0, high = 0;
};
/// BCa bootstrap (Efron 1987) of each metric over `num_resamples` samples of the rows with
/// replacement, first of `ratios`, then of `macros`. A mean over labels is biased in resamples,
/// where rare labels have fewer rows or none; its values are shifted so that their mean is the
/// estimate. An interval for what such a metric is on average on test sets of this size. It
/// contains the estimate. The same bits for any executor. Throws InvalidOption unless num_resamples
/// > 0 and 0 < level < 1. O(num_resamples * rows * metrics).
std::vector<Interval> bootstrap_intervals(std::span<const RowRatio> ratios,
                                          std::span<const MacroF1> macros, std::size_t num_rows,
                                          int num_resamples, std::uint64_t seed, double level,
                                          Executor& executor);

}  // namespace margrove
