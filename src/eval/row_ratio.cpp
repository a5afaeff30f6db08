#include "eval/row_ratio.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

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

double normal_share(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

/// The z with normal_share(z) = share, by bisection. 0 < share < 1.
double normal_quantile(double share) {
  double low = -40, high = 40;
  for (int step = 0; step < 80; ++step) {
    const double middle = 0.5 * (low + high);
    (normal_share(middle) < share ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

/// The skewness of the estimate, over 6; 0 if no row matters.
double acceleration(std::span<const double> influence) {
  double squares = 0, cubes = 0;
  for (const double x : influence) {
    squares += x * x;
    cubes += x * x * x;
  }
  return squares == 0 ? 0.0 : cubes / (6 * std::pow(squares, 1.5));
}

/// `values` are those of the resamples.
Interval bca_interval(double estimate, std::vector<double> values,
                      std::span<const double> influence, double level) {
  std::sort(values.begin(), values.end());
  // Sums in another order may differ by rounding; a value like the estimate counts half.
  const double rounding = 1e-12 * std::max(1.0, std::abs(estimate));
  const auto below = std::lower_bound(values.begin(), values.end(), estimate - rounding);
  const auto above = std::upper_bound(values.begin(), values.end(), estimate + rounding);
  const auto count = static_cast<double>(values.size());
  const double places =
      0.5 * static_cast<double>((below - values.begin()) + (above - values.begin()));
  const double bias = normal_quantile(std::clamp(places, 0.5, count - 0.5) / count);
  const double a = acceleration(influence);
  const auto end = [&](double share) {
    const double z = bias + normal_quantile(share);
    const double slope = 1 - a * z;
    return quantile(values, slope > 0 ? normal_share(bias + z / slope) : (z > 0 ? 1.0 : 0.0));
  };
  return {std::min(end((1 - level) / 2), estimate), std::max(end((1 + level) / 2), estimate)};
}

/// Shifts values, all in [0, 1], so that their mean is the estimate.
void centre(double estimate, std::vector<double>& values) {
  const double shift = estimate - std::accumulate(values.begin(), values.end(), 0.0) /
                                      static_cast<double>(values.size());
  for (double& value : values) value = std::clamp(value + shift, 0.0, 1.0);
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

std::vector<double> RowRatio::influence() const {
  std::vector<double> influence(part.size(), 0.0);
  const double estimate = value();
  const double mean = whole.empty() ? 1.0
                                    : std::accumulate(whole.begin(), whole.end(), 0.0) /
                                          static_cast<double>(part.size());
  if (mean == 0) return influence;
  for (std::size_t i = 0; i < part.size(); ++i) {
    influence[i] = (part[i] - estimate * (whole.empty() ? 1.0 : whole[i])) / mean;
  }
  return influence;
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
  double sum = 0;
  std::size_t num_labels = scores.size();
  for (std::size_t k = 0; k < scores.size(); ++k) {
    const bool is_gone = scores[k].support + scores[k].predicted == 0 &&
                         scores_[k].support + scores_[k].predicted > 0;
    num_labels -= is_gone ? 1 : 0;
    sum += scores[k].f1();
  }
  return quotient(sum, static_cast<double>(num_labels));
}

std::vector<double> MacroF1::influence() const {
  // The F1 of a label is 2 hits / size, size = support + predicted; the influence of a row on it is
  // n (2 hit_i - F1 size_i) / size.
  std::vector<double> influence(truth_.num_rows(), 0.0);
  struct Term {
    double f1 = 0, factor = 0;  // factor 0: the label does not count
  };
  std::vector<Term> terms(scores_.empty() ? 0 : scores_.back().label + std::size_t{1});
  const double n = static_cast<double>(truth_.num_rows()) /
                   static_cast<double>(std::max<std::size_t>(scores_.size(), 1));
  for (const LabelScore& score : scores_) {
    const auto size = static_cast<double>(score.support + score.predicted);
    if (size > 0) terms[score.label] = {score.f1(), n / size};
  }
  const auto term_of = [&](LabelId label) { return label < terms.size() ? terms[label] : Term{}; };
  for (std::size_t i = 0; i < truth_.num_rows(); ++i) {
    const auto p = predicted_[i];
    for (const LabelId label : truth_[i]) {
      const Term term = term_of(label);
      const double hit = std::ranges::binary_search(p, label) ? 2.0 : 0.0;
      influence[i] += term.factor * (hit - term.f1);
    }
    for (const LabelId label : p) {
      const Term term = term_of(label);
      influence[i] -= term.factor * term.f1;
    }
  }
  return influence;
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
  for (std::size_t k = 0; k < ratios.size(); ++k) {
    intervals.push_back(
        bca_interval(ratios[k].value(), std::move(values[k]), ratios[k].influence(), level));
  }
  for (std::size_t k = 0; k < macros.size(); ++k) {
    std::vector<double>& of_macro = values[ratios.size() + k];
    centre(macros[k].value(), of_macro);
    intervals.push_back(
        bca_interval(macros[k].value(), std::move(of_macro), macros[k].influence(), level));
  }
  return intervals;
}

}  // namespace margrove
