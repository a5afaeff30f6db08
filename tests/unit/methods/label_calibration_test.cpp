#include "methods/label_calibration.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/random.hpp"

namespace margrove::detail {
namespace {

using Decisions = std::vector<std::vector<ScoredDecision>>;

DecisionsOfLabels spans_of(const Decisions& decisions) {
  return {decisions.begin(), decisions.end()};
}

/// Scores around 0; label l is more frequent and easier to tell the larger l is.
Decisions noisy_labels(std::size_t num_labels, std::size_t num_rows, std::uint64_t seed) {
  Random random(seed);
  Decisions decisions(num_labels);
  for (std::size_t l = 0; l < num_labels; ++l) {
    const double slope = 0.5 + static_cast<double>(l), intercept = static_cast<double>(l) - 3;
    for (std::size_t i = 0; i < num_rows; ++i) {
      const double z = random.normal();
      const double p = 1 / (1 + std::exp(-slope * z - intercept));
      decisions[l].push_back({static_cast<float>(z), random.uniform() < p,
                              0.5 + 0.5 * static_cast<double>(random.below(3))});
    }
  }
  return decisions;
}

/// The objective, from its definition.
double objective(const Decisions& decisions, double strength, const LabelCalibration& at) {
  double sum = 0;
  for (std::size_t l = 0; l < decisions.size(); ++l) {
    for (const ScoredDecision& d : decisions[l]) {
      const double x = at.labels[l].slope * d.score + at.labels[l].intercept;
      sum += d.weight * std::log(1 + std::exp(d.correct ? -x : x));
    }
    sum += 0.5 * strength *
           (4 * std::pow(at.labels[l].slope - at.common.slope, 2) +
            std::pow(at.labels[l].intercept - at.common.intercept, 2));
  }
  return sum;
}

TEST(LabelCalibration, is_the_minimum_of_its_objective) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Decisions decisions = noisy_labels(4, 30, seed);
    for (const double strength : {0.1, 1.0, 100.0}) {
      LabelCalibration found = calibrate(spans_of(decisions), strength, {});
      const double least = objective(decisions, strength, found);
      std::vector<double*> parameters{&found.common.slope, &found.common.intercept};
      for (LogOdds& odds : found.labels) {
        parameters.push_back(&odds.slope);
        parameters.push_back(&odds.intercept);
      }
      for (double* parameter : parameters) {  // the objective is convex
        for (const double step : {-0.02, 0.02}) {
          *parameter += step;
          EXPECT_GE(objective(decisions, strength, found), least - 1e-6 * least)
              << "seed " << seed << ", strength " << strength;
          *parameter -= step;
        }
      }
    }
  }
}

TEST(LabelCalibration, the_log_loss_is_the_objective_without_its_penalty) {
  const Decisions decisions = noisy_labels(3, 20, 1);
  const LabelCalibration at = calibrate(spans_of(decisions), 1, {});
  EXPECT_NEAR(log_loss(spans_of(decisions), at), objective(decisions, 0, at), 1e-9);
}

TEST(LabelCalibration, does_not_depend_on_its_start) {
  const Decisions decisions = noisy_labels(5, 40, 2);
  const LabelCalibration one = calibrate(spans_of(decisions), 1, {});
  const LabelCalibration other =
      calibrate(spans_of(decisions), 1, calibrate(spans_of(decisions), 100, {}));
  for (std::size_t l = 0; l < 5; ++l) {
    EXPECT_NEAR(one.labels[l].slope, other.labels[l].slope, 1e-2);
    EXPECT_NEAR(one.labels[l].intercept, other.labels[l].intercept, 1e-2);
  }
}

TEST(LabelCalibration, more_strength_brings_labels_nearer_to_the_common_one) {
  const Decisions decisions = noisy_labels(5, 200, 3);
  double before = std::numeric_limits<double>::infinity();
  for (const double strength : {0.1, 1.0, 10.0, 100.0, 1e6}) {
    const LabelCalibration found = calibrate(spans_of(decisions), strength, {});
    double apart = 0;
    for (const LogOdds& odds : found.labels) {
      apart += std::abs(odds.intercept - found.common.intercept);
    }
    EXPECT_LT(apart, before);
    before = apart;
  }
  EXPECT_LT(before, 1e-2);
}

TEST(LabelCalibration, a_label_without_decisions_gets_the_common_one) {
  Decisions decisions = noisy_labels(3, 50, 4);
  decisions[1].clear();
  const LabelCalibration found = calibrate(spans_of(decisions), 1, {});
  EXPECT_NEAR(found.labels[1].slope, found.common.slope, 1e-6);
  EXPECT_NEAR(found.labels[1].intercept, found.common.intercept, 1e-6);
  const LabelCalibration none = calibrate(spans_of({{}, {}}), 1, {});
  EXPECT_EQ(none.labels[1].slope, 1);
}

TEST(LabelCalibration, scores_that_separate_or_are_all_equal_give_finite_numbers) {
  const Decisions decisions{{{-1, false, 1}, {-2, false, 1}, {3, true, 1}},
                            {{0, true, 1}, {0, false, 1}},
                            {{40, false, 1e6}, {-40, true, 1e6}},
                            {{1, true, 0}, {2, false, 0}}};
  for (const double strength : {0.05, 100.0}) {
    for (const LogOdds& odds : calibrate(spans_of(decisions), strength, {}).labels) {
      EXPECT_TRUE(std::isfinite(odds.slope) && std::isfinite(odds.intercept));
    }
  }
}

}  // namespace
}  // namespace margrove::detail
