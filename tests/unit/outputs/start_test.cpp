// Training that starts from the weights of a model, and limits of searches and passes.
#include <gtest/gtest.h>

#include <numeric>

#include "margrove/errors.hpp"
#include "margrove/path_estimators.hpp"
#include "model_checks.hpp"
#include "outputs/chain/chain.hpp"
#include "structured/train_structured.hpp"

namespace margrove {
namespace {

/// Noisy sequences of three tags.
SequenceData sequences(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  SequenceData data;
  data.num_tags = 3;
  data.X = CsrMatrix(6);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t t = 0; t < 5; ++t) {
      const auto tag = static_cast<std::uint32_t>(random.below(3));
      const std::vector<FeatureId> columns{tag, static_cast<FeatureId>(3 + random.below(3))};
      const float strength = random.below(4) ? 1.0F : -1.0F;
      data.X.append_row(columns, std::vector<float>{strength, 1.0F});
      data.tags.push_back(tag);
    }
    data.pointers.push_back(data.tags.size());
  }
  return data;
}

StructuredResult train(const ChainModel& model, const StructuredTraining& training,
                       std::span<const float> start = {}) {
  Executor executor(1);
  RunControl control;
  StructuredInputs<ChainModel> inputs;
  inputs.start = start;
  return train_structured(model, training, executor, control, inputs);
}

TEST(Start, dual_solvers_reach_the_same_optimum_with_fewer_oracle_calls) {
  const SequenceData data = sequences(60, 1);
  const ChainModel model(data, Criteria::hamming);
  for (const auto solver :
       {StructuredSolver::bcfw, StructuredSolver::cutting_plane, StructuredSolver::one_slack}) {
    SCOPED_TRACE(name_of(solver));
    const StructuredTraining training{
        .solver = solver, .C = 0.5, .tolerance = 1e-3, .max_passes = 500};
    const StructuredResult anew = train(model, training);
    const StructuredResult again = train(model, training, anew.weights);
    EXPECT_EQ(again.fit.stop, Stop::converged);
    EXPECT_TRUE(again.fit.certified);
    EXPECT_NEAR(again.fit.primal, anew.fit.primal, 2e-3 * anew.fit.primal);
    EXPECT_LT(again.fit.passes, anew.fit.passes);
  }
}

TEST(Start, subgradients_begin_at_the_weights) {
  const SequenceData data = sequences(60, 2);
  const ChainModel model(data, Criteria::hamming);
  const StructuredTraining exact{
      .solver = StructuredSolver::bcfw, .C = 0.5, .tolerance = 1e-4, .max_passes = 2000};
  const StructuredResult optimum = train(model, exact);
  Executor executor(1);
  RunControl control;
  Sgd run(model, DynamicSurrogate(MarginRescaling{}), MarginSearch{}, SgdOptions{.C = 0.5},
          executor, control);
  run.start_at(optimum.weights);
  const std::vector<float> first = run.weights();
  for (std::size_t k = 0; k < first.size(); ++k) EXPECT_NEAR(first[k], optimum.weights[k], 1e-6);

  StructuredTraining one_pass{.solver = StructuredSolver::sgd, .C = 0.5, .epochs = 1};
  const double anew = train(model, one_pass).fit.primal;
  const double from_start = train(model, one_pass, optimum.weights).fit.primal;
  EXPECT_GT(from_start, optimum.fit.dual);
  EXPECT_LT(from_start, anew);
}

TEST(Start, weights_of_another_number_throw) {
  const SequenceData data = sequences(3, 3);
  const ChainModel model(data, Criteria::hamming);
  const std::vector<float> short_start(3);
  for (const auto solver :
       {StructuredSolver::bcfw, StructuredSolver::sgd, StructuredSolver::cutting_plane}) {
    EXPECT_THROW(train(model, {.solver = solver}, short_start), InvalidInput);
  }
}

TEST(Settling, two_slow_passes_in_a_row_end_it) {
  Settling settling(0.01);
  for (const double objective : {100.0, 50.0, 49.9, 40.0, 39.9}) {
    settling.see(objective);
    EXPECT_FALSE(settling.has_ended()) << objective;
  }
  settling.see(41.0);
  EXPECT_TRUE(settling.has_ended());
  Settling never(0.0);
  for (int k = 0; k < 10; ++k) never.see(1.0);
  EXPECT_FALSE(never.has_ended());
}

TEST(Settling, subgradients_stop_before_their_limit_of_passes) {
  const SequenceData data = sequences(100, 4);
  const ChainModel model(data, Criteria::hamming);
  for (const char* surrogate : {"margin", "prob"}) {
    StructuredTraining training{.surrogate = AnySurrogate::parse(surrogate),
                                .solver = StructuredSolver::sgd,
                                .C = 0.1,
                                .epochs = 400};
    const StructuredResult all = train(model, training);
    EXPECT_EQ(all.fit.passes, 400);
    EXPECT_EQ(all.fit.stop, Stop::epochs_done);
    training.settled = 0.01;
    const StructuredResult settled = train(model, training);
    EXPECT_EQ(settled.fit.stop, Stop::settled);
    EXPECT_LT(settled.fit.passes, 100);
    EXPECT_LT(settled.fit.primal, 1.05 * all.fit.primal);
  }
}

TEST(SearchLimits, bans_that_are_given_are_made_by_subgradients_of_prob_loss) {
  const SequenceData data = sequences(60, 5);
  const ChainModel model(data, Criteria::hamming);
  StructuredTraining training{.surrogate = ProbLoss{},
                              .solver = StructuredSolver::sgd,
                              .C = 1,
                              .epochs = 10,
                              .search_tolerance = {0.0}};
  const std::int64_t without = train(model, training).fit.oracle_calls;
  training.max_bans = 0;
  EXPECT_EQ(train(model, training).fit.oracle_calls, without);
  training.max_bans = 20;
  EXPECT_GT(train(model, training).fit.oracle_calls, without);
}

template <class Act>
std::string message_of(const Act& act) {
  try {
    act();
  } catch (const InvalidOption& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(ConvexPasses, are_the_first_passes_of_prob_loss) {
  const SequenceData data = sequences(60, 5);
  const ChainModel model(data, Criteria::hamming);
  StructuredTraining training{
      .surrogate = ProbLoss{}, .solver = StructuredSolver::sgd, .C = 1, .epochs = 6};
  const StructuredResult by_default = train(model, training);
  training.convex_passes = {3};
  EXPECT_EQ(train(model, training).weights, by_default.weights);
  training.convex_passes = {6};
  const StructuredResult all = train(model, training);
  EXPECT_NE(all.weights, by_default.weights);
  training.surrogate = ConvexProbLoss{};
  training.convex_passes = {};
  EXPECT_EQ(train(model, training).weights, all.weights);
  training.surrogate = ProbLoss{};
  training.convex_passes = {0};
  const StructuredResult none = train(model, training);
  EXPECT_NE(none.weights, by_default.weights);
  EXPECT_EQ(none.fit.passes, 6);
  training.convex_passes = {600};  // at most all
  EXPECT_EQ(train(model, training).weights, all.weights);
}

TEST(ConvexPasses, where_there_are_none_throw) {
  const SequenceData data = sequences(10, 5);
  const ChainModel model(data, Criteria::hamming);
  const auto message = [&](AnySurrogate surrogate, StructuredSolver solver) {
    return message_of(
        [&] { train(model, {.surrogate = surrogate, .solver = solver, .convex_passes = {2}}); });
  };
  EXPECT_EQ(message(SlackRescaling{}, StructuredSolver::sgd),
            "option convex_passes is 2, but surrogate is slack; it is for prob");
  EXPECT_EQ(message(MarginRescaling{}, StructuredSolver::bcfw),
            "option convex_passes is 2, but surrogate is margin; it is for prob");
}

TEST(LearningRate, is_the_size_of_the_first_step) {
  const SequenceData data = sequences(1, 7);
  const ChainModel model(data, Criteria::hamming);
  // One example, so that the weights after the first step are its size times a difference.
  const auto first_step = [&](double C, std::optional<double> rate,
                              std::span<const float> start = {}) {
    const StructuredTraining training{
        .solver = StructuredSolver::sgd, .C = C, .epochs = 1, .learning_rate = rate};
    return train(model, training, start).weights;
  };
  const std::vector<float> of_rate_1 = first_step(0.5, {1.0});
  EXPECT_NE(of_rate_1, std::vector<float>(of_rate_1.size()));
  for (const double rate : {0.01, 0.25, 3.0}) {
    // w = -S / (lambda (1 + t0)) with lambda = 1 / C and t0 = C / rate
    const double share = (0.5 / (1.0 + 0.5 / rate)) / (0.5 / (1.0 + 0.5));
    const std::vector<float> w = first_step(0.5, {rate});
    for (std::size_t k = 0; k < w.size(); ++k) EXPECT_NEAR(w[k], share * of_rate_1[k], 1e-6);
  }
  EXPECT_EQ(first_step(0.5, {0.5}), first_step(0.5, {}));
  const std::vector<float> start(of_rate_1.size(), 0.125F);
  EXPECT_EQ(first_step(1.0, {1.0 / 11.0}, start), first_step(1.0, {}, start));
  const std::vector<float> slow = first_step(1.0, {1e-6}, start);
  for (const float w : slow) EXPECT_NEAR(w, 0.125F, 1e-4);
}

TEST(LearningRate, of_other_solvers_throws) {
  const SequenceData data = sequences(10, 7);
  const ChainModel model(data, Criteria::hamming);
  for (const auto solver : {StructuredSolver::bcfw, StructuredSolver::one_slack}) {
    EXPECT_EQ(message_of([&] { train(model, {.solver = solver, .learning_rate = {0.25}}); }),
              std::string("option learning_rate is 0.25, but solver is ") +
                  std::string(name_of(solver)) + "; it is for sgd");
  }
}

TEST(Epochs, of_other_solvers_throw) {
  const SequenceData data = sequences(10, 7);
  const ChainModel model(data, Criteria::hamming);
  EXPECT_EQ(message_of([&] { train(model, {.given_epochs = 7}); }),
            "option epochs is 7, but solver is bcfw; it is for sgd");
  EXPECT_EQ(structured_training(HSvmOptions{.epochs = 7}, 1.0).given_epochs, 7);
  EXPECT_EQ(structured_training(HSvmOptions{}, 1.0).given_epochs, std::nullopt);
}

TEST(SearchLimits, calls_of_a_search_are_limited) {
  const SequenceData data = sequences(60, 6);
  const ChainModel model(data, Criteria::hamming);
  StructuredTraining training{.surrogate = SlackRescaling{},
                              .search = StructuredSearch::bisecting,
                              .solver = StructuredSolver::sgd,
                              .C = 1,
                              .epochs = 3};
  const std::int64_t free = train(model, training).fit.oracle_calls;
  training.search_calls = {2};
  const std::int64_t limited = train(model, training).fit.oracle_calls;
  EXPECT_LT(limited, free);
  EXPECT_LE(limited, 2 * 60 * 4);
  training.search_calls = {};
  training.search_tolerance = {1.0};
  EXPECT_LT(train(model, training).fit.oracle_calls, free);
}

TEST(SearchLimits, limits_that_a_search_lacks_throw) {
  const auto limits = [](StructuredSearch search, StructuredTraining training) {
    return message_of([&] { search_limits(training, search, StructuredSolver::sgd); });
  };
  EXPECT_EQ(limits(StructuredSearch::margin, {.search_tolerance = {0.1}}),
            "option search_tolerance is 0.1, but search is margin, which is exact");
  EXPECT_EQ(limits(StructuredSearch::enumeration, {.search_tolerance = {0.1}}),
            "option search_tolerance is 0.1, but search is enumeration, which is exact");
  EXPECT_EQ(limits(StructuredSearch::enumeration, {.search_calls = {7}}),
            "option search_calls is 7, but search is enumeration, which makes one call");
  EXPECT_EQ(limits(StructuredSearch::convex_hull, {.search_tolerance = {0.1}, .search_calls = {7}}),
            "nothing thrown");
}

TEST(StructuredSvmOptions, numbers_that_may_be_auto_are_in_their_range_or_throw) {
  struct Case {
    const char* option;
    std::vector<const char*> texts;
    std::vector<const char*> wrong;
    const char* range;
  };
  const std::vector<Case> cases = {
      {"max_bans", {"auto", "0", "12"}, {"-1"}, "auto or >= 0"},
      {"search_tolerance", {"auto", "0", "0.25"}, {"-0.5", "inf"}, "auto or >= 0"},
      {"search_calls", {"auto", "3"}, {"0"}, "auto or >= 1"},
      {"convex_passes", {"auto", "0", "12"}, {"-1"}, "auto or >= 0"},
      {"learning_rate", {"auto", "0.25"}, {"0", "-1", "inf"}, "auto or > 0"},
  };
  StructuredSvmOptions options;
  OptionTable table(options);
  for (const Case& each : cases) {
    for (const char* text : each.texts) {
      table.set(each.option, text);
      EXPECT_EQ(table.get(each.option), text);
    }
    for (const char* text : each.wrong) {
      EXPECT_EQ(message_of([&] { table.set(each.option, text); }),
                concat("option ", each.option, " is ", text, ", but must be ", each.range));
    }
    table.set(each.option, "auto");
  }
  EXPECT_EQ(message_of([&] { table.set("max_bans", "some"); }),
            "option max_bans is 'some', but must be a whole number");
  EXPECT_EQ(message_of([&] { table.set("learning_rate", "some"); }),
            "option learning_rate is 'some', but must be a number");
  options.max_bans = -1;
  EXPECT_EQ(message_of([&] { validate(options); }),
            "option max_bans is -1, but must be auto or >= 0");
}

}  // namespace
}  // namespace margrove
