#include "methods/held_out_scores.hpp"

#include <cmath>
#include <limits>
#include <numeric>

namespace margrove::detail {

Overlap counts_of(const LabelSets& truth, std::span<const double> weights, Part part) {
  Overlap counts;
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    if (!is_in(i, part)) continue;
    counts.wanted += weight_of(weights, i) * static_cast<double>(truth[i].size());
  }
  return counts;
}

Cut best_cut(std::vector<ScoredDecision>& entries, Overlap counts) {
  std::sort(entries.begin(), entries.end(),
            [](const ScoredDecision& a, const ScoredDecision& b) { return a.score > b.score; });
  // The threshold starts above every score and goes down past one group of equal scores at a time.
  Cut best{entries.empty() ? 0.0F : entries.front().score, counts.f1()};
  for (std::size_t k = 0; k < entries.size();) {
    const float score = entries[k].score;
    for (; k < entries.size() && entries[k].score == score; ++k) choose(counts, entries[k]);
    if (counts.f1() <= best.f1) continue;
    const float next = k < entries.size()
                           ? entries[k].score
                           : std::nextafter(score, -std::numeric_limits<float>::max());
    best = {std::midpoint(next, score), counts.f1()};
    if (!(score > best.threshold)) best.threshold = next;  // the midpoint was rounded up
  }
  return best;
}

}  // namespace margrove::detail
