#pragma once
// The thresholds on scores at which recall grows, and the average precision over them.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace margrove {

inline constexpr std::size_t kBelowAll = ~std::size_t{0};

/// The distinct scores of positive pairs, ascending, and the pairs of each. Average precision needs
/// no other thresholds, because recall changes only at these.
class ScoreThresholds {
 public:
  explicit ScoreThresholds(std::vector<double> positive_scores) {
    std::sort(positive_scores.begin(), positive_scores.end());
    for (const double score : positive_scores) {
      if (scores_.empty() || score != scores_.back()) {
        scores_.push_back(score);
        positives_.push_back(0);
      }
      ++positives_.back();
    }
    negatives_.assign(scores_.size(), 0);
  }

  std::size_t size() const { return scores_.size(); }
  /// The number of the highest threshold that a score reaches, or kBelowAll.
  std::size_t highest_reached(double score) const { return highest_reached(score, size()); }
  /// The same for a score that is below threshold `end`; fast if it is just below.
  std::size_t highest_reached(double score, std::size_t end) const {
    std::size_t begin = end;
    for (std::size_t step = 1; begin > 0 && scores_[begin - 1] > score; step *= 2) {
      end = begin;
      begin -= std::min(step, begin);
    }
    const auto first = scores_.begin();
    const auto found = std::upper_bound(first + static_cast<std::ptrdiff_t>(begin),
                                        first + static_cast<std::ptrdiff_t>(end), score);
    return static_cast<std::size_t>(found - first) - 1;
  }
  /// Counts a negative pair; from any thread.
  void add_negative(std::size_t threshold) {
    if (threshold == kBelowAll) return;
    std::atomic_ref(negatives_[threshold]).fetch_add(1, std::memory_order_relaxed);
  }
  std::int64_t num_positives() const {
    std::int64_t sum = 0;
    for (const std::int64_t count : positives_) sum += count;
    return sum;
  }
  double average_precision() const {
    const auto all = static_cast<double>(num_positives());
    double sum = 0, reached = 0, right = 0;
    for (std::size_t t = size(); t-- > 0;) {
      const auto gained = static_cast<double>(positives_[t]);
      right += gained;
      reached += gained + static_cast<double>(negatives_[t]);
      sum += gained / all * (right / reached);
    }
    return sum;
  }
  /// The derivatives of num_positives() * average_precision() with respect to the weight of a pair,
  /// by the highest threshold that it reaches. The pairs' derivatives add up to that product.
  struct Slopes {
    std::vector<double> of_positive, of_negative;
  };
  Slopes slopes() const {
    Slopes slopes{std::vector<double>(size()), std::vector<double>(size())};
    std::vector<double> reached(size());
    double pairs = 0, right = 0;
    for (std::size_t t = size(); t-- > 0;) {
      right += static_cast<double>(positives_[t]);
      pairs += static_cast<double>(positives_[t] + negatives_[t]);
      reached[t] = pairs;
      slopes.of_positive[t] = right / pairs;  // the precision, which a positive pair adds itself
    }
    double gained = 0, lost = 0;  // by a pair at the thresholds that it reaches
    for (std::size_t t = 0; t < size(); ++t) {
      const double precision = slopes.of_positive[t];
      const double share = static_cast<double>(positives_[t]) / reached[t];
      gained += share * (1 - precision);
      lost += share * precision;
      slopes.of_positive[t] += gained;
      slopes.of_negative[t] = -lost;
    }
    return slopes;
  }
  /// The highest score from which on answering yes has the best F1 of all pairs; 0 without pairs.
  double best_for_f1() const {
    const auto all = static_cast<double>(num_positives());
    double best = 0, best_score = 0, reached = 0, right = 0;
    for (std::size_t t = size(); t-- > 0;) {
      right += static_cast<double>(positives_[t]);
      reached += static_cast<double>(positives_[t] + negatives_[t]);
      const double f1 = 2 * right / (reached + all);
      if (f1 <= best) continue;
      best = f1;
      best_score = scores_[t];
    }
    return best_score;
  }

 private:
  std::vector<double> scores_;
  std::vector<std::int64_t> positives_, negatives_;
};

}  // namespace margrove
