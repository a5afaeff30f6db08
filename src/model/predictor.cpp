#include "model/predictor.hpp"

#include <algorithm>
#include <cmath>

#include "base/keep_first.hpp"

namespace margrove {

std::size_t RowPredictor::rows_per_block() const {
  constexpr std::size_t kScoresPerBlock = 1 << 16;
  return std::clamp<std::size_t>(kScoresPerBlock / std::max<std::size_t>(num_labels(), 1), 1, 256);
}

RankedLabels RowPredictor::top(const CsrView& X, std::size_t k, Executor& executor) const {
  struct Ranked {
    LabelId label;
    float score;
  };
  std::vector<std::vector<Ranked>> best(X.num_rows());
  std::vector<std::vector<float>> scratch(static_cast<std::size_t>(executor.size()));
  executor.for_ranges(X.num_rows(), rows_per_block(),
                      [&](std::size_t begin, std::size_t end, int worker) {
                        auto& block = scratch[static_cast<std::size_t>(worker)];
                        block.resize((end - begin) * num_labels());
                        ranking_scores(X, begin, end, block);
                        for (std::size_t i = begin; i < end; ++i) {
                          auto& ranked = best[i];
                          for (LabelId l = 0; l < num_labels(); ++l) {
                            const float score = block[(i - begin) * num_labels() + l];
                            if (std::isfinite(score)) ranked.push_back({l, score});
                          }
                          keep_first(ranked, k, [](const Ranked& a, const Ranked& b) {
                            return a.score != b.score ? a.score > b.score : a.label < b.label;
                          });
                          ranked.shrink_to_fit();
                        }
                      });
  RankedLabels all;
  for (const auto& ranked : best) {
    for (const auto& [label, score] : ranked) {
      all.labels.push_back(label);
      all.scores.push_back(score);
    }
    all.pointers.push_back(all.labels.size());
  }
  return all;
}

Explanation RowPredictor::explain(const SparseRow&, LabelId, std::size_t) const {
  throw InvalidInput(concat("explain: the model is of kind ", kind(),
                            ", whose scores are not sums over features"));
}

}  // namespace margrove
