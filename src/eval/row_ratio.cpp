#include "eval/row_ratio.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

double quotient(double part, double whole) { return whole == 0 ? 0.0 : part / whole; }

/// By linear interpolation between the sorted values, as NumPy does.
double quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
}

}  // namespace

double RowRatio::value() const {
  const double parts = std::accumulate(part.begin(), part.end(), 0.0);
  if (whole.empty()) return quotient(parts, static_cast<double>(part.size()));
  return quotient(parts, std::accumulate(whole.begin(), whole.end(), 0.0));
}

double RowRatio::value(std::span<const std::uint32_t> counts) const {
  double parts = 0, wholes = 0;
  for (std::size_t i = 0; i < part.size(); ++i) {
    parts += counts[i] * part[i];
    wholes += counts[i] * (whole.empty() ? 1.0 : whole[i]);
  }
  return quotient(parts, wholes);
}

double mean_f1(std::span<const LabelScore> scores) {
  double sum = 0;
  for (const LabelScore& score : scores) sum += score.f1();
  return quotient(sum, static_cast<double>(scores.size()));
}

double MacroF1::value(std::span<const std::uint32_t> counts) const {
  std::vector<LabelScore> scores = scores_;
  std::vector<LabelScore*> of_label(scores.empty() ? 0 : scores.back().label + std::size_t{1});
  for (LabelScore& score : scores) {
    score.support = score.predicted = score.true_positives = 0;
    of_label[score.label] = &score;
  }
  const auto for_counted = [&](std::span<const LabelId> labels, const auto& use) {
    for (const LabelId label : labels) {
      if (label < of_label.size() && of_label[label] != nullptr) use(*of_label[label]);
    }
  };
  for (std::size_t i = 0; i < truth_.num_rows(); ++i) {
    const std::int64_t times = counts[i];
    const auto p = predicted_[i];
    for_counted(truth_[i], [&](LabelScore& score) {
      score.support += times;
      if (std::binary_search(p.begin(), p.end(), score.label)) score.true_positives += times;
    });
    for_counted(p, [&](LabelScore& score) { score.predicted += times; });
  }
  return mean_f1(scores);
}

std::vector<Interval> bootstrap_intervals(std::span<const RowRatio> ratios,
                                          std::span<const MacroF1> macros, std::size_t num_rows,
                                          int num_resamples, std::uint64_t seed, double level,
                                          Executor& executor) {
  require<InvalidOption>(num_resamples > 0, "bootstrap: number of resamples is ", num_resamples,
                         ", but must be > 0");
  require<InvalidOption>(level > 0 && level < 1, "bootstrap: level is ", level,
                         ", but must be in (0, 1)");
  const std::size_t num_metrics = ratios.size() + macros.size();
  const auto resamples = static_cast<std::size_t>(num_resamples);
  std::vector<std::vector<double>> values(num_metrics, std::vector<double>(resamples));
  executor.for_each(resamples, [&](std::size_t sample, int) {
    Random random(seed, sample);
    std::vector<std::uint32_t> counts(num_rows, 0);
    for (std::size_t i = 0; i < num_rows; ++i) ++counts[random.below(num_rows)];
    for (std::size_t k = 0; k < ratios.size(); ++k) values[k][sample] = ratios[k].value(counts);
    for (std::size_t k = 0; k < macros.size(); ++k) {
      values[ratios.size() + k][sample] = macros[k].value(counts);
    }
  });
  std::vector<Interval> intervals;
  for (std::vector<double>& of_metric : values) {
    std::sort(of_metric.begin(), of_metric.end());
    intervals.push_back(
        {quantile(of_metric, (1 - level) / 2), quantile(of_metric, (1 + level) / 2)});
  }
  return intervals;
}

}  // namespace margrove
