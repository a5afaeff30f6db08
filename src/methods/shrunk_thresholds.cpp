#include "methods/shrunk_thresholds.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "methods/decision_tuning.hpp"
#include "methods/label_calibration.hpp"

namespace margrove {
namespace {

using detail::calibrate;
using detail::DecisionsOfLabels;
using detail::LabelCalibration;
using detail::Part;
using detail::ScoredDecision;

constexpr std::array kShrinkStrengths{100.0, 10.0, 1.0, 0.1};
constexpr double kLeastSlope = 1e-3;  // so that every label has a threshold

Part other(Part half) { return half == Part::even ? Part::odd : Part::even; }

/// z = (s - centre) / deviation
struct Standard {
  double centre = 0, deviation = 1;
};

/// Around a threshold, with the standard deviation of all scores.
Standard standard_of(const HeldOutScores& scores, double centre) {
  double count = 0, sum = 0, squares = 0;
  for_each_decision(scores, Part::all, [&](LabelId, const ScoredDecision& entry, bool) {
    const double apart = entry.score - centre;
    count += entry.weight;
    sum += entry.weight * apart;
    squares += entry.weight * apart * apart;
  });
  const double variance = count > 0 ? squares / count - (sum / count) * (sum / count) : 0;
  return {centre, variance > 0 ? std::sqrt(variance) : 1.0};
}

/// The decisions of one label after the other, those of even rows first.
class LabelDecisions {
 public:
  LabelDecisions(const HeldOutScores& scores, const Standard& standard)
      : begins_(2 * std::size_t{scores.num_labels} + 1, 0) {
    for (const std::size_t half : {0, 1}) {
      for_each_decision(
          scores, half == 0 ? Part::even : Part::odd,
          [&](LabelId l, const ScoredDecision&, bool) { ++begins_[2 * l + half + 1]; });
    }
    for (std::size_t k = 1; k < begins_.size(); ++k) begins_[k] += begins_[k - 1];
    entries_.resize(begins_.back());
    std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
    for (const std::size_t half : {0, 1}) {
      for_each_decision(
          scores, half == 0 ? Part::even : Part::odd, [&](LabelId l, ScoredDecision entry, bool) {
            entry.score = static_cast<float>((entry.score - standard.centre) / standard.deviation);
            entries_[next[2 * l + half]++] = entry;
          });
    }
  }

  DecisionsOfLabels of(Part part) const {
    DecisionsOfLabels labels;
    for (std::size_t k = 0; k + 1 < begins_.size(); k += 2) {
      const std::size_t begin = begins_[part == Part::odd ? k + 1 : k];
      const std::size_t end = begins_[part == Part::even ? k + 1 : k + 2];
      labels.push_back(std::span(entries_).subspan(begin, end - begin));
    }
    return labels;
  }

 private:
  std::vector<std::size_t> begins_;  // of even rows of label 0, odd rows of label 0, even ...
  std::vector<ScoredDecision> entries_;
};

/// The thresholds of equal log-odds with the best micro-F1.
std::vector<float> thresholds_of(const HeldOutScores& scores, const Standard& standard,
                                 const LabelCalibration& calibration) {
  const auto odds_at = [&](LabelId l, double z) {
    const detail::LogOdds& odds = calibration.labels[l];
    return std::max(odds.slope, kLeastSlope) * z + odds.intercept;
  };
  std::vector<ScoredDecision> entries;
  entries.reserve(scores.ranked.labels.size());
  Overlap counts = detail::counts_of(scores.truth, scores.weights);
  for_each_decision(scores, Part::all, [&](LabelId l, ScoredDecision entry, bool is_best) {
    if (is_best && scores.at_least_one) return choose(counts, entry);
    entry.score =
        static_cast<float>(odds_at(l, (entry.score - standard.centre) / standard.deviation));
    entries.push_back(entry);
  });
  const double cut = best_cut(entries, counts).threshold;
  std::vector<float> thresholds;
  for (const detail::LogOdds& odds : calibration.labels) {
    const double z = (cut - odds.intercept) / std::max(odds.slope, kLeastSlope);
    thresholds.push_back(static_cast<float>(standard.centre + standard.deviation * z));
  }
  return thresholds;
}

/// Calibrations of the halves under the strength with which they fit each other best.
struct Halves {
  LabelCalibration even, odd;
  std::size_t strength = 0;  // index

  LabelCalibration& of(Part half) { return half == Part::even ? even : odd; }
};

Halves calibrated_halves(const LabelDecisions& decisions) {
  Halves now, best;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < kShrinkStrengths.size(); ++k) {
    double loss = 0;
    for (const Part half : {Part::even, Part::odd}) {
      LabelCalibration& fit = now.of(half);
      fit = calibrate(decisions.of(half), 0.5 * kShrinkStrengths[k], std::move(fit));
      loss += log_loss(decisions.of(other(half)), fit);
    }
    if (!(loss < least)) continue;
    least = loss;
    best = now;
    best.strength = k;
  }
  return best;
}

}  // namespace

ThresholdDecision tune_shrunk(const HeldOutScores& scores) {
  const double common =
      tune_threshold(scores.ranked, scores.truth, scores.at_least_one, scores.weights).threshold;
  const Standard standard = standard_of(scores, common);
  const LabelDecisions decisions(scores, standard);
  Halves halves = calibrated_halves(decisions);
  const LabelCalibration fit =
      calibrate(decisions.of(Part::all), kShrinkStrengths[halves.strength], std::move(halves.even));
  return {thresholds_of(scores, standard, fit), scores.at_least_one};
}

}  // namespace margrove
