#include "margrove/metrics.hpp"

#include <algorithm>
#include <utility>

#include "eval/named_metrics.hpp"
#include "eval/set_metrics.hpp"
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

const NamedValue& value_named(std::span<const NamedValue> values, std::string_view name,
                              std::string known) {
  const auto found = std::ranges::find(values, name, &NamedValue::name);
  if (found != values.end()) return *found;
  for (const NamedValue& each : values) known += concat(known.empty() ? "" : ", ", each.name);
  throw InvalidOption(concat("metric is '", name, "', but must be one of ", known));
}

namespace {

/// The labels in the sets that are at least `begin`, ascending.
std::vector<LabelId> labels_from(std::size_t begin, std::initializer_list<const LabelSets*> sets) {
  std::vector<LabelId> labels;
  for (const LabelSets* each : sets) {
    for (std::size_t i = 0; i < each->num_rows(); ++i) {
      for (const LabelId label : (*each)[i]) {
        if (label >= begin) labels.push_back(label);
      }
    }
  }
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  return labels;
}

}  // namespace

std::vector<LabelScore> label_scores(const LabelSets& truth, const LabelSets& predicted,
                                     const std::vector<bool>& in_training) {
  require_same_rows(truth, predicted);
  // Of labels beyond those in training, whose numbers may be any: sizes do not go by the largest.
  const std::size_t num_known = in_training.size();
  const std::vector<LabelId> others = labels_from(num_known, {&truth, &predicted});
  const auto place_of = [&](LabelId label) {
    if (label < num_known) return std::size_t{label};
    const auto at = std::lower_bound(others.begin(), others.end(), label);
    return num_known + static_cast<std::size_t>(at - others.begin());
  };
  std::vector<LabelScore> all(num_known + others.size());
  std::vector<bool> counts = in_training;
  counts.resize(all.size(), false);
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    const auto y = truth[i], p = predicted[i];
    for (const LabelId label : y) {
      const std::size_t place = place_of(label);
      ++all[place].support;
      all[place].true_positives += std::binary_search(p.begin(), p.end(), label);
      counts[place] = true;
    }
    for (const LabelId label : p) ++all[place_of(label)].predicted;
  }
  std::vector<LabelScore> scores;
  for (std::size_t place = 0; place < all.size(); ++place) {
    if (!counts[place]) continue;
    scores.push_back(all[place]);
    scores.back().label =
        place < num_known ? static_cast<LabelId>(place) : others[place - num_known];
  }
  return scores;
}

Metrics compute_metrics(const LabelSets& truth, const LabelSets& predicted,
                        const LabelGraph& hierarchy, const std::vector<bool>& in_training) {
  require_same_rows(truth, predicted);
  require(truth.num_rows() > 0, "metrics: number of rows is 0, but must be > 0");
  Metrics metrics;
  metrics.examples = static_cast<std::int64_t>(truth.num_rows());
  const auto of_labels = label_ratios(truth, predicted, in_training);
  metrics.accuracy = of_labels[0].value();
  metrics.jaccard = of_labels[1].value();
  metrics.instance_f1 = of_labels[2].value();
  metrics.micro_f1 = of_labels[3].value();
  metrics.hamming_loss = of_labels[4].value();
  metrics.macro_f1 = mean_f1(label_scores(truth, predicted, in_training));
  const auto of_nodes =
      closed_ratios(closed_sets(hierarchy, truth), closed_sets(hierarchy, predicted));
  metrics.hierarchical_precision = of_nodes[0].value();
  metrics.hierarchical_recall = of_nodes[1].value();
  metrics.hierarchical_f1 = of_nodes[2].value();
  return metrics;
}

}  // namespace margrove
