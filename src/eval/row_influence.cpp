#include "eval/row_influence.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "eval/named_metrics.hpp"
#include "eval/set_metrics.hpp"
#include "hierarchy/closed_sets.hpp"
#include "margrove/errors.hpp"
#include "margrove/metrics.hpp"

namespace margrove {
MeasuredMetric measure_metric(std::string_view name, const LabelSets& truth,
                              const LabelSets& predicted, const LabelGraph& hierarchy,
                              const std::vector<bool>& in_training) {
  require_metric(name);
  require(truth.num_rows() > 0, "metrics: number of rows is 0, but must be > 0");
  if (name == "macro_f1") {
    const MacroF1 macro(std::string(name), truth, predicted, in_training);
    return {macro.value(), macro.influence()};
  }
  const std::vector<RowRatio> ratios =
      name.starts_with("hierarchical_")
          ? closed_ratios(closed_sets(hierarchy, truth), closed_sets(hierarchy, predicted))
          : label_ratios(truth, predicted, in_training);
  const RowRatio& ratio =
      *std::ranges::find_if(ratios, [&](const RowRatio& each) { return each.name == name; });
  return {ratio.value(), ratio.influence()};
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
