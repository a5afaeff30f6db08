#include "model/calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/out_of_time.hpp"
#include "hierarchy/graph_operations.hpp"

namespace margrove {
namespace {

constexpr std::size_t kRowsPerTask = 64;
constexpr int kMaxSteps = 50;
constexpr int kBins = 15;

/// A row that the temperature is fitted to.
struct Observation {
  std::uint32_t row;
  LabelId label;
  double weight;
};

/// For uses of scores that need no scratch of their own.
struct NoScratch {};

/// Calls use(k, probability_scores() of row row_of(k), scratch) for each k < count, several at
/// once. Ends early where `control`, which may be null, asks to.
template <class Scratch = NoScratch, class RowOf, class Use>
void for_scores_of(const RowPredictor& predictor, const CsrView& X, std::size_t count,
                   Executor& executor, RunControl* control, const RowOf& row_of, const Use& use) {
  executor.for_ranges(count, kRowsPerTask, [&](std::size_t begin, std::size_t end, int) {
    if (control != nullptr && !control->proceed()) return;
    std::vector<float> scores(predictor.num_labels());
    Scratch scratch;
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t i = row_of(k);
      predictor.probability_scores(X, i, i + 1, scores);
      use(k, std::span<const float>(scores), scratch);
    }
  });
}

double weight_of(const CalibrationRows& rows, std::size_t i) {
  return rows.weights.empty() ? 1 : rows.weights[i];
}

/// The scores of the rows, which every pass computes anew.
class ScorePasses {
 public:
  ScorePasses(const RowPredictor& predictor, const CsrView& X, Executor& executor,
              RunControl& control)
      : predictor_(predictor), X_(X), executor_(executor), control_(control) {}

  /// Calls use(k, scores of row row_of(k)) for each k < count, several at once. Throws OutOfTime.
  template <class RowOf, class Use>
  void run(std::size_t count, const RowOf& row_of, const Use& use) {
    ++num_passes_;
    Progress progress{.stage = "calibration", .done = num_passes_};
    progress.unit = Progress::Unit::steps;
    if (!control_.proceed(progress)) throw OutOfTime{};
    for_scores_of(predictor_, X_, count, executor_, &control_, row_of,
                  [&](std::size_t k, std::span<const float> scores, NoScratch) { use(k, scores); });
    end_if_out_of_time(&control_);
  }
  template <class Use>
  void run(std::span<const Observation> observations, const Use& use) {
    run(
        observations.size(), [&](std::size_t k) { return observations[k].row; }, use);
  }

 private:
  const RowPredictor& predictor_;
  const CsrView& X_;
  Executor& executor_;
  RunControl& control_;
  std::int64_t num_passes_ = 0;
};

/// Rows with one label that may be predicted, and with a weight.
std::vector<Observation> observations_of(const RowPredictor& predictor, const CalibrationRows& rows,
                                         ScorePasses& passes) {
  std::vector<Observation> single;
  for (std::uint32_t i = 0; i < rows.truth.num_rows(); ++i) {
    const auto labels = rows.truth[i];
    const double weight = weight_of(rows, i);
    if (labels.size() == 1 && labels.front() < predictor.num_labels() && weight > 0) {
      single.push_back({i, labels.front(), weight});
    }
  }
  std::vector<char> known(single.size(), 0);
  passes.run(single, [&](std::size_t k, std::span<const float> scores) {
    known[k] = static_cast<char>(std::isfinite(scores[single[k].label]));
  });
  std::vector<Observation> kept;
  for (std::size_t k = 0; k < single.size(); ++k) {
    if (known[k] != 0) kept.push_back(single[k]);
  }
  return kept;
}

double fit_temperature(std::span<const Observation> observations, ScorePasses& passes) {
  std::vector<LikelihoodSlope> slopes(observations.size());
  return 1 / most_likely_factor([&](double b) {
           passes.run(observations, [&](std::size_t k, std::span<const float> scores) {
             slopes[k] = likelihood_slope(scores, observations[k].label, b);
           });
           LikelihoodSlope sum;
           for (std::size_t k = 0; k < slopes.size(); ++k) {
             sum.first += observations[k].weight * slopes[k].first;
             sum.second += observations[k].weight * slopes[k].second;
           }
           return sum;
         });
}

/// The calibration error on held-out rows at the given temperatures.
double error_at(std::span<const Observation> observations, ScorePasses& passes,
                const std::function<double(std::size_t)>& temperature) {
  std::vector<double> confidences(observations.size()), weights(observations.size());
  std::vector<char> right(observations.size());
  passes.run(observations, [&](std::size_t k, std::span<const float> scores) {
    std::vector<double> p(scores.size());
    softmax(scores, temperature(k), p);
    const auto best = std::max_element(scores.begin(), scores.end()) - scores.begin();
    confidences[k] = p[static_cast<std::size_t>(best)];
    weights[k] = observations[k].weight;
    right[k] = static_cast<char>(static_cast<LabelId>(best) == observations[k].label);
  });
  return expected_calibration_error(
      reliability(confidences, std::vector<bool>(right.begin(), right.end()), kBins, weights));
}

Calibration fit_one_of_all(const RowPredictor& predictor, const CalibrationRows& rows,
                           ScorePasses& passes) {
  const std::vector<Observation> all = observations_of(predictor, rows, passes);
  require(all.size() >= 2, "calibration: ", all.size(),
          " held-out rows have one label that the model knows, but at least 2 must");
  std::array<std::vector<Observation>, 2> halves;
  for (std::size_t k = 0; k < all.size(); ++k) halves[k % 2].push_back(all[k]);
  const std::array temperatures{fit_temperature(halves[0], passes),
                                fit_temperature(halves[1], passes)};
  Calibration fitted;
  fitted.num_rows = static_cast<std::int64_t>(all.size());
  fitted.temperature = fit_temperature(all, passes);
  fitted.error = error_at(all, passes, [&](std::size_t k) { return temperatures[1 - k % 2]; });
  fitted.error_before = error_at(all, passes, [](std::size_t) { return 1.0; });
  return fitted;
}

// Label sets --------------------------------------------------------------------------------------

/// No estimate is certain.
double uncertain_estimate(float score) {
  constexpr double kLeast = 1e-6;
  return std::clamp(static_cast<double>(score), kLeast, 1 - kLeast);
}

/// The log odds of a label or node by a rule other than one_of_all.
double log_odds(const ProbabilityRule& rule, float score) {
  auto z = static_cast<double>(score);
  if (rule.form == ProbabilityRule::Form::node_estimate) {
    const double p = uncertain_estimate(score);
    z = std::log(p / (1 - p));
  }
  return z / rule.temperature + rule.shift;
}

double probability_at(double log_odds) { return 1 / (1 + std::exp(-log_odds)); }

double log_of_one_plus_exp(double z) {
  return z > 0 ? z + std::log1p(std::exp(-z)) : std::log1p(std::exp(z));
}

/// The sets with the ancestors of their labels; without labels that the graph does not have.
LabelSets with_ancestors(const LabelSets& sets, const LabelGraph& graph) {
  const ListedAncestors ancestors(graph);
  LabelSets closed;
  std::vector<NodeId> scratch;
  for (std::size_t i = 0; i < sets.num_rows(); ++i) {
    std::vector<LabelId> all;
    for (const LabelId label : sets[i]) {
      if (label >= graph.num_nodes()) continue;
      const auto above = ancestors.of(graph, label, scratch);
      all.insert(all.end(), above.begin(), above.end());
    }
    std::ranges::sort(all);
    const auto repeated = std::ranges::unique(all);
    all.erase(repeated.begin(), repeated.end());
    closed.append(all);
  }
  return closed;
}

/// Fits the factor a = 1 / T and the shift b by Newton's method: the minimum of
///   sum over pairs of row and label  log(1 + exp(z)) - y z,   z = a s + b,
/// where s are the log odds without calibration, and y is (n + 1) / (n + 2) for the n pairs whose
/// label the row has and 1 / (m + 2) for the m others, so that the minimum is finite (Platt 1999).
/// Pairs count by the weights of their rows.
class LabelSetFit {
 public:
  LabelSetFit(const RowPredictor& predictor, const LabelGraph& hierarchy,
              const CalibrationRows& rows, ScorePasses& passes)
      : rows_(rows),
        truth_(predictor.estimates_nodes() ? with_ancestors(rows.truth, hierarchy) : rows.truth),
        passes_(passes),
        form_(predictor.estimates_nodes() ? ProbabilityRule::Form::node_estimate
                                          : ProbabilityRule::Form::independent),
        is_leaf_(predictor.num_labels(), true) {
    for (NodeId n = 0; predictor.estimates_nodes() && n < hierarchy.num_nodes(); ++n) {
      is_leaf_[n] = hierarchy.is_leaf(n);
    }
  }

  Calibration fit() const {
    std::vector<std::uint32_t> all;  // that have a weight
    for (std::uint32_t i = 0; i < truth_.num_rows(); ++i) {
      if (weight_of(rows_, i) > 0) all.push_back(i);
    }
    require(all.size() >= 2, "calibration: there are ", all.size(),
            " held-out rows, but must be at least 2");
    std::array<std::vector<std::uint32_t>, 2> halves;
    for (std::size_t k = 0; k < all.size(); ++k) halves[k % 2].push_back(all[k]);
    const std::array rules{fitted(halves[0]), fitted(halves[1])};
    const ProbabilityRule of_all = fitted(all);
    Calibration calibration;
    calibration.temperature = of_all.temperature;
    calibration.shift = of_all.shift;
    calibration.num_rows = static_cast<std::int64_t>(all.size());
    calibration.error = error_at(all, [&](std::size_t k) { return rules[1 - k % 2]; });
    calibration.error_before = error_at(all, [&](std::size_t) { return ProbabilityRule{form_}; });
    return calibration;
  }

 private:
  /// Of the negative log-likelihood.
  struct Sums {
    double value = 0, by_a = 0, by_b = 0, by_aa = 0, by_ab = 0, by_bb = 0;
    void add(const Sums& other, double weight) {
      value += weight * other.value;
      by_a += weight * other.by_a;
      by_b += weight * other.by_b;
      by_aa += weight * other.by_aa;
      by_ab += weight * other.by_ab;
      by_bb += weight * other.by_bb;
    }
  };
  struct Targets {
    double present = 1, absent = 0;
  };
  using Rows = std::span<const std::uint32_t>;

  bool has(std::size_t row, std::size_t label) const {
    const auto set = truth_[row];
    return std::binary_search(set.begin(), set.end(), static_cast<LabelId>(label));
  }

  template <class Use>
  void for_rows(Rows rows, const Use& use) const {
    passes_.run(
        rows.size(), [&](std::size_t k) { return rows[k]; }, use);
  }

  Targets targets_of(Rows rows) const {
    std::vector<std::array<double, 2>> counts(rows.size());
    for_rows(rows, [&](std::size_t k, std::span<const float> scores) {
      for (std::size_t l = 0; l < scores.size(); ++l) {
        if (std::isfinite(scores[l])) ++counts[k][has(rows[k], l) ? 1 : 0];
      }
    });
    double absent = 0, present = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      absent += weight_of(rows_, rows[k]) * counts[k][0];
      present += weight_of(rows_, rows[k]) * counts[k][1];
    }
    return {(present + 1) / (present + 2), 1 / (absent + 2)};
  }

  Sums sums_at(double a, double b, Rows rows, Targets targets) const {
    std::vector<Sums> parts(rows.size());
    for_rows(rows, [&](std::size_t k, std::span<const float> scores) {
      Sums& sums = parts[k];
      for (std::size_t l = 0; l < scores.size(); ++l) {
        if (!std::isfinite(scores[l])) continue;
        const double s = log_odds({form_}, scores[l]), z = a * s + b;
        const double y = has(rows[k], l) ? targets.present : targets.absent;
        const double p = probability_at(z), slope = p - y, curve = p * (1 - p);
        sums.value += log_of_one_plus_exp(z) - y * z;
        sums.by_a += slope * s;
        sums.by_b += slope;
        sums.by_aa += curve * s * s;
        sums.by_ab += curve * s;
        sums.by_bb += curve;
      }
    });
    Sums all;
    for (std::size_t k = 0; k < rows.size(); ++k) all.add(parts[k], weight_of(rows_, rows[k]));
    return all;
  }

  /// The scores keep their order: a is not below kLeastFactor.
  ProbabilityRule fitted(Rows rows) const {
    constexpr double kLeastFactor = 1e-4, kTolerance = 1e-9, kJitter = 1e-10;
    const Targets targets = targets_of(rows);
    double a = 1, b = 0;
    Sums at = sums_at(a, b, rows, targets);
    for (int step = 0; step < kMaxSteps; ++step) {
      const double aa = at.by_aa * (1 + kJitter) + kJitter, bb = at.by_bb * (1 + kJitter) + kJitter;
      const double determinant = aa * bb - at.by_ab * at.by_ab;
      double of_a = -(bb * at.by_a - at.by_ab * at.by_b) / determinant;
      double of_b = -(aa * at.by_b - at.by_ab * at.by_a) / determinant;
      if (a <= kLeastFactor && of_a < 0) {
        of_a = 0;
        of_b = -at.by_b / bb;
      }
      const double decrease = -(at.by_a * of_a + at.by_b * of_b);  // of the linear model
      if (!(decrease > kTolerance * at.value)) break;
      double length = of_a < 0 ? std::min(1.0, (a - kLeastFactor) / -of_a) : 1.0;
      Sums next;
      for (int halving = 0; halving < kMaxSteps; ++halving, length /= 2) {
        next = sums_at(a + length * of_a, b + length * of_b, rows, targets);
        if (next.value <= at.value - 1e-4 * length * decrease) break;
      }
      if (!(next.value < at.value)) break;
      a = std::max(kLeastFactor, a + length * of_a);
      b += length * of_b;
      at = next;
    }
    return {form_, 1 / a, b};
  }

  template <class RuleOf>
  double error_at(Rows rows, const RuleOf& rule_of) const {
    std::vector<double> confidences(rows.size()), weights(rows.size());
    std::vector<char> right(rows.size());
    for_rows(rows, [&](std::size_t k, std::span<const float> scores) {
      std::size_t best = 0;
      for (std::size_t l = 1; l < scores.size(); ++l) {
        if (is_leaf_[l] && (!is_leaf_[best] || scores[l] > scores[best])) best = l;
      }
      confidences[k] = probability_at(log_odds(rule_of(k), scores[best]));
      weights[k] = weight_of(rows_, rows[k]);
      right[k] = static_cast<char>(has(rows[k], best));
    });
    return expected_calibration_error(
        reliability(confidences, std::vector<bool>(right.begin(), right.end()), kBins, weights));
  }

  const CalibrationRows& rows_;
  LabelSets truth_;
  ScorePasses& passes_;
  ProbabilityRule::Form form_;
  std::vector<bool> is_leaf_;  // or scores are of labels
};

}  // namespace

LikelihoodSlope likelihood_slope(std::span<const float> scores, std::size_t label, double b) {
  const float top = *std::max_element(scores.begin(), scores.end());
  double sum = 0, mean = 0, square = 0;  // of scores less the largest
  for (const float score : scores) {
    if (!std::isfinite(score)) continue;
    const double s = static_cast<double>(score) - top;
    const double weight = std::exp(b * s);
    sum += weight;
    mean += weight * s;
    square += weight * s * s;
  }
  mean /= sum;
  return {mean - (static_cast<double>(scores[label]) - top), square / sum - mean * mean};
}

double most_likely_factor(const std::function<LikelihoodSlope(double b)>& slope_at) {
  constexpr double kLowest = 1e-4,
                   kHighest = 1e4;  // where scores carry no information, or separate all rows
  double low = kLowest, high = kHighest, b = 1;
  for (int step = 0; step < kMaxSteps && high - low > 1e-9 * high; ++step) {
    const LikelihoodSlope slope = slope_at(b);
    (slope.first > 0 ? high : low) = b;
    const double next = slope.second > 0 ? b - slope.first / slope.second : low;
    const double moved = next > low && next < high ? next : std::sqrt(low * high);
    if (std::abs(moved - b) <= 1e-9 * b) break;
    b = moved;
  }
  return b;
}

void softmax(std::span<const float> scores, double temperature, std::span<double> probabilities) {
  const float top = *std::max_element(scores.begin(), scores.end());
  double sum = 0;
  for (std::size_t l = 0; l < scores.size(); ++l) {
    probabilities[l] = std::isfinite(scores[l])
                           ? std::exp((static_cast<double>(scores[l]) - top) / temperature)
                           : 0.0;
    sum += probabilities[l];
  }
  if (sum == 0) return;
  for (double& p : probabilities) p /= sum;
}

namespace {

struct ProbabilityScratch {
  std::vector<double> labels, nodes;
};

void independent(const ProbabilityRule& rule, std::span<const float> scores,
                 const HierarchyProbabilities* hierarchy, ProbabilityScratch& scratch) {
  for (std::size_t l = 0; l < scores.size(); ++l) {
    scratch.labels[l] = -log_of_one_plus_exp(log_odds(rule, scores[l]));
  }
  if (hierarchy != nullptr) {
    hierarchy->sum_below(scratch.labels, scratch.nodes);
    for (double& node : scratch.nodes) node = -std::expm1(node);
  }
  for (double& label : scratch.labels) label = -std::expm1(label);
}

void node_estimates(const ProbabilityRule& rule, std::span<const float> scores,
                    const HierarchyProbabilities* hierarchy, ProbabilityScratch& scratch) {
  const bool is_calibrated = rule.temperature != 1 || rule.shift != 0;
  for (std::size_t n = 0; n < scores.size(); ++n) {
    scratch.labels[n] =
        is_calibrated ? probability_at(log_odds(rule, scores[n])) : uncertain_estimate(scores[n]);
  }
  if (hierarchy != nullptr)
    scratch.nodes = scratch.labels;  // a parent's is that of a child or more
}

void fill_probabilities(const ProbabilityRule& rule, std::span<const float> scores,
                        const HierarchyProbabilities* hierarchy, ProbabilityScratch& scratch) {
  scratch.labels.resize(scores.size());
  if (hierarchy != nullptr) scratch.nodes.resize(scores.size());
  switch (rule.form) {
    case ProbabilityRule::Form::one_of_all:
      softmax(scores, rule.temperature, scratch.labels);
      if (hierarchy != nullptr) hierarchy->sum_below(scratch.labels, scratch.nodes);
      return;
    case ProbabilityRule::Form::independent:
      return independent(rule, scores, hierarchy, scratch);
    case ProbabilityRule::Form::node_estimate:
      return node_estimates(rule, scores, hierarchy, scratch);
  }
}

}  // namespace

void for_probabilities(const RowPredictor& predictor, const ProbabilityRule& rule,
                       const HierarchyProbabilities* hierarchy, const CsrView& X,
                       Executor& executor, const UseProbabilities& use) {
  for_scores_of<ProbabilityScratch>(
      predictor, X, X.num_rows(), executor, nullptr, [](std::size_t k) { return k; },
      [&](std::size_t i, std::span<const float> scores, ProbabilityScratch& scratch) {
        fill_probabilities(rule, scores, hierarchy, scratch);
        use(i, {scores, scratch.labels, scratch.nodes});
      });
}

Calibration fit_calibration(const RowPredictor& predictor, const LabelGraph& hierarchy,
                            const CalibrationRows& rows, Executor& executor, RunControl& control) {
  const std::size_t num_rows = rows.X.num_rows();
  require(rows.truth.num_rows() == num_rows, "fit_calibration: there are ", rows.truth.num_rows(),
          " label sets, but must be ", num_rows);
  require(rows.weights.empty() || rows.weights.size() == num_rows, "fit_calibration: there are ",
          rows.weights.size(), " row weights, but must be ", num_rows);
  ScorePasses passes(predictor, rows.X, executor, control);
  return predictor.gives_one_label() ? fit_one_of_all(predictor, rows, passes)
                                     : LabelSetFit(predictor, hierarchy, rows, passes).fit();
}

std::vector<ReliabilityBin> reliability(std::span<const double> confidences,
                                        const std::vector<bool>& right, int num_bins,
                                        std::span<const double> weights) {
  require(confidences.size() == right.size() && num_bins > 0, "reliability: there are ",
          confidences.size(), " confidences, ", right.size(), " answers and ", num_bins, " bins");
  std::vector<ReliabilityBin> bins(static_cast<std::size_t>(num_bins));
  for (std::size_t k = 0; k < confidences.size(); ++k) {
    const auto place = static_cast<std::size_t>(confidences[k] * num_bins);
    const double weight = weights.empty() ? 1 : weights[k];
    ReliabilityBin& bin = bins[std::min(place, bins.size() - 1)];
    ++bin.count;
    bin.weight += weight;
    bin.confidence += weight * confidences[k];
    bin.accuracy += right[k] ? weight : 0;
  }
  for (ReliabilityBin& bin : bins) {
    if (bin.count == 0) continue;
    bin.confidence /= bin.weight;
    bin.accuracy /= bin.weight;
  }
  return bins;
}

double expected_calibration_error(std::span<const ReliabilityBin> bins) {
  double sum = 0, weight = 0;
  for (const ReliabilityBin& bin : bins) {
    sum += bin.weight * std::abs(bin.accuracy - bin.confidence);
    weight += bin.weight;
  }
  return weight > 0 ? sum / weight : 0;
}

HierarchyProbabilities::HierarchyProbabilities(const LabelGraph& hierarchy) : graph_(hierarchy) {
  if (!graph_.is_tree()) ancestors_ = ListedAncestors(graph_);
}

void HierarchyProbabilities::sum_below(std::span<const double> label_values,
                                       std::span<double> result) const {
  if (graph_.is_tree()) {
    std::copy(label_values.begin(), label_values.end(), result.begin());
    const auto order = graph_.topological_order();
    for (std::size_t k = order.size(); k-- > 0;) {
      const NodeId n = order[k];
      if (!graph_.is_root(n)) result[graph_.parents(n).front()] += result[n];
    }
    return;
  }
  std::fill(result.begin(), result.end(), 0.0);
  std::vector<NodeId> scratch;
  for (NodeId n = 0; n < graph_.num_nodes(); ++n) {
    if (label_values[n] == 0) continue;
    for (const NodeId above : ancestors_.of(graph_, n, scratch)) result[above] += label_values[n];
  }
}

std::optional<LabelId> HierarchyProbabilities::confident(
    std::span<const double> label_probabilities, std::span<const double> node_probabilities,
    double min_confidence) const {
  // The probabilities of all labels add up to one with a rounding error.
  const double least = min_confidence - 1e-9;
  const auto most_probable = [&](std::span<const NodeId> nodes) {
    NodeId best = nodes.front();
    for (const NodeId n : nodes) {
      if (node_probabilities[n] > node_probabilities[best]) best = n;
    }
    return best;
  };
  NodeId at = most_probable(graph_.roots());
  if (node_probabilities[at] < least) return std::nullopt;
  while (!graph_.is_leaf(at)) {
    const NodeId child = most_probable(graph_.children(at));
    if (node_probabilities[child] < min_confidence ||
        label_probabilities[at] > node_probabilities[child])
      break;
    at = child;
  }
  return at;
}

std::vector<LabelId> HierarchyProbabilities::lowest_confident(
    std::span<const double> node_probabilities, double min_confidence) const {
  const auto is_confident = [&](NodeId n) {
    return node_probabilities[n] > 0 && node_probabilities[n] >= min_confidence;
  };
  std::vector<LabelId> lowest;
  for (NodeId n = 0; n < graph_.num_nodes(); ++n) {
    if (is_confident(n) && std::ranges::none_of(graph_.children(n), is_confident)) {
      lowest.push_back(n);
    }
  }
  return lowest;
}

}  // namespace margrove
