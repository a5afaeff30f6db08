#include "eval/row_influence.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "eval/evaluation.hpp"
#include "eval/metric_choice.hpp"
#include "margrove/errors.hpp"

namespace margrove {

MeasuredMetric measure_metric(std::string_view name, const ModelParts& model,
                              const EvaluatedRows& rows, Executor& executor, RunControl* control) {
  require_search_metric(name);
  EvaluationOptions options;
  options.metrics.names = {std::string(name)};
  options.influences = true;
  EvaluatedMetric metric =
      std::move(evaluate_rows(model, rows, options, executor, control).metrics.front());
  return {metric.value, std::move(metric.influence)};
}

MeasuredMetric measure_metric(std::string_view name, const LabelSets& truth,
                              const LabelSets& predicted, const LabelGraph& hierarchy,
                              const std::vector<bool>& in_training) {
  EvaluatedRows rows;
  rows.hierarchy = hierarchy;
  rows.truth = truth;
  rows.predicted = predicted;
  rows.in_training = in_training;
  const ModelParts none;  // sets do not need it
  return measure_metric(name, none, rows, Executor::serial());
}

MeasuredMetric mean_over_rows(std::span<const MeasuredMetric> parts) {
  MeasuredMetric mean;
  for (const MeasuredMetric& part : parts) {
    mean.influence.insert(mean.influence.end(), part.influence.begin(), part.influence.end());
  }
  const auto num_rows = static_cast<double>(mean.influence.size());
  for (const MeasuredMetric& part : parts) {
    const double share = static_cast<double>(part.influence.size()) / num_rows;
    mean.value += share * part.value;  // of a single part its very bits
  }
  return mean;
}

double paired_standard_error(const MeasuredMetric& first, const MeasuredMetric& second) {
  const std::size_t n = first.influence.size();
  require(n == second.influence.size(), "paired_standard_error: the metrics are of ", n, " and ",
          second.influence.size(), " rows, but must be of the same");
  if (n < 2) return 0;
  double mean = 0, sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    mean += (first.influence[i] - second.influence[i]) / static_cast<double>(n);
  }
  for (std::size_t i = 0; i < n; ++i) {
    const double d = first.influence[i] - second.influence[i] - mean;
    sum += d * d;
  }
  return std::sqrt(sum / static_cast<double>(n - 1) / static_cast<double>(n));
}

}  // namespace margrove
