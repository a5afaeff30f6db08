#include "margrove/model/decision.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "margrove/base/random.hpp"

namespace margrove {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::vector<LabelId> chosen(const Decision& decision, std::vector<float> scores) {
  std::vector<LabelId> labels{99};
  decision.choose(scores, labels);
  return labels;
}

TEST(Decision, argmax_takes_the_first_of_equals_and_never_a_label_without_score) {
  EXPECT_THAT(chosen({}, {1, 3, 3}), ElementsAre(1));
  EXPECT_THAT(chosen({}, {kNever, -5}), ElementsAre(1));
  EXPECT_THAT(chosen({}, {kNever, kNever}), IsEmpty());
}

TEST(Decision, threshold_is_strict_and_may_be_one_for_all_or_one_a_label) {
  EXPECT_THAT(chosen({Decision::Kind::threshold, {0}, false}, {1, 0, 2}), ElementsAre(0, 2));
  EXPECT_THAT(chosen({Decision::Kind::threshold, {2, -1, 1}, false}, {1, 0, 2}), ElementsAre(1, 2));
  EXPECT_THAT(chosen({Decision::Kind::threshold, {5}, false}, {1, 0, 2}), IsEmpty());
  EXPECT_THAT(chosen({Decision::Kind::threshold, {5}, true}, {1, 2, 2}), ElementsAre(1));
}

/// Micro-F1 of one threshold, from the definition.
double micro_f1_at(float threshold, const RankedLabels& ranked, const LabelSets& truth,
                   bool at_least_one) {
  double hits = 0, chosen_count = 0;
  for (std::size_t i = 0; i < truth.num_rows(); ++i) {
    for (std::size_t k = ranked.pointers[i]; k < ranked.pointers[i + 1]; ++k) {
      if (!(ranked.scores[k] > threshold) && !(at_least_one && k == ranked.pointers[i])) continue;
      ++chosen_count;
      for (const LabelId label : truth[i]) hits += label == ranked.labels[k];
    }
  }
  const double both = chosen_count + static_cast<double>(truth.num_labels_total());
  return both > 0 ? 2 * hits / both : 0;
}

TEST(TuneThreshold, reaches_the_best_micro_f1_of_all_thresholds) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    RankedLabels ranked;
    LabelSets truth;
    std::vector<float> candidates{-1e9F};
    for (int row = 0; row < 6; ++row) {
      std::vector<float> scores;
      for (int l = 0; l < 4; ++l) scores.push_back(static_cast<float>(random.below(7)) - 3);
      std::vector<LabelId> order{0, 1, 2, 3};
      std::sort(order.begin(), order.end(), [&](LabelId a, LabelId b) {
        return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
      });
      for (const LabelId l : order) {
        ranked.labels.push_back(l);
        ranked.scores.push_back(scores[l]);
        candidates.push_back(scores[l]);
      }
      ranked.pointers.push_back(ranked.labels.size());
      std::vector<LabelId> set;
      for (LabelId l = 0; l < 4; ++l) {
        if (random.below(3) == 0) set.push_back(l);
      }
      truth.append(set);
    }
    for (const bool at_least_one : {false, true}) {
      double best = 0;
      for (const float t : candidates) {
        best = std::max(best, micro_f1_at(t, ranked, truth, at_least_one));
      }
      const TunedThreshold tuned = tune_threshold(ranked, truth, at_least_one);
      EXPECT_DOUBLE_EQ(tuned.micro_f1, best) << "seed " << seed;
      EXPECT_DOUBLE_EQ(micro_f1_at(tuned.threshold, ranked, truth, at_least_one), best)
          << "seed " << seed;
    }
  }
}

TEST(TuneThreshold, lies_between_the_scores_it_separates) {
  RankedLabels ranked{{0, 2}, {0, 1}, {2.0F, 1.0F}};
  LabelSets truth;
  truth.append(std::vector<LabelId>{0});
  EXPECT_EQ(tune_threshold(ranked, truth, false).threshold, 1.5F);
}

}  // namespace
}  // namespace margrove
