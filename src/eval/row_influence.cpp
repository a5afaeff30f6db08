#include "eval/row_influence.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "eval/named_metrics.hpp"
#include "eval/set_metrics.hpp"
#include "hierarchy/closed_sets.hpp"
#include "margrove/errors.hpp"
#include "margrove/metrics.hpp"

namespace margrove {
namespace {

/// Of sum part / sum whole: (part_i - value whole_i) / mean of whole.
MeasuredMetric of_ratio(const RowRatio& ratio) {
  MeasuredMetric measured{ratio.value(), std::vector<double>(ratio.part.size(), 0.0)};
  const auto n = static_cast<double>(ratio.part.size());
  const double mean =
      ratio.whole.empty() ? 1.0 : std::accumulate(ratio.whole.begin(), ratio.whole.end(), 0.0) / n;
  if (mean == 0) return measured;
  for (std::size_t i = 0; i < ratio.part.size(); ++i) {
    const double whole = ratio.whole.empty() ? 1.0 : ratio.whole[i];
    measured.influence[i] = (ratio.part[i] - measured.value * whole) / mean;
  }
  return measured;
}

/// The mean over labels of F1 = 2 hits / size, size = support + predicted; of one label, the
/// influence of a row is n (2 hit_i - F1 size_i) / size.
MeasuredMetric of_macro_f1(const LabelSets& truth, const LabelSets& predicted,
                           const std::vector<bool>& in_training) {
  const std::vector<LabelScore> scores = label_scores(truth, predicted, in_training);
  MeasuredMetric measured{mean_f1(scores), std::vector<double>(truth.num_rows(), 0.0)};
  struct Term {
    double f1 = 0, factor = 0;  // factor 0: the label does not count
  };
  std::vector<Term> terms(scores.empty() ? 0 : scores.back().label + std::size_t{1});
  const double n = static_cast<double>(truth.num_rows()) /
                   static_cast<double>(std::max<std::size_t>(scores.size(), 1));
  for (const LabelScore& score : scores) {
    const auto size = static_cast<double>(score.support + score.predicted);
    if (size > 0) terms[score.label] = {score.f1(), n / size};
  }
  const auto term_of = [&](LabelId label) { return label < terms.size() ? terms[label] : Term{}; };
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    double& influence = measured.influence[i];
    const auto p = predicted[i];
    for (const LabelId label : truth[i]) {
      const Term term = term_of(label);
      const double hit = std::ranges::binary_search(p, label) ? 2.0 : 0.0;
      influence += term.factor * (hit - term.f1);
    }
    for (const LabelId label : p) {
      const Term term = term_of(label);
      influence -= term.factor * term.f1;
    }
  }
  return measured;
}

}  // namespace

MeasuredMetric measure_metric(std::string_view name, const LabelSets& truth,
                              const LabelSets& predicted, const LabelGraph& hierarchy,
                              const std::vector<bool>& in_training) {
  require_metric(name);
  require(truth.num_rows() > 0, "metrics: number of rows is 0, but must be > 0");
  if (name == "macro_f1") return of_macro_f1(truth, predicted, in_training);
  const std::vector<RowRatio> ratios =
      name.starts_with("hierarchical_")
          ? closed_ratios(closed_sets(hierarchy, truth), closed_sets(hierarchy, predicted))
          : label_ratios(truth, predicted, in_training);
  return of_ratio(
      *std::ranges::find_if(ratios, [&](const RowRatio& ratio) { return ratio.name == name; }));
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
