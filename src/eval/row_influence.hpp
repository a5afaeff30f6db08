#pragma once
// Standard errors of metrics and of their differences, by the influence of single rows.

#include <string_view>
#include <vector>

#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"

namespace margrove {

/// A metric and the derivatives of its value with respect to the weight of each row, in units of
/// one row of n: influence[i] = n dM/dw_i at weights 1. They add up to 0.
struct MeasuredMetric {
  double value = 0;
  std::vector<double> influence;
};

/// `name` is one of named_values(Metrics). The labels are ids as for compute_metrics(), which gives
/// the same value. Throws InvalidOption for an unknown name, InvalidInput where compute_metrics()
/// does.
MeasuredMetric measure_metric(std::string_view name, const LabelSets& truth,
                              const LabelSets& predicted, const LabelGraph& hierarchy,
                              const std::vector<bool>& in_training);

/// The standard error of the difference of a metric of two predictions for the same rows: to first
/// order, that of a mean of the differences of the influences (delta method). 0 for one row.
double paired_standard_error(const MeasuredMetric& first, const MeasuredMetric& second);

}  // namespace margrove
