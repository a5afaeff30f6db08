#include "margrove/metrics.hpp"

#include <algorithm>
#include <iterator>

#include "eval/named_metrics.hpp"
#include "hierarchy/closed_sets.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

double f1_of(std::int64_t hits, std::int64_t in_truth, std::int64_t in_prediction) {
  return ratio(2 * hits, in_truth + in_prediction);
}

void require_same_rows(const LabelSets& truth, const LabelSets& predicted) {
  require(truth.num_rows() == predicted.num_rows(), "metrics: number of predicted rows is ",
          predicted.num_rows(), ", but must be ", truth.num_rows(), " as in the truth");
}

std::int64_t count_common(std::span<const LabelId> a, std::span<const LabelId> b) {
  std::int64_t common = 0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    common += a[i] == b[j];
    const bool advance_a = a[i] <= b[j];
    const bool advance_b = b[j] <= a[i];
    i += advance_a;
    j += advance_b;
  }
  return common;
}

void add_hierarchical(const LabelSets& truth, const LabelSets& predicted,
                      const LabelGraph& hierarchy, Metrics& metrics) {
  SetCloser closer(hierarchy);
  std::int64_t hits = 0, in_truth = 0, in_prediction = 0;
  std::vector<NodeId> y, p;
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    closer.close(truth[i], y);
    closer.close(predicted[i], p);
    hits += count_common(y, p);
    in_truth += std::ssize(y);
    in_prediction += std::ssize(p);
  }
  metrics.hierarchical_precision = ratio(hits, in_prediction);
  metrics.hierarchical_recall = ratio(hits, in_truth);
  metrics.hierarchical_f1 = f1_of(hits, in_truth, in_prediction);
}

}  // namespace

double LabelScore::precision() const { return ratio(true_positives, predicted); }
double LabelScore::recall() const { return ratio(true_positives, support); }
double LabelScore::f1() const { return f1_of(true_positives, support, predicted); }

std::array<std::pair<std::string_view, double>, 9> named_values(const Metrics& m) {
  return {{{"accuracy", m.accuracy},
           {"jaccard", m.jaccard},
           {"instance_f1", m.instance_f1},
           {"micro_f1", m.micro_f1},
           {"macro_f1", m.macro_f1},
           {"hierarchical_precision", m.hierarchical_precision},
           {"hierarchical_recall", m.hierarchical_recall},
           {"hierarchical_f1", m.hierarchical_f1},
           {"hamming_loss", m.hamming_loss}}};
}

std::vector<LabelScore> label_scores(const LabelSets& truth, const LabelSets& predicted,
                                     const std::vector<bool>& in_training) {
  require_same_rows(truth, predicted);
  std::vector<LabelScore> all(in_training.size());
  std::vector<bool> counts = in_training;
  const auto score_of = [&](LabelId label) -> LabelScore& {
    if (label >= all.size()) {
      all.resize(label + std::size_t{1});
      counts.resize(all.size(), false);
    }
    return all[label];
  };
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    const auto y = truth[i], p = predicted[i];
    for (const LabelId label : y) {
      LabelScore& score = score_of(label);
      ++score.support;
      score.true_positives += std::binary_search(p.begin(), p.end(), label);
      counts[label] = true;
    }
    for (const LabelId label : p) ++score_of(label).predicted;
  }
  std::vector<LabelScore> scores;
  for (std::size_t label = 0; label < all.size(); ++label) {
    if (!counts[label]) continue;
    scores.push_back(all[label]);
    scores.back().label = static_cast<LabelId>(label);
  }
  return scores;
}

Metrics compute_metrics(const LabelSets& truth, const LabelSets& predicted,
                        const LabelGraph& hierarchy, const std::vector<bool>& in_training) {
  require_same_rows(truth, predicted);
  require(truth.num_rows() > 0, "metrics: number of rows is 0, but must be > 0");
  Metrics metrics;
  metrics.examples = static_cast<std::int64_t>(truth.num_rows());
  const auto rows = static_cast<double>(truth.num_rows());
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    const auto y = truth[i], p = predicted[i];
    const std::int64_t common = count_common(y, p);
    const std::int64_t sizes = std::ssize(y) + std::ssize(p);
    metrics.accuracy += 2 * common == sizes;
    metrics.jaccard += sizes == 0 ? 1.0 : ratio(common, sizes - common);
    metrics.instance_f1 += sizes == 0 ? 1.0 : ratio(2 * common, sizes);
  }
  metrics.accuracy /= rows;
  metrics.jaccard /= rows;
  metrics.instance_f1 /= rows;

  const std::vector<LabelScore> scores = label_scores(truth, predicted, in_training);
  std::int64_t hits = 0, in_truth = 0, in_prediction = 0;
  for (const LabelScore& score : scores) {
    hits += score.true_positives;
    in_truth += score.support;
    in_prediction += score.predicted;
    metrics.macro_f1 += score.f1();
  }
  if (!scores.empty()) {
    metrics.macro_f1 /= static_cast<double>(scores.size());
    const std::int64_t wrong = in_truth + in_prediction - 2 * hits;
    metrics.hamming_loss = static_cast<double>(wrong) / (rows * static_cast<double>(scores.size()));
  }
  metrics.micro_f1 = f1_of(hits, in_truth, in_prediction);
  add_hierarchical(truth, predicted, hierarchy, metrics);
  return metrics;
}

}  // namespace margrove
