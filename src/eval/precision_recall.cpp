#include "eval/precision_recall.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "margrove/errors.hpp"
#include "numerics/score_thresholds.hpp"

namespace margrove {
namespace {

/// The sums over rows for Fmax, stored as differences between consecutive thresholds.
class ProteinCentric {
 public:
  explicit ProteinCentric(std::size_t num_thresholds)
      : precision_(num_thresholds, 0), recall_(num_thresholds, 0), rows_(num_thresholds, 0) {}

  struct Change {
    std::size_t threshold;
    double precision, recall;
  };
  struct Reached {
    std::size_t threshold;
    bool is_true;
  };
  /// The changes of one row's precision and recall as the threshold decreases. `reached` is
  /// descending.
  static std::vector<Change> changes(std::span<const Reached> reached, std::size_t num_true) {
    std::vector<Change> changes;
    double right = 0, precision = 0;
    for (std::size_t k = 0; k < reached.size();) {
      const std::size_t threshold = reached[k].threshold;
      const double right_before = right;
      for (; k < reached.size() && reached[k].threshold == threshold; ++k) {
        right += reached[k].is_true ? 1 : 0;
      }
      const double now = right / static_cast<double>(k);
      const double recall =
          num_true == 0 ? 0.0 : (right - right_before) / static_cast<double>(num_true);
      changes.push_back({threshold, now - precision, recall});
      precision = now;
    }
    return changes;
  }
  void add(std::span<const Change> changes) {
    if (!changes.empty()) ++rows_[changes.front().threshold];
    for (const Change& change : changes) {
      precision_[change.threshold] += change.precision;
      recall_[change.threshold] += change.recall;
    }
  }
  struct Best {
    double f = 0;
    std::size_t threshold = kBelowAll;
    double precision = 0, recall = 0, rows = 0;  // rows: that reach the threshold
  };
  Best f_max(std::int64_t rows_with_truth) const {
    Best best;
    double precisions = 0, recalls = 0, rows = 0;
    for (std::size_t t = rows_.size(); t-- > 0;) {
      precisions += precision_[t];
      recalls += recall_[t];
      rows += static_cast<double>(rows_[t]);
      if (rows == 0) continue;
      const double p = precisions / rows, r = recalls / static_cast<double>(rows_with_truth);
      const double f = p + r > 0 ? 2 * p * r / (p + r) : 0.0;
      if (f > best.f) best = {f, t, p, r, rows};
    }
    return best;
  }

 private:
  std::vector<double> precision_, recall_;
  std::vector<std::int64_t> rows_;
};

class Measurement {
 public:
  Measurement(const ScoreRows& scores, const LabelSets& truth, const std::vector<bool>& counted,
              Executor& executor)
      : scores_(scores), truth_(truth), executor_(executor) {
    for (NodeId n = 0; n < counted.size(); ++n) {
      if (counted[n]) columns_.push_back(n);
    }
    for (std::size_t i = 0; i < truth.num_rows(); ++i) {
      std::vector<LabelId> kept;
      std::ranges::copy_if(truth[i], std::back_inserter(kept),
                           [&](LabelId l) { return counted[l]; });
      true_columns_.append(kept);
    }
  }

  PrecisionRecall run() {
    collect_positives();
    sweep();
    PrecisionRecall result;
    result.of_node.assign(scores_.num_columns, 0);
    result.support.assign(scores_.num_columns, 0);
    double num_nodes = 0, num_pairs = 0;
    for (const NodeId n : columns_) {
      const std::int64_t support = of_node_[n].num_positives();
      if (support == 0) continue;
      const double average = of_node_[n].average_precision();
      result.of_node[n] = average;
      result.support[n] = support;
      result.macro += average;
      result.weighted += average * static_cast<double>(support);
      num_nodes += 1;
      num_pairs += static_cast<double>(support);
    }
    if (num_nodes == 0) return result;
    result.macro /= num_nodes;
    result.weighted /= num_pairs;
    result.pooled = pooled_->average_precision();
    result.f_max = f_max_.f;
    return result;
  }

  /// Of a result of run() that is not without nodes.
  void add_influence(PrecisionRecall& result) {
    result.influence.resize(truth_.num_rows());
    const auto num_nodes =
        static_cast<double>(std::ranges::count_if(result.support, [](auto n) { return n > 0; }));
    if (num_nodes == 0) return;
    pooled_slopes_ = pooled_->slopes();
    for (const ScoreThresholds& node : of_node_) slopes_of_node_.push_back(node.slopes());
    const auto num_pairs = static_cast<double>(pooled_->num_positives());
    const auto num_rows = static_cast<double>(truth_.num_rows());
    for_rows(0, truth_.num_rows(), [&](std::size_t i, std::span<const double> scores) {
      PrecisionRecall::Influence influence = sum_of_slopes(scores, true_columns_[i], result);
      influence.pooled *= num_rows / num_pairs;
      influence.macro *= num_rows / num_nodes;
      influence.weighted *= num_rows / num_pairs;
      influence.f_max *= num_rows;
      result.influence[i] = influence;
    });
  }

 private:
  /// Calls use(i, scores of row i) for the rows of [first, last), several at once.
  template <class Use>
  void for_rows(std::size_t first, std::size_t last, const Use& use) {
    executor_.for_ranges(
        last - first, scores_.rows_per_block(), [&](std::size_t begin, std::size_t end, int) {
          std::vector<double> block((end - begin) * scores_.num_columns);
          scores_.compute(first + begin, first + end, block);
          for (std::size_t i = begin; i < end; ++i) {
            use(first + i, std::span<const double>(block).subspan((i - begin) * scores_.num_columns,
                                                                  scores_.num_columns));
          }
        });
  }

  /// Makes the thresholds from the scores of the true nodes.
  void collect_positives() {
    std::vector<std::vector<double>> of_row(truth_.num_rows());
    for_rows(0, truth_.num_rows(), [&](std::size_t i, std::span<const double> scores) {
      for (const LabelId n : true_columns_[i]) of_row[i].push_back(scores[n]);
    });
    std::vector<double> all;
    std::vector<std::vector<double>> of_node(scores_.num_columns);
    for (std::size_t i = 0; i < of_row.size(); ++i) {
      const auto nodes = true_columns_[i];
      for (std::size_t k = 0; k < nodes.size(); ++k) {
        all.push_back(of_row[i][k]);
        of_node[nodes[k]].push_back(of_row[i][k]);
      }
      rows_with_truth_ += nodes.empty() ? 0 : 1;
    }
    pooled_.emplace(std::move(all));
    for (std::vector<double>& scores : of_node) of_node_.emplace_back(std::move(scores));
  }

  /// Counts the negatives at each threshold, and gathers the rows' curves in their order.
  void sweep() {
    constexpr std::size_t kPairsOfThread = std::size_t{1} << 18;
    const std::size_t at_once = kPairsOfThread * static_cast<std::size_t>(executor_.size());
    const std::size_t step =
        std::max<std::size_t>(1, at_once / std::max<std::size_t>(scores_.num_columns, 1));
    ProteinCentric curves(pooled_->size());
    for (std::size_t begin = 0; begin < truth_.num_rows(); begin += step) {
      const std::size_t end = std::min(begin + step, truth_.num_rows());
      std::vector<std::vector<ProteinCentric::Change>> of_row(end - begin);
      for_rows(begin, end, [&](std::size_t i, std::span<const double> scores) {
        of_row[i - begin] = count_row(scores, true_columns_[i]);
      });
      for (const auto& changes : of_row) curves.add(changes);
    }
    f_max_ = curves.f_max(rows_with_truth_);
  }

  std::vector<ProteinCentric::Change> count_row(std::span<const double> scores,
                                                std::span<const LabelId> truth) {
    std::vector<Scored> ranked;
    auto next_true = truth.begin();
    for (const NodeId n : columns_) {
      const bool is_true = next_true != truth.end() && *next_true == n;
      next_true += is_true;
      ranked.push_back({scores[n], is_true});
      if (is_true || of_node_[n].size() == 0) continue;
      of_node_[n].add_negative(of_node_[n].highest_reached(scores[n]));
    }
    std::ranges::sort(ranked, std::greater<>{}, &Scored::score);
    std::vector<ProteinCentric::Reached> reached;
    std::size_t end = pooled_->size();
    for (const Scored& pair : ranked) {  // thresholds fall with the scores
      const std::size_t threshold = pooled_->highest_reached(pair.score, end);
      if (threshold == kBelowAll) break;
      if (!pair.is_true) pooled_->add_negative(threshold);
      reached.push_back({threshold, pair.is_true});
      end = threshold + 1;
    }
    return ProteinCentric::changes(reached, truth.size());
  }

  /// The influence of a row before it is divided by what all rows share.
  PrecisionRecall::Influence sum_of_slopes(std::span<const double> scores,
                                           std::span<const LabelId> truth,
                                           const PrecisionRecall& result) const {
    PrecisionRecall::Influence sum;
    double reached = 0, right = 0;  // of the threshold of f_max
    auto next_true = truth.begin();
    for (const NodeId n : columns_) {
      const bool is_true = next_true != truth.end() && *next_true == n;
      next_true += is_true;
      const std::size_t threshold = pooled_->highest_reached(scores[n]);
      sum.pooled += slope(pooled_slopes_, threshold, is_true) - (is_true ? result.pooled : 0.0);
      if (threshold != kBelowAll && threshold >= f_max_.threshold) {
        reached += 1;
        right += is_true ? 1 : 0;
      }
      if (result.support[n] == 0) continue;
      const double of_node =
          slope(slopes_of_node_[n], of_node_[n].highest_reached(scores[n]), is_true);
      sum.macro +=
          (of_node - (is_true ? result.of_node[n] : 0.0)) / static_cast<double>(result.support[n]);
      sum.weighted += of_node - (is_true ? result.weighted : 0.0);
    }
    sum.f_max = slope_of_f_max(reached, right, static_cast<double>(truth.size()));
    return sum;
  }

  static double slope(const ScoreThresholds::Slopes& slopes, std::size_t threshold, bool is_true) {
    if (threshold == kBelowAll) return 0;
    return is_true ? slopes.of_positive[threshold] : slopes.of_negative[threshold];
  }

  /// Of a row with `right` of `reached` nodes right and num_true true ones.
  double slope_of_f_max(double reached, double right, double num_true) const {
    const double p = f_max_.precision, r = f_max_.recall;
    if (f_max_.f == 0) return 0;
    const double of_precision = reached == 0 ? 0.0 : (right / reached - p) / f_max_.rows;
    const double of_recall =
        num_true == 0 ? 0.0 : (right / num_true - r) / static_cast<double>(rows_with_truth_);
    return 2 * (r * r * of_precision + p * p * of_recall) / ((p + r) * (p + r));
  }

  struct Scored {
    double score;
    bool is_true;
  };
  const ScoreRows& scores_;
  const LabelSets& truth_;
  Executor& executor_;
  std::vector<NodeId> columns_;  // that are counted
  LabelSets true_columns_;
  std::int64_t rows_with_truth_ = 0;
  std::optional<ScoreThresholds> pooled_;
  std::vector<ScoreThresholds> of_node_;
  ScoreThresholds::Slopes pooled_slopes_;
  std::vector<ScoreThresholds::Slopes> slopes_of_node_;
  ProteinCentric::Best f_max_;
};

}  // namespace

PrecisionRecall precision_recall(const ScoreRows& scores, const LabelSets& truth,
                                 const std::vector<bool>& counted, Executor& executor,
                                 bool with_influence) {
  require(truth.num_rows() == scores.num_rows, "precision_recall: number of rows with scores is ",
          scores.num_rows, ", but must be ", truth.num_rows(), " as in the truth");
  require(counted.size() == scores.num_columns, "precision_recall: there are ", counted.size(),
          " marks of counted columns, but must be ", scores.num_columns);
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    require(truth[i].empty() || truth[i].back() < scores.num_columns, "precision_recall: row ", i,
            " has label ", truth[i].empty() ? 0 : truth[i].back(), ", but there are only ",
            scores.num_columns, " columns");
  }
  Measurement measurement(scores, truth, counted, executor);
  PrecisionRecall result = measurement.run();
  if (with_influence) measurement.add_influence(result);
  return result;
}

}  // namespace margrove
