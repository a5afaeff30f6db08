#pragma once
// Scores of training rows by models that were not trained on them, and the threshold with the best
// F1 on them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "margrove/dataset.hpp"
#include "margrove/results.hpp"
#include "model/answer_metrics.hpp"

namespace margrove {

/// For each row its best labels with their scores, its true labels and its weight.
struct HeldOutScores {
  RankedLabels ranked;
  LabelSets truth;
  std::vector<double> weights = {};  // >= 0; empty: all 1
  std::uint32_t num_labels = 0;
  bool at_least_one = false;  // whether every training row has a label
};

namespace detail {

/// The score of a label for a row, and whether the row, of this weight, has the label.
struct ScoredDecision {
  float score;
  bool correct;
  double weight;
};

inline void choose(Overlap& counts, const ScoredDecision& decision) {
  counts.answered += decision.weight;
  counts.common += decision.correct ? decision.weight : 0.0;
}

inline bool contains(std::span<const LabelId> set, LabelId label) {
  return std::binary_search(set.begin(), set.end(), label);
}

inline std::span<const LabelId> ranked_labels(const RankedLabels& ranked, std::size_t row) {
  return std::span(ranked.labels)
      .subspan(ranked.pointers[row], ranked.pointers[row + 1] - ranked.pointers[row]);
}

inline std::span<const float> ranked_scores(const RankedLabels& ranked, std::size_t row) {
  return std::span(ranked.scores)
      .subspan(ranked.pointers[row], ranked.pointers[row + 1] - ranked.pointers[row]);
}

/// Halves of the rows, for decisions that are tuned on one and measured on the other.
enum class Part { all, even, odd };
inline bool is_in(std::size_t row, Part part) {
  return part == Part::all || (row % 2 == 0) == (part == Part::even);
}

/// Calls use(label, decision, is_best) for each score of the part's rows, the rows' best ones
/// first.
template <class Use>
void for_each_decision(const HeldOutScores& scores, Part part, const Use& use) {
  for (std::size_t i = 0; i < scores.truth.num_rows(); ++i) {
    if (!is_in(i, part)) continue;
    const auto labels = ranked_labels(scores.ranked, i);
    const auto values = ranked_scores(scores.ranked, i);
    const double weight = weight_of(scores.weights, i);
    for (std::size_t k = 0; k < labels.size(); ++k) {
      const bool correct = contains(scores.truth[i], labels[k]);
      use(labels[k], ScoredDecision{values[k], correct, weight}, k == 0);
    }
  }
}

/// The counts before any label is chosen.
Overlap counts_of(const LabelSets& truth, std::span<const double> weights, Part part = Part::all);

struct Cut {
  float threshold = 0;
  double f1 = 0;
};

/// The threshold with the best F1 if the entries above it are added to `counts`; if several are
/// best, the highest. Sorts `entries`.
Cut best_cut(std::vector<ScoredDecision>& entries, Overlap counts);

}  // namespace detail
}  // namespace margrove
