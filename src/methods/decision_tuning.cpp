#include "methods/decision_tuning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/out_of_time.hpp"
#include "margrove/errors.hpp"
#include "methods/ridge.hpp"
#include "methods/shrunk_thresholds.hpp"
#include "model/answer_metrics.hpp"

namespace margrove {
namespace {

// Tuning considers at least 256 labels per row, unless these are more than 2^25 for all rows: then
// at least 16 times the mean number of labels of a row.
constexpr std::size_t kLeastRanked = 256;
constexpr std::size_t kMaxRanked = std::size_t{1} << 25;
constexpr std::size_t kTimesMean = 16;
constexpr std::size_t kMaxSortedScores = 32;  // features of the regression of `instance`

using detail::best_cut;
using detail::choose;
using detail::contains;
using detail::counts_of;
using detail::Cut;
using detail::for_each_decision;
using detail::is_in;
using detail::Part;
using detail::ranked_labels;
using detail::ranked_scores;
using detail::ScoredDecision;

// scut --------------------------------------------------------------------------------------------

/// Calls use(label, decision) for each score of the part's rows, and counts the labels wanted
/// there.
template <class Use>
void visit(const HeldOutScores& scores, Part part, std::vector<Overlap>& counts, const Use& use) {
  for_each_decision(scores, part,
                    [&](LabelId label, const ScoredDecision& entry, bool) { use(label, entry); });
  for (std::size_t i = 0; i < scores.truth.num_rows(); ++i) {
    if (!is_in(i, part)) continue;
    for (const LabelId label : scores.truth[i]) {
      counts[label].wanted += weight_of(scores.weights, i);
    }
  }
}

struct LabelCuts {
  std::vector<Cut> best;
  std::vector<float> highest;  // score
};

LabelCuts label_cuts(const HeldOutScores& scores, Part part) {
  std::vector<std::vector<ScoredDecision>> entries(scores.num_labels);
  std::vector<Overlap> counts(scores.num_labels);
  visit(scores, part, counts,
        [&](LabelId label, const ScoredDecision& entry) { entries[label].push_back(entry); });
  LabelCuts cuts;
  for (LabelId l = 0; l < scores.num_labels; ++l) {
    cuts.best.push_back(best_cut(entries[l], counts[l]));
    cuts.highest.push_back(entries[l].empty() ? 0.0F : entries[l].front().score);
  }
  return cuts;
}

std::vector<float> thresholds_of(const LabelCuts& cuts, double level) {
  std::vector<float> thresholds;
  for (std::size_t l = 0; l < cuts.best.size(); ++l) {
    const bool is_reliable = cuts.best[l].f1 >= level && cuts.best[l].f1 > 0;
    thresholds.push_back(is_reliable ? cuts.best[l].threshold : cuts.highest[l]);
  }
  return thresholds;
}

/// Macro-F1 over the labels that occur in the part, times their number.
double sum_of_f1(const HeldOutScores& scores, Part part, std::span<const float> thresholds) {
  std::vector<Overlap> counts(scores.num_labels);
  visit(scores, part, counts, [&](LabelId label, const ScoredDecision& entry) {
    if (entry.score > thresholds[label]) choose(counts[label], entry);
  });
  double sum = 0;
  for (const Overlap& count : counts) sum += count.wanted > 0 ? count.f1() : 0.0;
  return sum;
}

double best_level(const HeldOutScores& scores) {
  const LabelCuts of_even = label_cuts(scores, Part::even), of_odd = label_cuts(scores, Part::odd);
  double best = 0, best_sum = -1;
  for (int step = 0; step <= 8; ++step) {
    const double level = 0.1 * step;
    const double sum = sum_of_f1(scores, Part::odd, thresholds_of(of_even, level)) +
                       sum_of_f1(scores, Part::even, thresholds_of(of_odd, level));
    if (sum > best_sum) {
      best = level;
      best_sum = sum;
    }
  }
  return best;
}

// instance ----------------------------------------------------------------------------------------

/// The threshold at which row i has its best F1; the row must have at least one score. Where that
/// is any threshold above all scores or below all scores, it is `common`, the best one for all
/// rows, if that is among them, as the row itself says nothing about the distance.
double best_threshold(const HeldOutScores& scores, std::size_t i, double common) {
  const auto labels = ranked_labels(scores.ranked, i);
  const auto values = ranked_scores(scores.ranked, i);
  Overlap counts{.wanted = static_cast<double>(scores.truth[i].size())};
  // Nothing is chosen at half the distance of the two best scores above the best one.
  const double first_gap = values.size() > 1 ? 0.5 * (values[0] - values[1]) : 0.5;
  double best = std::max(values[0] + first_gap, common);
  double best_f1 = counts.wanted == 0 ? 1.0 : -1.0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    choose(counts, {values[k], contains(scores.truth[i], labels[k]), 1});
    if (k + 1 < values.size() && values[k] == values[k + 1]) continue;
    if (counts.f1() <= best_f1) continue;
    best_f1 = counts.f1();
    best = k + 1 < values.size() ? 0.5 * (static_cast<double>(values[k]) + values[k + 1])
                                 : std::min(values[k] - first_gap, common);
  }
  return best;
}

}  // namespace

TunedThreshold tune_threshold(const RankedLabels& ranked, const LabelSets& truth, bool at_least_one,
                              std::span<const double> weights) {
  std::vector<ScoredDecision> entries;
  Overlap counts = counts_of(truth, weights);
  for (std::size_t i = 0; i + 1 < ranked.pointers.size(); ++i) {
    const double weight = weight_of(weights, i);
    for (std::size_t k = ranked.pointers[i]; k < ranked.pointers[i + 1]; ++k) {
      const ScoredDecision entry{ranked.scores[k], contains(truth[i], ranked.labels[k]), weight};
      if (at_least_one && k == ranked.pointers[i]) {
        choose(counts, entry);
      } else {
        entries.push_back(entry);
      }
    }
  }
  const Cut cut = best_cut(entries, counts);
  return {cut.threshold, cut.f1};
}

ThresholdDecision tune_scut(const HeldOutScores& scores) {
  return {thresholds_of(label_cuts(scores, Part::all), best_level(scores)), scores.at_least_one};
}

RcutDecision tune_rcut(const HeldOutScores& scores) {
  Overlap counts = counts_of(scores.truth, scores.weights);
  RcutDecision best;
  double best_f1 = -1;
  for (std::uint32_t count = 1; count <= scores.num_labels; ++count) {
    const double before = counts.answered;
    for (std::size_t i = 0; i < scores.truth.num_rows(); ++i) {
      const auto labels = ranked_labels(scores.ranked, i);
      const auto values = ranked_scores(scores.ranked, i);
      if (labels.size() < count) continue;
      choose(counts, {values[count - 1], contains(scores.truth[i], labels[count - 1]),
                      weight_of(scores.weights, i)});
    }
    if (counts.answered == before) break;
    if (counts.f1() > best_f1) {
      best.count = count;
      best_f1 = counts.f1();
    }
  }
  return best;
}

TunedInstance tune_instance(const HeldOutScores& scores) {
  TunedInstance tuned;
  InstanceDecision& decision = tuned.decision;
  decision.at_least_one = scores.at_least_one;
  std::vector<std::size_t> rows;
  std::size_t width = 0;
  for (std::size_t i = 0; i < scores.truth.num_rows(); ++i) {
    const std::size_t size = ranked_scores(scores.ranked, i).size();
    if (size > 0) rows.push_back(i);
    width = std::max(width, std::min(size, kMaxSortedScores));
  }
  if (rows.empty()) return tuned;
  const double common =
      tune_threshold(scores.ranked, scores.truth, scores.at_least_one, scores.weights).threshold;
  std::vector<double> features, targets, weights;
  for (const std::size_t i : rows) {
    const auto values = ranked_scores(scores.ranked, i);
    for (std::size_t r = 0; r < width; ++r) {
      features.push_back(values[std::min(r, values.size() - 1)]);
    }
    targets.push_back(best_threshold(scores, i, common));
    if (!scores.weights.empty()) weights.push_back(scores.weights[i]);
  }
  detail::RidgeFit fit = detail::ridge_regression(features, width, targets, weights);
  decision.coefficients = std::move(fit.coefficients);
  RankedLabels margins = scores.ranked;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    for (std::size_t p = margins.pointers[rows[k]]; p < margins.pointers[rows[k] + 1]; ++p) {
      margins.scores[p] -= static_cast<float>(fit.left_out[k]);
    }
  }
  const TunedThreshold cut =
      tune_threshold(margins, scores.truth, scores.at_least_one, scores.weights);
  decision.intercept = fit.intercept + cut.threshold;
  tuned.micro_f1 = cut.micro_f1;
  return tuned;
}

Decision tune_automatic(const HeldOutScores& scores) {
  TunedInstance instance = tune_instance(scores);
  const TunedThreshold common =
      tune_threshold(scores.ranked, scores.truth, scores.at_least_one, scores.weights);
  if (instance.micro_f1 >= common.micro_f1) return std::move(instance.decision);
  return ThresholdDecision{{common.threshold}, scores.at_least_one};
}

// All rules ---------------------------------------------------------------------------------------

namespace {

bool needs_scores(DecisionKind rule) {
  return rule != DecisionKind::argmax && rule != DecisionKind::zero;
}

DecisionKind rule_of(const DecisionOptions& options, const LabelSets& sets) {
  return options.resolved(sets, DecisionKind::automatic);
}

std::size_t largest_set(const LabelSets& sets) {
  std::size_t largest = 0;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) largest = std::max(largest, sets[i].size());
  return largest;
}

/// The number of labels per row whose scores tuning considers. One row with thousands of labels
/// among many rows does not raise it for all.
std::size_t num_ranked(const LabelSets& sets) {
  const std::size_t rows = std::max<std::size_t>(1, sets.num_rows());
  const std::size_t mean = static_cast<std::size_t>(sets.num_labels_total()) / rows + 1;
  return std::min(std::max(kLeastRanked, 4 * largest_set(sets)),
                  std::max(kTimesMean * mean, kMaxRanked / rows));
}

/// `scores` may be empty if !needs_scores(rule).
Decision tune(DecisionKind rule, const HeldOutScores& scores) {
  switch (rule) {
    case DecisionKind::offset:  // does not occur: no choice of these methods
    case DecisionKind::argmax:
      break;
    case DecisionKind::automatic:
      return tune_automatic(scores);
    case DecisionKind::zero:
      return ThresholdDecision{{0.0F}, scores.at_least_one};
    case DecisionKind::threshold:
      return ThresholdDecision{
          {tune_threshold(scores.ranked, scores.truth, scores.at_least_one, scores.weights)
               .threshold},
          scores.at_least_one};
    case DecisionKind::scut:
      return tune_scut(scores);
    case DecisionKind::shrunk:
      return tune_shrunk(scores);
    case DecisionKind::rcut:
      return tune_rcut(scores);
    case DecisionKind::instance:
      return tune_instance(scores).decision;
  }
  return ArgmaxDecision{};
}

}  // namespace

MemoryEstimate tuned_memory(const DecisionOptions& options, const CsrView& X, const LabelSets& sets,
                            std::uint32_t num_labels, MemoryEstimate training,
                            const MemoryEstimate& kept_of_folds) {
  const DecisionKind rule = rule_of(options, sets);
  if (!needs_scores(rule) || X.num_rows() < 2) return training;
  const auto rows = static_cast<double>(X.num_rows());
  const auto ranked = static_cast<double>(std::min<std::size_t>(num_ranked(sets), num_labels));
  MemoryEstimate fold = training.times(1 - 1.0 / options.folds), tuning;
  fold.add("rows of a fold", 8.0 * static_cast<double>(X.num_nonzeros()) + 8 * rows);
  // Eight bytes per score, in arrays that may be half empty. Tuning adds a copy of the scores minus
  // the threshold, a sorted copy, and the regression on the best scores of each row.
  fold.add("scores of the cross-validation", 3 * 8 * ranked * rows);
  fold.add(kept_of_folds);
  tuning.add("scores of the cross-validation", 8 * 8 * ranked * rows);
  if (rule == DecisionKind::instance || rule == DecisionKind::automatic) {
    tuning.add("regression of thresholds",
               3 * 8 * std::min<double>(kMaxSortedScores, ranked) * rows);
  }
  return larger_of(larger_of(std::move(fold), std::move(tuning)), std::move(training));
}

std::vector<Split> decision_folds(const DecisionOptions& options, const LabelSets& sets) {
  if (!needs_scores(rule_of(options, sets)) || sets.num_rows() < 2) return {};
  return validation_folds(sets, options.folds, options.seed);
}

DecisionTuner::DecisionTuner(const DecisionOptions& options, const LabelSets& sets,
                             std::span<const double> row_weights,
                             std::span<const LabelId> label_of_node)
    : rule_(rule_of(options, sets)),
      sets_(sets),
      row_weights_(row_weights),
      label_of_node_(label_of_node) {
  scores_.at_least_one = true;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) scores_.at_least_one &= !sets[i].empty();
}

bool DecisionTuner::needs_scores() const {
  return margrove::needs_scores(rule_) && sets_.num_rows() >= 2;
}

void DecisionTuner::add(const RowPredictor& predictor, const CsrView& X,
                        const std::vector<std::uint32_t>& held_out, Executor& executor) {
  const RankedLabels part = predictor.top(select_rows(X, held_out), num_ranked(sets_), executor);
  auto& [pointers, labels, values] = scores_.ranked;
  const std::size_t before = labels.size();
  for (std::size_t i = 1; i < part.pointers.size(); ++i) {
    pointers.push_back(before + part.pointers[i]);
  }
  labels.insert(labels.end(), part.labels.begin(), part.labels.end());
  values.insert(values.end(), part.scores.begin(), part.scores.end());
  std::vector<LabelId> set;
  for (const std::uint32_t i : held_out) {
    set.clear();
    for (const LabelId node : sets_[i]) set.push_back(label_of_node_[node]);
    scores_.truth.append(set);
    if (!row_weights_.empty()) scores_.weights.push_back(row_weights_[i]);
  }
  scores_.num_labels = predictor.num_labels();
}

Decision DecisionTuner::tuned() const {
  if (margrove::needs_scores(rule_) && !has_scores()) {
    return ThresholdDecision{{0.0F}, scores_.at_least_one};
  }
  return tune(rule_, scores_);
}

Decision tuned_decision(const DecisionOptions& options, const CsrView& X, const LabelSets& sets,
                        std::span<const double> row_weights, std::span<const LabelId> label_of_node,
                        const FitRows& fit, Executor& executor, RunControl& control) {
  DecisionTuner tuner(options, sets, row_weights, label_of_node);
  if (!tuner.needs_scores()) return tuner.tuned();
  const auto score_fold = [&](const Split& split, RunControl& share) {
    const std::unique_ptr<RowPredictor> predictor = fit(split.training, share);
    end_if_interrupted(control);
    if (predictor == nullptr) return;
    if (tuner.has_scores() && !control.proceed()) return;  // earlier folds must do
    tuner.add(*predictor, X, split.validation, executor);
  };
  cross_validate(sets, options.folds, options.seed, "the tuned decision", control, score_fold);
  return tuner.tuned();
}

}  // namespace margrove
