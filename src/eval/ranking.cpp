#include "eval/ranking.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/keep_first.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

/// The numerator and denominator of a metric on one row.
struct Parts {
  double part = 0, whole = 0;
};

class RowRanking {
 public:
  RowRanking(std::span<const std::size_t> ks, std::span<const double> inverse_propensity)
      : ks_(ks),
        inverse_propensity_(inverse_propensity),
        deepest_(ks.empty() ? 0 : *std::ranges::max_element(ks)) {}

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const std::size_t k : ks_) {
      for (const char* metric : {"precision", "recall", "f1", "ndcg"}) {
        names.push_back(concat(metric, "_at_", k));
      }
      if (!inverse_propensity_.empty()) names.push_back(concat("psp_at_", k));
    }
    names.emplace_back("r_precision");
    names.emplace_back("coverage_error");
    return names;
  }

  /// In the order of names(). `truth` is not empty.
  std::vector<Parts> measure(std::span<const double> scores, std::span<const LabelId> truth) const {
    const std::vector<LabelId> best = ranked(scores, std::max(deepest_, truth.size()));
    std::vector<bool> is_hit;
    for (const LabelId label : best) is_hit.push_back(std::ranges::binary_search(truth, label));
    const auto num_true = static_cast<double>(truth.size());
    std::vector<Parts> parts;
    for (const std::size_t k : ks_) {
      const double hits = hits_within(is_hit, k);
      parts.push_back({hits, static_cast<double>(k)});  // exact sums
      parts.push_back({hits / num_true, 1});
      parts.push_back({2 * hits / (static_cast<double>(k) + num_true), 1});
      parts.push_back({gain(is_hit, k) / gain(std::vector<bool>(truth.size(), true), k), 1});
      if (!inverse_propensity_.empty()) parts.push_back(propensity_scored(best, is_hit, truth, k));
    }
    parts.push_back({hits_within(is_hit, truth.size()) / num_true, 1});
    parts.push_back({coverage(scores, truth), 1});
    return parts;
  }

 private:
  static std::vector<LabelId> ranked(std::span<const double> scores, std::size_t count) {
    std::vector<LabelId> labels;
    for (LabelId l = 0; l < scores.size(); ++l) {
      if (scores[l] > -std::numeric_limits<double>::infinity()) labels.push_back(l);
    }
    keep_first(labels, count, [&](LabelId a, LabelId b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
    });
    return labels;
  }

  static double hits_within(const std::vector<bool>& is_hit, std::size_t k) {
    const auto end = is_hit.begin() + static_cast<std::ptrdiff_t>(std::min(k, is_hit.size()));
    return static_cast<double>(std::count(is_hit.begin(), end, true));
  }

  /// sum over the ranks r <= k of 1 / log2(1 + r) where there is a hit.
  static double gain(const std::vector<bool>& is_hit, std::size_t k) {
    double sum = 0;
    for (std::size_t r = 0; r < std::min(k, is_hit.size()); ++r) {
      if (is_hit[r]) sum += 1 / std::log2(static_cast<double>(r) + 2);
    }
    return sum;
  }

  /// sum of 1/p over the hits within k, and the largest that k labels of the row can reach.
  Parts propensity_scored(std::span<const LabelId> best, const std::vector<bool>& is_hit,
                          std::span<const LabelId> truth, std::size_t k) const {
    Parts parts;
    for (std::size_t r = 0; r < std::min(k, best.size()); ++r) {
      if (is_hit[r]) parts.part += inverse_propensity_[best[r]];
    }
    std::vector<double> possible;
    for (const LabelId label : truth) possible.push_back(inverse_propensity_[label]);
    keep_first(possible, k, std::greater<>{});
    parts.whole = std::accumulate(possible.begin(), possible.end(), 0.0);
    return parts;
  }

  /// How many labels must be taken, best first, to have all true ones.
  static double coverage(std::span<const double> scores, std::span<const LabelId> truth) {
    double least = std::numeric_limits<double>::infinity();
    for (const LabelId label : truth) {
      least = std::min(
          least, label < scores.size() ? scores[label] : -std::numeric_limits<double>::infinity());
    }
    return static_cast<double>(
        std::ranges::count_if(scores, [&](double score) { return score >= least; }));
  }

  std::span<const std::size_t> ks_;
  std::span<const double> inverse_propensity_;
  std::size_t deepest_;
};

}  // namespace

std::vector<double> inverse_propensities(std::span<const std::uint32_t> training_rows,
                                         std::size_t num_training_rows) {
  constexpr double kA = 0.55, kB = 1.5;
  require(num_training_rows >= 3, "propensities: number of training rows is ", num_training_rows,
          ", but must be at least 3");
  const double c = (std::log(static_cast<double>(num_training_rows)) - 1) * std::pow(kB + 1, kA);
  std::vector<double> inverse;
  for (const std::uint32_t n : training_rows) inverse.push_back(1 + c * std::pow(n + kB, -kA));
  return inverse;
}

std::vector<RowRatio> ranking_ratios(const ScoreRows& scores, const LabelSets& truth,
                                     std::span<const std::size_t> ks,
                                     std::span<const double> inverse_propensity,
                                     Executor& executor) {
  require(truth.num_rows() == scores.num_rows, "ranking: number of rows with scores is ",
          scores.num_rows, ", but must be ", truth.num_rows(), " as in the truth");
  for (const std::size_t k : ks) require(k > 0, "ranking: k is 0, but must be > 0");
  for (std::size_t i = 0; i < truth.num_rows() && !inverse_propensity.empty(); ++i) {
    require(truth[i].empty() || truth[i].back() < inverse_propensity.size(), "ranking: row ", i,
            " has label ", truth[i].empty() ? 0 : truth[i].back(), ", but there are only ",
            inverse_propensity.size(), " propensities");
  }
  const RowRanking ranking(ks, inverse_propensity);
  std::vector<RowRatio> ratios;
  const std::vector<double> zeros(truth.num_rows(), 0.0);
  for (std::string& name : ranking.names()) ratios.push_back({std::move(name), zeros, zeros});
  executor.for_ranges(
      scores.num_rows, scores.rows_per_block(), [&](std::size_t begin, std::size_t end, int) {
        std::vector<double> block((end - begin) * scores.num_columns);
        scores.compute(begin, end, block);
        for (std::size_t i = begin; i < end; ++i) {
          if (truth[i].empty()) continue;
          const auto row =
              std::span(block).subspan((i - begin) * scores.num_columns, scores.num_columns);
          const std::vector<Parts> parts = ranking.measure(row, truth[i]);
          for (std::size_t m = 0; m < parts.size(); ++m) {
            ratios[m].part[i] = parts[m].part;
            ratios[m].whole[i] = parts[m].whole;
          }
        }
      });
  return ratios;
}

}  // namespace margrove
