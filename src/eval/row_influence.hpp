#pragma once
// Standard errors of metrics and of their differences, by the influence of single rows.

#include <span>
#include <string_view>
#include <vector>

#include "eval/evaluated_rows.hpp"
#include "margrove/control.hpp"

namespace margrove {

/// A metric and the derivatives of its value with respect to the weight of each row, in units of
/// one row of n: influence[i] = n dM/dw_i at weights 1. They add up to 0.
struct MeasuredMetric {
  double value = 0;
  std::vector<double> influence;
};

/// Any metric of searches, as evaluate_rows() computes it, which throws the same. Throws
/// InvalidOption for another name.
MeasuredMetric measure_metric(std::string_view name, const ModelParts& model,
                              const EvaluatedRows& rows, Executor& executor,
                              RunControl* control = nullptr);
/// The same of predicted sets: a metric that does not need scores. The labels are ids as for
/// compute_metrics().
MeasuredMetric measure_metric(std::string_view name, const LabelSets& truth,
                              const LabelSets& predicted, const LabelGraph& hierarchy,
                              const std::vector<bool>& in_training);

/// The mean over parts of rows that different models answer, with the weights of their numbers of
/// rows: that of the whole in the influences, too, which are those of all rows in order.
MeasuredMetric mean_over_rows(std::span<const MeasuredMetric> parts);

/// The standard error of the difference of a metric of two predictions for the same rows: to first
/// order, that of a mean of the differences of the influences (delta method). 0 for one row.
double paired_standard_error(const MeasuredMetric& first, const MeasuredMetric& second);

}  // namespace margrove
