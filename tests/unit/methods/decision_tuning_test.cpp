#include "methods/decision_tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/out_of_time.hpp"
#include "base/random.hpp"
#include "methods/label_calibration.hpp"
#include "methods/shrunk_thresholds.hpp"
#include "model/linear_predictor.hpp"

namespace margrove {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

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

// The other rules ---------------------------------------------------------------------------------

/// Rows with all their labels ranked, label l of row i scoring scores[i][l].
HeldOutScores held_out(const std::vector<std::vector<float>>& scores,
                       const std::vector<std::vector<LabelId>>& truth) {
  HeldOutScores held;
  held.num_labels = static_cast<std::uint32_t>(scores.front().size());
  for (std::size_t i = 0; i < scores.size(); ++i) {
    std::vector<LabelId> order(held.num_labels);
    std::iota(order.begin(), order.end(), LabelId{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](LabelId a, LabelId b) { return scores[i][a] > scores[i][b]; });
    for (const LabelId l : order) {
      held.ranked.labels.push_back(l);
      held.ranked.scores.push_back(scores[i][l]);
    }
    held.ranked.pointers.push_back(held.ranked.labels.size());
    held.truth.append(truth[i]);
  }
  return held;
}

double micro_f1_of(const Decision& decision, const std::vector<std::vector<float>>& scores,
                   const std::vector<std::vector<LabelId>>& truth) {
  double hits = 0, both = 0;
  std::vector<LabelId> chosen;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    decision.choose({scores[i]}, chosen);
    both += static_cast<double>(chosen.size() + truth[i].size());
    for (const LabelId label : truth[i]) {
      hits += static_cast<double>(std::ranges::count(chosen, label));
    }
  }
  return both > 0 ? 2 * hits / both : 0;
}

/// The first n labels of row i are right, n drawn; scores are noisy around the right sets, shifted
/// by a number of the row's own that its scores betray.
struct Rows {
  std::vector<std::vector<float>> scores;
  std::vector<std::vector<LabelId>> truth;
};
Rows shifted_rows(std::size_t num_rows, double noise) {
  Random random(5);
  Rows rows;
  for (std::size_t i = 0; i < num_rows; ++i) {
    const auto size = static_cast<LabelId>(1 + random.below(3));
    const double shift = 2 * random.normal();
    std::vector<float> scores;
    std::vector<LabelId> set;
    for (LabelId l = 0; l < 5; ++l) {
      scores.push_back(
          static_cast<float>(shift + (l < size ? 1.0 : -1.0) + noise * random.normal()));
      if (l < size) set.push_back(l);
    }
    rows.scores.push_back(scores);
    rows.truth.push_back(set);
  }
  return rows;
}

TEST(TuneScut, gives_each_label_its_best_cut) {
  Rows rows;
  for (int i = 0; i < 40; ++i) {  // label 0 is there above 3, label 1 above -2, label 2 never
    const float x = static_cast<float>(i) / 4 - 5, y = static_cast<float>(i * 7 % 40) / 4 - 5;
    rows.scores.push_back({x, y, 0.5F});
    std::vector<LabelId> set;
    if (x > 3) set.push_back(0);
    if (y > -2) set.push_back(1);
    rows.truth.push_back(set);
  }
  const ThresholdDecision rule = tune_scut(held_out(rows.scores, rows.truth));
  EXPECT_THAT(rule.thresholds, ElementsAre(3.125F, -1.875F, 0.5F));
  EXPECT_EQ(micro_f1_of(rule, rows.scores, rows.truth), 1.0);
}

TEST(TuneScut, a_label_whose_best_cut_is_chance_is_chosen_above_its_highest_score_only) {
  // Label 0 can be told from its score. Labels 1 ... 6 are there in two rows each and their scores
  // are noise: cutting low enough to hit them is wrong in nearly all rows.
  Random random(3);
  Rows rows;
  for (std::size_t i = 0; i < 400; ++i) {
    std::vector<float> scores{i % 2 == 0 ? 1.0F : -1.0F};
    std::vector<LabelId> set;
    if (i % 2 == 0) set.push_back(0);
    for (LabelId l = 1; l < 7; ++l) {
      scores.push_back(static_cast<float>(random.normal()));
      if (i / 2 == 10 + l) set.push_back(l);
    }
    rows.scores.push_back(scores);
    rows.truth.push_back(set);
  }
  const ThresholdDecision rule = tune_scut(held_out(rows.scores, rows.truth));
  EXPECT_EQ(rule.thresholds[0], 0.0F);
  for (const auto& scores : rows.scores) {
    for (LabelId l = 1; l < 7; ++l) EXPECT_LE(scores[l], std::max(rule.thresholds[l], 4.0F));
  }
}

TEST(TuneRcut, takes_the_count_with_the_best_micro_f1) {
  const Rows rows = shifted_rows(60, 0.5);
  const RcutDecision rule = tune_rcut(held_out(rows.scores, rows.truth));
  double best = 0;
  for (std::uint32_t count = 1; count <= 5; ++count) {
    best = std::max(best, micro_f1_of(RcutDecision{count}, rows.scores, rows.truth));
  }
  EXPECT_EQ(micro_f1_of(rule, rows.scores, rows.truth), best);
}

TEST(TuneInstance, learns_thresholds_that_move_with_the_rows_scores) {
  const Rows rows = shifted_rows(300, 0.1);
  HeldOutScores scores = held_out(rows.scores, rows.truth);
  scores.at_least_one = true;
  const double of_instance = micro_f1_of(tune_instance(scores).decision, rows.scores, rows.truth);
  const double common = tune_threshold(scores.ranked, scores.truth, true).micro_f1;
  EXPECT_GT(of_instance, 0.97);
  EXPECT_LT(common, 0.85);
}

TEST(TuneInstance, rows_without_labels_are_learned_to_get_none) {
  Rows rows = shifted_rows(300, 0.1);
  for (std::size_t i = 0; i < rows.truth.size(); i += 4) {
    rows.truth[i].clear();
    rows.scores[i] = {-3, -3.1F, -3.2F, -3.3F, -3.4F};
  }
  const InstanceDecision rule = tune_instance(held_out(rows.scores, rows.truth)).decision;
  std::vector<LabelId> chosen;
  rule.choose({rows.scores[0]}, chosen);
  EXPECT_TRUE(chosen.empty());
}

TEST(TuneInstance, rows_with_all_labels_or_none_are_cut_far_from_their_scores) {
  // Scores of +-1 with a little noise. Scores of fitted rows differ from those of held-out ones, so
  // that a threshold just below two high scores would leave out labels.
  Random random(5);
  Rows rows;
  for (std::size_t i = 0; i < 40; ++i) {
    std::vector<LabelId> set;
    std::vector<float> scores;
    for (LabelId l = 0; l < 2; ++l) {
      const bool has = (i >> l) % 2 == 1;
      if (has) set.push_back(l);
      scores.push_back((has ? 1.0F : -1.0F) + 0.01F * static_cast<float>(random.normal()));
    }
    rows.truth.push_back(set);
    rows.scores.push_back(scores);
  }
  const InstanceDecision rule = tune_instance(held_out(rows.scores, rows.truth)).decision;
  std::vector<LabelId> chosen;
  const std::vector<float> all{0.9F, 0.8F}, none{-0.8F, -0.9F};
  rule.choose({all}, chosen);
  EXPECT_THAT(chosen, ElementsAre(0, 1));
  chosen.clear();
  rule.choose({none}, chosen);
  EXPECT_TRUE(chosen.empty());
}

TEST(TuneInstance, without_any_score_nothing_is_learned) {
  HeldOutScores scores;
  scores.ranked.pointers = {0, 0};
  scores.truth.append({});
  scores.num_labels = 2;
  EXPECT_TRUE(tune_instance(scores).decision.coefficients.empty());
}

// Labels with scales of their own: label l is there, up to noise, above the score 2 - l, and rare
// labels have the scores of all.
Rows labels_of_other_scales(std::size_t num_rows, std::uint64_t seed) {
  Random random(seed);
  Rows rows;
  for (std::size_t i = 0; i < num_rows; ++i) {
    std::vector<float> scores;
    std::vector<LabelId> set;
    for (LabelId l = 0; l < 5; ++l) {
      const double score = 2 * random.normal();
      if (score + 0.5 * random.normal() > 2.0 - l) set.push_back(l);
      scores.push_back(static_cast<float>(score));
    }
    rows.scores.push_back(scores);
    rows.truth.push_back(set);
  }
  return rows;
}

/// tune_shrunk() from its definition.
class ShrunkByDefinition {
 public:
  ShrunkByDefinition(const Rows& rows, bool at_least_one) : rows_(rows), any_(at_least_one) {
    const HeldOutScores scores = held_out(rows.scores, rows.truth);
    centre_ = tune_threshold(scores.ranked, scores.truth, any_).threshold;
    double sum = 0, squares = 0, count = 0;
    for (const float score : scores.ranked.scores) {
      sum += score;
      squares += static_cast<double>(score) * score;
      ++count;
    }
    deviation_ = std::sqrt(squares / count - sum * sum / count / count);
  }

  /// Decisions by label; of rows first, first + step, ...
  std::vector<std::vector<detail::ScoredDecision>> part(std::size_t first, std::size_t step) const {
    std::vector<std::vector<detail::ScoredDecision>> labels(rows_.scores.front().size());
    for (std::size_t i = first; i < rows_.scores.size(); i += step) {
      for (LabelId l = 0; l < labels.size(); ++l) {
        const double z = (rows_.scores[i][l] - centre_) / deviation_;
        labels[l].push_back(
            {static_cast<float>(z), std::ranges::count(rows_.truth[i], l) > 0, 1.0});
      }
    }
    return labels;
  }
  static detail::LabelCalibration fit(
      const std::vector<std::vector<detail::ScoredDecision>>& labels, double strength) {
    return detail::calibrate({labels.begin(), labels.end()}, strength, {});
  }
  double best_strength() const {
    double best = 0, least = 1e300;
    const auto even = part(0, 2), odd = part(1, 2);
    for (const double strength : {100.0, 10.0, 1.0, 0.1}) {
      const double loss = detail::log_loss({odd.begin(), odd.end()}, fit(even, 0.5 * strength)) +
                          detail::log_loss({even.begin(), even.end()}, fit(odd, 0.5 * strength));
      if (loss < least) best = strength;
      least = std::min(least, loss);
    }
    return best;
  }
  /// The best micro-F1 over all log-odds that some decision has.
  double best_f1(const detail::LabelCalibration& calibration) const {
    double best = -1;
    const auto labels = part(0, 1);
    for (LabelId l = 0; l < labels.size(); ++l) {
      for (const detail::ScoredDecision& each : labels[l]) {
        const double cut = calibration.labels[l].at(each.score) - 1e-4;
        ThresholdDecision rule{{}, any_};
        for (const detail::LogOdds& odds : calibration.labels) {
          const double z = (cut - odds.intercept) / std::max(odds.slope, 1e-3);
          rule.thresholds.push_back(static_cast<float>(centre_ + deviation_ * z));
        }
        best = std::max(best, micro_f1_of(rule, rows_.scores, rows_.truth));
      }
    }
    return best;
  }

 private:
  const Rows& rows_;
  bool any_;
  double centre_ = 0, deviation_ = 1;
};

TEST(TuneShrunk, is_what_its_definition_says) {
  for (const std::uint64_t seed : {1, 2, 3, 4}) {
    for (const bool at_least_one : {false, true}) {
      const Rows rows = labels_of_other_scales(60, seed);
      HeldOutScores scores = held_out(rows.scores, rows.truth);
      scores.at_least_one = at_least_one;
      const ThresholdDecision tuned = tune_shrunk(scores);
      const ShrunkByDefinition definition(rows, at_least_one);
      const double strength = definition.best_strength();
      const double f1 = definition.best_f1(definition.fit(definition.part(0, 1), strength));
      EXPECT_NEAR(micro_f1_of(tuned, rows.scores, rows.truth), f1, 1e-3) << "seed " << seed;
    }
  }
}

TEST(TuneShrunk, labels_of_other_scales_get_thresholds_of_their_own) {
  const Rows rows = labels_of_other_scales(400, 7);
  const HeldOutScores scores = held_out(rows.scores, rows.truth);
  const ThresholdDecision tuned = tune_shrunk(scores);
  for (LabelId l = 0; l < 5; ++l) EXPECT_NEAR(tuned.thresholds[l], 2.0 - l, 0.5) << l;
  const double common = tune_threshold(scores.ranked, scores.truth, false).micro_f1;
  EXPECT_GT(micro_f1_of(tuned, rows.scores, rows.truth), common + 0.05);
}

TEST(TuneShrunk, a_label_of_three_rows_has_nearly_the_common_threshold) {
  // Labels 0 ... 3 are there above 0; label 4 as well, but in rows 0 ... 9 only, by chance below
  // it.
  Random random(8);
  Rows rows;
  for (std::size_t i = 0; i < 400; ++i) {
    std::vector<float> scores;
    std::vector<LabelId> set;
    for (LabelId l = 0; l < 4; ++l) {
      scores.push_back(static_cast<float>(2 * random.normal()));
      if (scores.back() + 0.3 * random.normal() > 0) set.push_back(l);
    }
    scores.push_back(i < 10 ? (i < 3 ? -1.0F : -2.0F) : -std::numeric_limits<float>::infinity());
    if (i < 3) set.push_back(4);
    rows.scores.push_back(scores);
    rows.truth.push_back(set);
  }
  HeldOutScores scores = held_out(rows.scores, rows.truth);
  std::size_t kept = 0;  // scores of -infinity are not ranked
  for (std::size_t i = 0, p = 0; i < 400; ++i) {
    for (; p < 5 * (i + 1); ++p) {
      if (!std::isfinite(scores.ranked.scores[p])) continue;
      scores.ranked.labels[kept] = scores.ranked.labels[p];
      scores.ranked.scores[kept++] = scores.ranked.scores[p];
    }
    scores.ranked.pointers[i + 1] = kept;
  }
  scores.ranked.labels.resize(kept);
  scores.ranked.scores.resize(kept);
  const ThresholdDecision rule = tune_shrunk(scores);
  EXPECT_EQ(tune_scut(scores).thresholds[4], -1.5F);
  EXPECT_GT(rule.thresholds[4], -1.3F);
}

TEST(TuneShrunk, a_label_whose_scores_say_the_opposite_has_a_finite_threshold) {
  Rows rows = labels_of_other_scales(100, 9);
  for (std::size_t i = 0; i < 100; ++i) {
    std::erase(rows.truth[i], LabelId{2});
    if (rows.scores[i][2] < 0) {
      rows.truth[i].push_back(2);
      std::ranges::sort(rows.truth[i]);
    }
  }
  const ThresholdDecision tuned = tune_shrunk(held_out(rows.scores, rows.truth));
  for (const float threshold : tuned.thresholds) EXPECT_TRUE(std::isfinite(threshold));
}

TEST(TuneShrunk, equal_scores_and_no_scores_have_finite_thresholds) {
  HeldOutScores scores;
  scores.ranked.pointers = {0, 0, 0};
  scores.truth.append({});
  scores.truth.append(std::vector<LabelId>{1});
  scores.num_labels = 2;
  EXPECT_EQ(tune_shrunk(scores).thresholds.size(), 2U);
  const ThresholdDecision equal =
      tune_shrunk(held_out({{1, 1}, {1, 1}, {1, 1}}, {{0}, {}, {0, 1}}));
  for (const float threshold : equal.thresholds) EXPECT_TRUE(std::isfinite(threshold));
}

TEST(TuneShrunk, a_row_of_weight_two_counts_as_two) {
  const Rows rows = labels_of_other_scales(60, 10);
  HeldOutScores weighted = held_out(rows.scores, rows.truth);
  Rows repeated = rows;
  for (std::size_t i = 0; i < 60; ++i) {  // even and odd rows in turn, which stay so
    weighted.weights.push_back(i % 3 ? 1 : 2);
    if (i % 3) continue;
    repeated.scores.push_back(rows.scores[i]);
    repeated.truth.push_back(rows.truth[i]);
  }
  const ThresholdDecision one = tune_shrunk(weighted);
  const ThresholdDecision other = tune_shrunk(held_out(repeated.scores, repeated.truth));
  for (LabelId l = 0; l < 5; ++l) {
    EXPECT_NEAR(one.thresholds[l], other.thresholds[l], 1e-3);
  }
}

TEST(TuneAutomatic, takes_the_better_rule_on_held_out_rows) {
  const Rows moving = shifted_rows(300, 0.1);
  const Decision of_moving = tune_automatic(held_out(moving.scores, moving.truth));
  EXPECT_TRUE(std::holds_alternative<InstanceDecision>(of_moving.rule));

  // One threshold is right, but the best thresholds of rows depend on chance: each row has a few
  // scores on either side of 0.
  Random random(4);
  Rows common;
  for (int i = 0; i < 300; ++i) {
    std::vector<float> scores;
    std::vector<LabelId> set;
    for (LabelId l = 0; l < 12; ++l) {
      scores.push_back(static_cast<float>(random.normal()));
      if (scores.back() > 0 || random.below(5) == 0) set.push_back(l);
    }
    common.scores.push_back(scores);
    common.truth.push_back(set);
  }
  const HeldOutScores scores = held_out(common.scores, common.truth);
  const Decision of_common = tune_automatic(scores);
  const auto* rule = std::get_if<ThresholdDecision>(&of_common.rule);
  ASSERT_NE(rule, nullptr);
  const TunedThreshold best = tune_threshold(scores.ranked, scores.truth, false);
  EXPECT_THAT(rule->thresholds, ElementsAre(best.threshold));
  EXPECT_LT(tune_instance(scores).micro_f1, best.micro_f1);
}

// The table ---------------------------------------------------------------------------------------

/// Scores a row by its features; forgets what it was trained on.
class Echo final : public RowPredictor {
 public:
  std::string_view kind() const override { return "echo"; }
  void save(TensorMap&) const override {}
  std::vector<Fact> facts() const override { return {}; }
  std::uint32_t num_features() const override { return 5; }
  std::uint32_t num_labels() const override { return 5; }
  void scores(const CsrView& X, std::size_t begin, std::size_t end,
              std::span<float> scores) const override {
    for (std::size_t i = begin; i < end; ++i) {
      std::ranges::copy(X.row(i).values,
                        scores.begin() + static_cast<std::ptrdiff_t>(5 * (i - begin)));
    }
  }
  LabelSets predict(const CsrView&, Executor&) const override { return {}; }
};

struct Problem {
  CsrMatrix X{5};
  LabelSets sets;
  std::vector<double> weights;  // of the rows; empty: all 1
  std::vector<LabelId> label_of_node{0, 1, 2, 3, 4};

  explicit Problem(const Rows& rows) {
    for (std::size_t i = 0; i < rows.scores.size(); ++i) {
      X.append_row(std::vector<FeatureId>{0, 1, 2, 3, 4}, rows.scores[i]);
      sets.append(rows.truth[i]);
    }
  }
  Decision decide(const std::string& name, int folds = 3,
                  std::vector<std::size_t>* sizes = nullptr) {
    RunControl control;
    return decide(name, folds, control, [&](const auto& rows, RunControl&) {
      if (sizes != nullptr) sizes->push_back(rows.size());
    });
  }
  template <class Fitted>
  Decision decide(const std::string& name, int folds, RunControl& control, const Fitted& fitted) {
    Executor executor(1);
    return tuned_decision(
        {parse_enum<DecisionKind>("decision", name), folds, 7}, X, sets, weights, label_of_node,
        [&](const std::vector<std::uint32_t>& rows, RunControl& share) {
          fitted(rows, share);
          return std::make_unique<Echo>();
        },
        executor, control);
  }
};

TEST(TunedDecision, every_kind_has_its_rule_and_auto_depends_on_the_sets) {
  const Rows rows = shifted_rows(60, 0.2);
  Problem several(rows);
  for (const auto& [name, rule] :
       std::vector<std::pair<std::string, std::string>>{{"argmax", "argmax"},
                                                        {"zero", "threshold"},
                                                        {"threshold", "threshold"},
                                                        {"scut", "threshold"},
                                                        {"shrunk", "threshold"},
                                                        {"rcut", "rcut"},
                                                        {"instance", "instance"},
                                                        {"auto", "instance"}}) {
    EXPECT_EQ(several.decide(name).name(), rule) << name;
  }
  for (const std::string rule : {"scut", "shrunk"}) {
    EXPECT_EQ(std::get<ThresholdDecision>(several.decide(rule).rule).thresholds.size(), 5U);
  }
  EXPECT_EQ(std::get<ThresholdDecision>(several.decide("zero").rule).thresholds,
            std::vector<float>{0});
  Rows single = rows;
  for (auto& set : single.truth) set = {0};
  EXPECT_EQ(Problem(single).decide("auto").name(), "argmax");
}

TEST(TunedDecision, every_row_is_scored_by_a_model_of_the_others) {
  Problem problem(shifted_rows(50, 0.2));
  std::vector<std::size_t> sizes;
  problem.decide("instance", 5, &sizes);
  EXPECT_THAT(sizes, ElementsAre(40, 40, 40, 40, 40));
  sizes.clear();
  problem.decide("zero", 5, &sizes);
  EXPECT_THAT(sizes, ElementsAre());
}

TEST(TunedDecision, a_row_of_weight_two_counts_as_two) {
  const Rows rows = shifted_rows(40, 0.8);
  HeldOutScores weighted = held_out(rows.scores, rows.truth);
  Rows repeated = rows;
  for (std::size_t i = 0; i < 40; ++i) {
    weighted.weights.push_back(i % 3 ? 1 : 2);
    if (i % 3) continue;
    repeated.scores.push_back(rows.scores[i]);
    repeated.truth.push_back(rows.truth[i]);
  }
  const HeldOutScores twice = held_out(repeated.scores, repeated.truth);
  const TunedThreshold one =
      tune_threshold(weighted.ranked, weighted.truth, true, weighted.weights);
  const TunedThreshold other = tune_threshold(twice.ranked, twice.truth, true);
  EXPECT_EQ(one.threshold, other.threshold);
  EXPECT_NEAR(one.micro_f1, other.micro_f1, 1e-12);
  EXPECT_NE(one.micro_f1, tune_threshold(weighted.ranked, weighted.truth, true).micro_f1);
  EXPECT_EQ(tune_rcut(weighted).count, tune_rcut(twice).count);
}

TEST(TunedDecision, heavy_rows_decide) {
  Rows rows{{{2, 1, -1, -2, -3},
             {2, 1, -1, -2, -3},
             {2, 1, -1, -2, -3},
             {2, 1, -1, -2, -3},
             {2, 1, -1, -2, -3},
             {2, 1, -1, -2, -3}},
            {{0}, {0, 1}, {0}, {0, 1}, {0}, {0}}};
  for (const std::string rule : {"threshold", "shrunk", "instance", "rcut"}) {
    Problem problem(rows);
    std::vector<LabelId> few, many;
    problem.decide(rule, 2).choose({rows.scores.front()}, few);
    problem.weights = {1, 1000, 1, 1000, 1, 1};
    problem.decide(rule, 2).choose({rows.scores.front()}, many);
    EXPECT_THAT(few, ElementsAre(0)) << rule;
    EXPECT_THAT(many, ElementsAre(0, 1)) << rule;
  }
}

// What a fold does not use is for those after it.
TEST(TunedDecision, folds_and_the_training_after_them_share_the_time_left) {
  Problem problem(shifted_rows(50, 0.2));
  RunControl control(nullptr, 1200.0);
  std::vector<double> seconds;
  problem.decide("threshold", 3, control, [&](const auto&, const RunControl& share) {
    seconds.push_back(share.seconds_left());
  });
  EXPECT_THAT(seconds, ElementsAre(DoubleNear(300, 40), DoubleNear(400, 40), DoubleNear(600, 40)));
}

TEST(TunedDecision, an_end_that_is_asked_for_in_a_fold_ends_all) {
  Problem problem(shifted_rows(50, 0.2));
  RunControl control([](const Progress&) { return false; });
  int folds = 0;
  const auto train = [&](const auto&, RunControl& share) {
    ++folds;
    EXPECT_FALSE(share.proceed(Progress{}));
  };
  EXPECT_THROW(problem.decide("threshold", 3, control, train), OutOfTime);
  EXPECT_EQ(folds, 1);
  EXPECT_EQ(control.stop_reason(), Stop::interrupted);
}

TEST(TunedDecision, a_single_row_leaves_nothing_to_tune_on) {
  Rows rows{{{1, 2, 3, 4, 5}}, {{0, 1}}};
  const auto rule = std::get<ThresholdDecision>(Problem(rows).decide("instance").rule);
  EXPECT_THAT(rule.thresholds, ElementsAre(0.0F));
  EXPECT_TRUE(rule.at_least_one);
}

TEST(TunedMemory, one_row_with_thousands_of_labels_does_not_count_for_all_rows) {
  constexpr std::size_t kRows = 600000;
  std::vector<LabelId> most(3000);
  std::iota(most.begin(), most.end(), 0U);
  LabelSets sets;
  sets.append(most);
  for (std::size_t i = 1; i < kRows; ++i) sets.append(std::vector<LabelId>{i % 7 == 0 ? 1U : 2U});
  const CsrMatrix X(1, std::vector<std::int64_t>(kRows + 1, 0), {}, {});
  const MemoryEstimate memory =
      tuned_memory({DecisionKind::instance, 3, 7}, X.view(), sets, 25000, MemoryEstimate{});
  EXPECT_LT(memory.total(), 4e9);
}

TEST(TunedDecision, an_unknown_kind_throws_with_those_there_are) {
  Problem problem(shifted_rows(10, 0.2));
  try {
    problem.decide("dice");
    FAIL();
  } catch (const InvalidOption& error) {
    EXPECT_STREQ(error.what(),
                 "option decision is 'dice', but must be one of auto, argmax, zero, threshold, "
                 "scut, shrunk, rcut, instance, offset");
  }
}

}  // namespace
}  // namespace margrove
