#include "eval/set_metrics.hpp"

#include <algorithm>

#include "eval/tree_distance.hpp"
#include "hierarchy/closed_sets.hpp"
#include "margrove/errors.hpp"
#include "margrove/metrics.hpp"

namespace margrove {
namespace {

double shared_part(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 1.0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Counts the nodes of one row by level.
class LevelsOfRow {
 public:
  explicit LevelsOfRow(const LabelGraph& hierarchy) : level_(hierarchy) {}

  /// Replaces `levels`; level k + 1 is entry k.
  void count(std::span<const NodeId> truth, std::span<const NodeId> predicted,
             std::vector<LevelScore>& levels) const {
    levels.clear();
    for (const NodeId n : truth) {
      LevelScore& level = at(n, levels);
      ++level.support;
      level.true_positives += std::ranges::binary_search(predicted, n);
    }
    for (const NodeId n : predicted) ++at(n, levels).predicted;
    for (LevelScore& level : levels) {
      level.rows = level.support > 0;
      level.right_rows = level.support > 0 && level.support == level.true_positives &&
                         level.predicted == level.true_positives;
    }
  }

 private:
  LevelScore& at(NodeId n, std::vector<LevelScore>& levels) const {
    if (levels.size() < level_(n)) levels.resize(level_(n));
    return levels[level_(n) - 1];
  }
  Levels level_;
};

void append_level_ratios(const LabelSets& truth, const LabelSets& predicted,
                         const LabelGraph& hierarchy, std::vector<RowRatio>& ratios) {
  const LevelsOfRow of_row(hierarchy);
  const std::size_t first = ratios.size();
  std::vector<LevelScore> levels;
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    of_row.count(truth[i], predicted[i], levels);
    for (std::size_t k = 0; k < levels.size(); ++k) {
      if (levels[k].rows == 0) continue;  // only the prediction has nodes at this level
      while (ratios.size() <= first + k) {
        const std::vector<double> zeros(truth.num_rows(), 0.0);
        ratios.push_back({concat("accuracy_level_", ratios.size() - first + 1), zeros, zeros});
      }
      ratios[first + k].part[i] = static_cast<double>(levels[k].right_rows);
      ratios[first + k].whole[i] = 1;
    }
  }
}

}  // namespace

Levels::Levels(const LabelGraph& hierarchy)
    : hierarchy_(hierarchy), first_(uncounted_root(hierarchy) ? 0 : 1) {}

std::vector<RowRatio> label_ratios(const LabelSets& truth, const LabelSets& predicted,
                                   const std::vector<bool>& in_training) {
  RowRatio accuracy{"accuracy", {}}, jaccard{"jaccard", {}}, instance{"instance_f1", {}},
      micro{"micro_f1", {}}, hamming{"hamming_loss", {}};
  std::vector<bool> counts = in_training;
  const auto scores = label_scores(truth, predicted, in_training);
  for (const LabelScore& score : scores) {
    if (score.label >= counts.size()) counts.resize(score.label + std::size_t{1}, false);
    counts[score.label] = true;
  }
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    const auto y = truth[i], p = predicted[i];
    const std::int64_t common = count_common(y, p);
    const std::int64_t sizes = std::ssize(y) + std::ssize(p);
    accuracy.part.push_back(2 * common == sizes ? 1 : 0);
    jaccard.part.push_back(shared_part(common, sizes - common));
    instance.part.push_back(shared_part(2 * common, sizes));
    const std::int64_t counted = std::ssize(y) + std::ranges::count_if(p, [&](LabelId label) {
                                   return label < counts.size() && counts[label];
                                 });
    micro.part.push_back(2.0 * static_cast<double>(common));
    micro.whole.push_back(static_cast<double>(counted));
    hamming.part.push_back(static_cast<double>(counted - 2 * common));
    hamming.whole.push_back(static_cast<double>(scores.size()));
  }
  return {std::move(accuracy), std::move(jaccard), std::move(instance), std::move(micro),
          std::move(hamming)};
}

std::vector<RowRatio> closed_ratios(const LabelSets& closed_truth,
                                    const LabelSets& closed_predicted) {
  RowRatio precision{"hierarchical_precision", {}}, recall{"hierarchical_recall", {}},
      f1{"hierarchical_f1", {}};
  for (std::size_t i = 0; i < closed_truth.num_rows(); ++i) {
    const auto y = closed_truth[i], p = closed_predicted[i];
    const auto common = static_cast<double>(count_common(y, p));
    precision.part.push_back(common);
    precision.whole.push_back(static_cast<double>(p.size()));
    recall.part.push_back(common);
    recall.whole.push_back(static_cast<double>(y.size()));
    f1.part.push_back(2 * common);
    f1.whole.push_back(static_cast<double>(y.size() + p.size()));
  }
  return {std::move(precision), std::move(recall), std::move(f1)};
}

std::vector<RowRatio> hierarchy_ratios(const LabelSets& truth, const LabelSets& predicted,
                                       const LabelGraph& hierarchy) {
  const LabelSets closed_truth = closed_sets(hierarchy, truth);
  const LabelSets closed_predicted = closed_sets(hierarchy, predicted);
  RowRatio f1{"hierarchical_f1_instance", {}}, lca{"lca_f1", {}}, distance{"tree_distance", {}};
  const TreeDistance tree(hierarchy);
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    const auto y = closed_truth[i], p = closed_predicted[i];
    f1.part.push_back(shared_part(2 * count_common(y, p), std::ssize(y) + std::ssize(p)));
    const TreeDistance::Row row = tree.compare(truth[i], predicted[i]);
    lca.part.push_back(row.lca_f1);
    distance.part.push_back(row.distance);
  }
  std::vector<RowRatio> ratios{std::move(f1), std::move(lca), std::move(distance)};
  append_level_ratios(closed_truth, closed_predicted, hierarchy, ratios);
  return ratios;
}

std::vector<LevelScore> level_scores(const LabelSets& closed_truth,
                                     const LabelSets& closed_predicted,
                                     const LabelGraph& hierarchy) {
  const LevelsOfRow of_row(hierarchy);
  std::vector<LevelScore> all, levels;
  for (std::size_t i = 0; i < closed_truth.num_rows(); ++i) {
    of_row.count(closed_truth[i], closed_predicted[i], levels);
    if (all.size() < levels.size()) all.resize(levels.size());
    for (std::size_t k = 0; k < levels.size(); ++k) {
      all[k].support += levels[k].support;
      all[k].predicted += levels[k].predicted;
      all[k].true_positives += levels[k].true_positives;
      all[k].rows += levels[k].rows;
      all[k].right_rows += levels[k].right_rows;
    }
  }
  return all;
}

}  // namespace margrove
