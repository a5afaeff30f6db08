// Structured losses of given scores. tests/python/test_losses.py compares them with the enumeration
// of all labellings for every output and surrogate.

#include "outputs/score_loss.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

/// A batch of chains with padding, whose scores and results are in one place.
template <class Real>
struct ChainBatch {
  static constexpr std::size_t kSize = 6, kTokens = 5, kTags = 3;
  std::vector<std::int64_t> lengths{5, 1, 3, 2, 4, 5}, truth, best;
  std::vector<Real> emissions, transitions, losses;
  std::vector<Real> of_emissions, of_transitions;

  explicit ChainBatch(int seed)
      : truth(kSize * kTokens),
        best(truth.size(), -1),
        emissions(truth.size() * kTags),
        transitions(kTags * kTags),
        losses(kSize),
        of_emissions(emissions.size()),
        of_transitions(kSize * transitions.size()) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::normal_distribution<float> normal;
    for (auto& tag : truth) tag = static_cast<std::int64_t>(random() % kTags);
    for (auto& score : emissions) score = normal(random);
    for (auto& score : transitions) score = normal(random);
  }

  void run(const ScoreLossOptions& options, int threads = 1) {
    std::fill(of_emissions.begin(), of_emissions.end(), Real{0});
    std::fill(of_transitions.begin(), of_transitions.end(), Real{0});
    ChainScores<Real> chains;
    chains.num_tags = kTags;
    chains.lengths = lengths;
    chains.emissions = {emissions.data(), kTokens * kTags, of_emissions.data(), kTokens * kTags};
    chains.transitions = {transitions.data(), 0, of_transitions.data(), kTags * kTags};
    Executor executor(threads);
    chain_losses(chains, LossBlocks<Real>{truth, best, losses, kTokens}, options, executor);
  }
  double total(const ScoreLossOptions& options) {
    run(options);
    double sum = 0;
    for (const Real loss : losses) sum += static_cast<double>(loss);
    return sum;
  }
};

const std::vector<AnySurrogate> kSurrogates{
    MarginRescaling{}, SlackRescaling{}, LossScaledLog{}, GeneralisedScaling::of_beta(0.5),
    ProbLoss{},        ConvexProbLoss{}, MicroF1{}};

TEST(ScoreLoss, gradients_are_differences_of_the_losses) {
  for (const AnySurrogate& surrogate : kSurrogates) {
    const ScoreLossOptions options{.surrogate = surrogate, .max_bans = 50};
    ChainBatch<double> batch(1);
    ASSERT_GT(batch.total(options), 0.0);
    const auto of_emissions = batch.of_emissions, of_transitions = batch.of_transitions;
    constexpr double kStep = 1e-6;
    const auto slope = [&](double& score) {
      const double before = score;
      score = before + kStep;
      const double ahead = batch.total(options);
      score = before - kStep;
      const double back = batch.total(options);
      score = before;
      return (ahead - back) / (2 * kStep);
    };
    for (std::size_t k = 0; k < batch.emissions.size(); k += 7) {
      EXPECT_NEAR(slope(batch.emissions[k]), of_emissions[k], 1e-5) << surrogate.to_text();
    }
    for (std::size_t k = 0; k < batch.transitions.size(); ++k) {
      double sum = 0;
      for (std::size_t i = 0; i < batch.kSize; ++i) sum += of_transitions[i * 9 + k];
      EXPECT_NEAR(slope(batch.transitions[k]), sum, 1e-5) << surrogate.to_text();
    }
  }
}

TEST(ScoreLoss, single_and_double_precision_agree) {
  for (const AnySurrogate& surrogate : kSurrogates) {
    const ScoreLossOptions options{.surrogate = surrogate, .max_bans = 50};
    ChainBatch<double> exact(2);
    ChainBatch<float> rounded(2);
    exact.run(options);
    rounded.run(options);
    EXPECT_EQ(exact.best, rounded.best);
    for (std::size_t i = 0; i < exact.kSize; ++i) {
      EXPECT_NEAR(exact.losses[i], rounded.losses[i], 1e-5 * (1 + exact.losses[i]));
    }
  }
}

TEST(ScoreLoss, threads_change_no_bit) {
  ChainBatch<float> one(3), four(3);
  one.run({.surrogate = SlackRescaling{}});
  four.run({.surrogate = SlackRescaling{}}, 4);
  EXPECT_EQ(one.losses, four.losses);
  EXPECT_EQ(one.best, four.best);
  EXPECT_EQ(one.of_emissions, four.of_emissions);
  EXPECT_EQ(one.of_transitions, four.of_transitions);
}

TEST(ScoreLoss, padding_is_left_alone) {
  ChainBatch<double> batch(4);
  batch.emissions[1 * 15 + 3] = std::numeric_limits<double>::quiet_NaN();  // behind the only token
  batch.truth[1 * 5 + 1] = 99;
  batch.run({});
  EXPECT_EQ(batch.best[1 * 5 + 1], -1);
  for (std::size_t k = 3; k < 15; ++k) EXPECT_EQ(batch.of_emissions[1 * 15 + k], 0.0);
}

TEST(ScoreLoss, wrong_input_throws) {
  ChainBatch<double> batch(5);
  batch.lengths[2] = 6;
  EXPECT_THROW(batch.run({}), InvalidInput);
  batch.lengths[2] = 3;
  batch.transitions[4] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(batch.run({}), InvalidInput);
  batch.transitions[4] = 0;
  batch.truth[0] = 3;
  EXPECT_THROW(batch.run({}), InvalidInput);
  batch.truth[0] = 0;
  EXPECT_THROW(batch.run({.surrogate = NormalizedDifference{}}), InvalidOption);
  EXPECT_THROW(batch.run({.search = StructuredSearch::enumeration}), InvalidOption);
  batch.run({});
}

}  // namespace
}  // namespace margrove
