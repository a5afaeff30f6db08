// Stochastic subgradients, cutting planes with n slacks and with one, and block-coordinate
// Frank-Wolfe against each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "base/random.hpp"
#include "margrove/surrogates.hpp"
#include "outputs/chain/chain.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "structured/angular.hpp"
#include "structured/bcfw.hpp"
#include "structured/convex_hull.hpp"
#include "structured/cutting_plane.hpp"
#include "structured/product_searches.hpp"
#include "structured/sgd.hpp"
#include "structured/structured_fit.hpp"
#include "structured/surrogate.hpp"

namespace margrove {
namespace {

// Sequences of `shortest` to `shortest` + 3 tokens whose tags follow their features, with noise.
SequenceData noisy_sequences(std::uint64_t seed, int count, std::size_t shortest = 2) {
  Random random(seed);
  SequenceData data;
  data.num_tags = 3;
  data.X = CsrMatrix(5);
  for (int i = 0; i < count; ++i) {
    const std::size_t length = shortest + random.below(4);
    data.pointers.push_back(data.pointers.back() + length);
    for (std::size_t t = 0; t < length; ++t) {
      const auto tag = static_cast<std::uint32_t>(random.below(3));
      data.tags.push_back(random.below(5) ? tag : (tag + 1) % 3);
      std::vector<float> values{1.0F, 0, 0, 0, 0};
      for (std::size_t f = 1; f < 5; ++f) {
        values[f] = static_cast<float>(random.normal() + (f - 1 == tag ? 1.0 : 0.0));
      }
      data.X.append_row(std::vector<FeatureId>{0, 1, 2, 3, 4}, values);
    }
  }
  return data;
}

struct Objectives {
  double n_slack, one_slack, sgd;
};

template <class Model, class Psi, class Search>
Objectives minima(const Model& model, const Psi& psi, const Search& search, double C) {
  Executor executor(1);
  RunControl control;
  const auto cutting_plane = [&](bool one_slack) {
    CuttingPlane solver(
        model, psi, search,
        CuttingPlaneOptions{.C = C, .tolerance = 3e-4, .max_rounds = 3000, .one_slack = one_slack},
        executor, control);
    const StructuredFit fit = solver.run();
    EXPECT_EQ(fit.stop, Stop::converged);
    EXPECT_TRUE(fit.certified);
    EXPECT_LE(fit.dual, fit.primal);
    EXPECT_NEAR(structured_objective(model, psi, search, C, {solver.weights()}, executor).value,
                fit.primal, 1e-6 * fit.primal);
    return fit.primal;
  };
  Sgd sgd(model, psi, search, SgdOptions{.C = C, .max_passes = 4000}, executor, control);
  sgd.run();
  const std::vector<float> w = sgd.weights();
  return {cutting_plane(false), cutting_plane(true),
          structured_objective(model, psi, search, C, {w}, executor).value};
}

template <class Model, class Psi>
double bcfw_minimum(const Model& model, const Psi& psi, double C) {
  Executor executor(1);
  RunControl control;
  const BcfwOptions options{.C = C, .tolerance = 1e-4, .max_passes = 3000};
  Bcfw solver(model, psi, ConvexHullSearch{.max_bans = 1000}, options, executor, control);
  const StructuredFit fit = solver.run();
  EXPECT_EQ(fit.stop, Stop::converged);
  EXPECT_TRUE(fit.certified);
  return fit.primal;
}

template <class Psi>
void expect_same_objective(const ChainModel& model, const Psi& psi) {
  const double C = 0.1;
  const ConvexHullSearch search{.max_bans = 1000};
  const Objectives all = minima(model, psi, search, C);
  const double best = all.n_slack;
  EXPECT_NEAR(all.one_slack, best, 1e-3 * best);
  EXPECT_NEAR(all.sgd, best, 1e-3 * best);
  EXPECT_GE(all.sgd, best * (1 - 4e-4));
  if constexpr (AffineSurrogate<Psi>) {
    EXPECT_NEAR(bcfw_minimum(model, psi, C), best, 1e-3 * best);
  }
}

TEST(StructuredSolvers, reach_the_same_objective_for_every_convex_surrogate) {
  const SequenceData data = noisy_sequences(1, 15);
  const ChainModel hamming(data, Criteria::hamming);
  expect_same_objective(hamming, MarginRescaling{});
  expect_same_objective(hamming, SlackRescaling{});
  expect_same_objective(hamming, GeneralisedScaling::of_beta(0.5));
  expect_same_objective(hamming, GeneralisedScaling(0.5, 1.25));
  expect_same_objective(hamming, LossScaledLog{});
  expect_same_objective(hamming, ConvexProbLoss{});
  expect_same_objective(ChainModel(data, Criteria::micro_f1), MicroF1{});
}

TEST(StructuredSolvers, agree_on_a_field_with_slack_rescaling_whatever_exact_search) {
  Random random(3);
  CsrMatrix X(4);
  LabelSets labels;
  for (int i = 0; i < 20; ++i) {
    std::vector<float> values{1.0F, 0, 0, 0};
    std::vector<LabelId> set;
    for (LabelId l = 0; l < 3; ++l) {
      values[l + 1] = static_cast<float>(random.normal());
      if (static_cast<double>(values[l + 1]) + 0.5 * random.normal() > 0) set.push_back(l);
    }
    X.append_row(std::vector<FeatureId>{0, 1, 2, 3}, values);
    labels.append(set);
  }
  const FieldModel model(X, labels, 3);
  const double best = bcfw_minimum(model, SlackRescaling{}, 0.5);
  const Objectives angular = minima(model, SlackRescaling{}, AngularSearch{.tolerance = 0}, 0.5);
  EXPECT_NEAR(angular.n_slack, best, 1e-3 * best);
  EXPECT_NEAR(angular.one_slack, best, 1e-3 * best);
  EXPECT_NEAR(angular.sgd, best, 1e-3 * best);
}

TEST(StructuredSolvers, certify_nothing_where_branch_and_bound_met_its_limit) {
  Random random(11);
  const std::uint32_t K = 8;
  CsrMatrix X(3);
  LabelSets labels;
  for (int i = 0; i < 15; ++i) {
    X.append_row(std::vector<FeatureId>{0, 1, 2},
                 std::vector<float>{1.0F, static_cast<float>(random.normal()),
                                    static_cast<float>(random.normal())});
    std::vector<LabelId> set;
    for (LabelId l = 0; l < K; ++l) {
      if (random.below(2)) set.push_back(l);
    }
    labels.append(set);
  }
  Executor executor(1);
  RunControl control;
  for (const bool is_limited : {false, true}) {
    const FieldModel model(X, labels, K, {.max_nodes = is_limited ? 1 : 100000});
    const auto certified = [&](auto solver) {
      const StructuredFit fit = solver.run();
      EXPECT_EQ(fit.stop == Stop::converged, fit.certified);
      return fit.certified;
    };
    EXPECT_EQ(certified(Bcfw(model, MarginRescaling{}, MarginSearch{}, BcfwOptions{.C = 1.0},
                             executor, control)),
              !is_limited);
    EXPECT_EQ(certified(CuttingPlane(model, MarginRescaling{}, MarginSearch{},
                                     CuttingPlaneOptions{.C = 1.0}, executor, control)),
              !is_limited);
  }
}

TEST(CuttingPlane, sarawagi_gupta_ends_above_the_exact_search_and_says_so) {
  const SequenceData data = noisy_sequences(2, 15);
  const ChainModel model(data, Criteria::hamming);
  Executor executor(1);
  RunControl control;
  const CuttingPlaneOptions options{.C = 0.3, .tolerance = 1e-3};
  CuttingPlane exact(model, SlackRescaling{}, ConvexHullSearch{.max_bans = 1000}, options, executor,
                     control);
  CuttingPlane heuristic(model, SlackRescaling{}, SarawagiGuptaSearch{}, options, executor,
                         control);
  const auto best = exact.run(), found = heuristic.run();
  EXPECT_TRUE(best.certified);
  EXPECT_FALSE(found.certified);
  EXPECT_EQ(best.stop, Stop::converged);
  EXPECT_EQ(found.stop, Stop::stalled);
  EXPECT_GT(found.oracle_calls / found.passes, best.oracle_calls / best.passes);
  const auto objective = structured_objective(model, SlackRescaling{}, ConvexHullSearch{}, 0.3,
                                              {heuristic.weights()}, executor);
  EXPECT_GE(objective.value, best.dual * (1 - 1e-6));
}

/// Proves its answers except in one round.
struct DoubtfulRound {
  std::size_t num_examples;
  int round;  // from 1
  std::shared_ptr<std::size_t> calls = std::make_shared<std::size_t>(0);

  template <Oracle O>
  SearchResult<typename O::Labelling> operator()(const O& oracle, const MarginRescaling& psi,
                                                 LabelCache<typename O::Labelling>& cache) const {
    auto result = MarginSearch{}(oracle, psi, cache);
    if (static_cast<int>((*calls)++ / num_examples) + 1 == round) {
      result.upper_bound = std::numeric_limits<double>::infinity();
    }
    return result;
  }
};

TEST(CuttingPlane, certifies_the_round_whose_weights_it_returns) {
  const SequenceData data = noisy_sequences(2, 15);
  const ChainModel model(data, Criteria::hamming);
  const std::size_t n = model.num_examples();
  Executor executor(1);
  // The last round is the first one that does not lower the primal, so that the one before it has
  // the best weights.
  int last = 0;
  double lowest = std::numeric_limits<double>::infinity();
  RunControl watching([&](const Progress& progress) {
    last = static_cast<int>(progress.done);
    const bool is_lower = progress.objective < lowest;
    lowest = progress.objective;
    return is_lower;
  });
  const CuttingPlaneOptions options{.C = 10, .tolerance = 1e-9};
  CuttingPlane first(model, MarginRescaling{}, MarginSearch{}, options, executor, watching);
  first.run();
  ASSERT_GT(last, 1);
  RunControl control;
  for (const int doubtful : {last - 1, last}) {
    CuttingPlaneOptions limited = options;
    limited.max_rounds = last;
    CuttingPlane solver(model, MarginRescaling{}, DoubtfulRound{n, doubtful}, limited, executor,
                        control);
    const StructuredFit fit = solver.run();
    EXPECT_EQ(fit.passes, last);
    EXPECT_EQ(fit.primal, lowest);
    EXPECT_EQ(fit.certified, doubtful == last);
  }
}

TEST(CuttingPlane, certifies_nothing_before_the_first_round_is_complete) {
  const SequenceData data = noisy_sequences(2, 15);
  const ChainModel model(data, Criteria::hamming);
  Executor executor(1);
  RunControl control;
  control.interrupt();
  CuttingPlane solver(model, MarginRescaling{}, MarginSearch{}, CuttingPlaneOptions{}, executor,
                      control);
  const StructuredFit fit = solver.run();
  EXPECT_EQ(fit.passes, 0);
  EXPECT_FALSE(fit.certified);
  EXPECT_TRUE(std::isnan(fit.primal));
  EXPECT_EQ(fit.stop, Stop::interrupted);
}

TEST(StopOf, is_converged_only_with_a_certificate_and_diverged_where_the_objective_is_not_finite) {
  StructuredFit fit{.primal = 1.0, .dual = 0.999, .relative_gap = 1e-3, .certified = true};
  for (const Stop limit : {Stop::pass_limit, Stop::stalled, Stop::time_limit}) {
    EXPECT_EQ(stop_of(fit, 1e-2, limit), Stop::converged);
    EXPECT_EQ(stop_of(fit, 1e-4, limit), limit);
  }
  fit.certified = false;
  EXPECT_EQ(stop_of(fit, 1e-2, Stop::pass_limit), Stop::stalled);
  EXPECT_EQ(stop_of(fit, 1e-4, Stop::pass_limit), Stop::pass_limit);
  EXPECT_EQ(stop_of(fit, 1e-2, Stop::time_limit), Stop::time_limit);
  EXPECT_EQ(stop_of(fit, 1e-2, Stop::interrupted), Stop::interrupted);
  fit.relative_gap = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(stop_of(fit, 1e-2, Stop::epochs_done), Stop::epochs_done);
  for (const double primal :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    fit.primal = primal;
    EXPECT_EQ(stop_of(fit, 1e-2, Stop::epochs_done), Stop::diverged);
    EXPECT_EQ(stop_of(fit, 1e-2, Stop::time_limit), Stop::time_limit);
  }
}

TEST(Sgd, has_the_same_bits_on_any_number_of_threads) {
  const SequenceData data = noisy_sequences(4, 30);
  const ChainModel model(data, Criteria::hamming);
  std::vector<std::vector<float>> weights;
  for (const int threads : {1, 2, 5}) {
    Executor executor(threads);
    RunControl control;
    Sgd solver(model, ProbLoss{}, ConvexHullSearch{},
               SgdOptions{.max_passes = 3, .minibatch = 7, .seed = 5}, executor, control);
    solver.run();
    weights.push_back(solver.weights());
  }
  EXPECT_EQ(weights[0], weights[1]);
  EXPECT_EQ(weights[0], weights[2]);
}

TEST(CuttingPlane, has_the_same_bits_on_any_number_of_threads) {
  const SequenceData data = noisy_sequences(5, 30);
  const ChainModel model(data, Criteria::hamming);
  for (const bool one_slack : {false, true}) {
    std::vector<std::vector<float>> weights;
    for (const int threads : {1, 2, 5}) {
      Executor executor(threads);
      RunControl control;
      CuttingPlane solver(model, SlackRescaling{}, ConvexHullSearch{},
                          CuttingPlaneOptions{.tolerance = 1e-2, .one_slack = one_slack}, executor,
                          control);
      solver.run();
      weights.push_back(solver.weights());
    }
    EXPECT_EQ(weights[0], weights[1]);
    EXPECT_EQ(weights[0], weights[2]);
  }
}

TEST(Sgd, average_is_the_weighted_mean_of_the_iterates) {
  const SequenceData data = noisy_sequences(6, 4);
  const ChainModel model(data, Criteria::hamming);
  Executor executor(1);
  // Iterates one pass at a time: with one example a pass is one step.
  SequenceData single;
  single.num_tags = 3;
  single.pointers = {0, data.length(0)};
  single.tags.assign(data.tags.begin(), data.tags.begin() + static_cast<long>(data.length(0)));
  single.X = CsrMatrix(5);
  for (std::size_t t = 0; t < data.length(0); ++t) {
    single.X.append_row(data.X.row(t).columns, data.X.row(t).values);
  }
  const ChainModel one(single, Criteria::hamming);
  RunControl control;
  const SgdOptions plain{.C = 0.4, .warm_up = 2.0, .averaging = false},
      averaged{.C = 0.4, .warm_up = 2.0};
  Sgd iterates(one, MarginRescaling{}, MarginSearch{}, plain, executor, control);
  Sgd mean(one, MarginRescaling{}, MarginSearch{}, averaged, executor, control);
  std::vector<double> expected(one.num_weights(), 0.0);
  double total = 0;
  for (int t = 1; t <= 6; ++t) {
    iterates.one_pass();
    mean.one_pass();
    const auto w = iterates.weights();
    for (std::size_t k = 0; k < w.size(); ++k) expected[k] += (t + 2.0) * static_cast<double>(w[k]);
    total += t + 2.0;
  }
  const auto w = mean.weights();
  for (std::size_t k = 0; k < w.size(); ++k) EXPECT_NEAR(w[k], expected[k] / total, 1e-6);
}

template <class Psi>
std::vector<float> weights_after(const ChainModel& model, const Psi& psi,
                                 const SgdOptions& options) {
  Executor executor(1);
  RunControl control;
  Sgd solver(model, psi, ConvexHullSearch{}, options, executor, control);
  solver.run();
  return solver.weights();
}

TEST(Sgd, steps_of_steep_surrogates_end_where_they_would_be_zero) {
  const SequenceData data = noisy_sequences(8, 1, 6);
  const ChainModel model(data, Criteria::hamming);
  SparseVector difference;
  ChainWorkspace workspace;
  const std::vector<float> zero(model.num_weights());
  LabelCache<TagSequence> cache;
  const auto first =
      ConvexHullSearch{}(model.oracle(0, {zero, 1.0}, workspace), SlackRescaling{}, cache);
  EXPECT_GE(first.best.g, 6.0);
  model.difference(0, first.best.y, difference);
  sort_indices(difference);
  const double square = dot(difference, difference);
  SgdOptions options{.C = 1.0 / square, .max_passes = 1, .averaging = false};
  // At t + t0 = 2 a factor u of the difference lowers m by u / 2. From m = 0 to -1 it is 2, not g.
  std::vector<float> w = weights_after(model, SlackRescaling{}, options);
  EXPECT_NEAR(dot({w, 1.0}, difference), -1.0, 1e-5);  // psi = (m + 1) g = 0
  // u = 0.25 would do here, but that of margin rescaling is 1.
  options.C = 8.0 / square;
  w = weights_after(model, SlackRescaling{}, options);
  EXPECT_NEAR(dot({w, 1.0}, difference), -4.0, 1e-5);
}

TEST(Sgd, few_passes_bring_steep_surrogates_near_their_optimum) {
  const SequenceData data = noisy_sequences(9, 40, 20);
  const ChainModel model(data, Criteria::hamming);
  const SgdOptions options{.C = 0.1, .max_passes = 30};
  const std::vector<float> w = weights_after(model, SlackRescaling{}, options);
  Executor executor(1);
  const double objective =
      structured_objective(model, SlackRescaling{}, ConvexHullSearch{.max_bans = 1000}, options.C,
                           {w}, executor)
          .value;
  // Steps of the slope's length end at seven times the optimum.
  EXPECT_LT(objective, 1.5 * bcfw_minimum(model, SlackRescaling{}, options.C));
}

TEST(StructuredSolvers, stop_when_told_to) {
  const SequenceData data = noisy_sequences(7, 10);
  const ChainModel model(data, Criteria::hamming);
  Executor executor(1);
  RunControl stops([](const Progress&) { return false; });
  Sgd sgd(model, MarginRescaling{}, MarginSearch{}, {.max_passes = 5}, executor, stops);
  const auto fit = sgd.run();
  EXPECT_EQ(fit.stop, Stop::interrupted);
  EXPECT_EQ(fit.passes, 1);
  RunControl control;
  for (const bool one_slack : {false, true}) {
    RunControl stops_too([](const Progress&) { return false; });
    CuttingPlane cutting_plane(
        model, MarginRescaling{}, MarginSearch{},
        CuttingPlaneOptions{.C = 10, .tolerance = 1e-9, .one_slack = one_slack}, executor,
        stops_too);
    EXPECT_EQ(cutting_plane.run().stop, Stop::interrupted);
    CuttingPlane limited(
        model, MarginRescaling{}, MarginSearch{},
        CuttingPlaneOptions{.C = 10, .tolerance = 1e-9, .max_rounds = 3, .one_slack = one_slack},
        executor, control);
    const auto early = limited.run();
    EXPECT_EQ(early.stop, Stop::pass_limit);
    EXPECT_EQ(early.passes, 3);
    EXPECT_LE(early.dual, early.primal);
  }
}

TEST(StructuredSolvers, know_no_objective_where_the_time_ends_before_the_first_search) {
  // BCFW reported an objective of 0 and a gap of 0, as if all rows were separated.
  const SequenceData data = noisy_sequences(9, 4);
  const ChainModel model(data, Criteria::hamming);
  Executor executor(1);
  RunControl out_of_time({}, 1e-9);
  Bcfw bcfw(model, MarginRescaling{}, MarginSearch{}, {}, executor, out_of_time);
  CuttingPlane cutting_plane(model, MarginRescaling{}, MarginSearch{}, {}, executor, out_of_time);
  for (const StructuredFit& fit : {bcfw.run(), cutting_plane.run()}) {
    EXPECT_EQ(fit.stop, Stop::time_limit);
    EXPECT_EQ(fit.passes, 0);
    EXPECT_TRUE(std::isnan(fit.primal));
    EXPECT_TRUE(std::isnan(fit.relative_gap));
    EXPECT_FALSE(fit.certified);
  }
}

TEST(Sgd, an_empty_training_set_throws) {
  const SequenceData data;
  const ChainModel model(data, Criteria::hamming);
  Executor executor(1);
  RunControl control;
  try {
    const Sgd sgd(model, MarginRescaling{}, MarginSearch{}, {}, executor, control);
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_STREQ(error.what(), "sgd: there are no examples, but must be at least one");
  }
}

/// What a solver with these example weights says.
template <class MakeSolver>
std::string refusal(const MakeSolver& make, const std::vector<double>& weights) {
  try {
    make(weights);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "";
}

TEST(StructuredSolvers, refuse_example_weights_below_zero_or_not_finite) {
  const SequenceData data = noisy_sequences(8, 3);
  const ChainModel model(data, Criteria::hamming);
  Executor executor(1);
  RunControl control;
  const auto sgd = [&](const std::vector<double>& weights) {
    const Sgd solver(model, MarginRescaling{}, MarginSearch{}, {}, executor, control, weights);
  };
  const auto bcfw = [&](const std::vector<double>& weights) {
    const Bcfw solver(model, MarginRescaling{}, MarginSearch{}, {}, executor, control, weights);
  };
  const auto cutting_plane = [&](const std::vector<double>& weights) {
    const CuttingPlane solver(model, MarginRescaling{}, MarginSearch{}, {}, executor, control,
                              weights);
  };
  const std::string below = ": weight of example 1 is -0.5, but must be finite and >= 0";
  EXPECT_EQ(refusal(sgd, {1, -0.5, 1}), "sgd" + below);
  EXPECT_EQ(refusal(bcfw, {1, -0.5, 1}), "bcfw" + below);
  EXPECT_EQ(refusal(cutting_plane, {1, -0.5, 1}), "cutting planes" + below);
  for (const double weight :
       {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THAT(refusal(sgd, {1, 1, weight}), ::testing::HasSubstr("sgd: weight of example 2 is "));
  }
  EXPECT_EQ(refusal(sgd, {1, 0, 1}), "");
}

}  // namespace
}  // namespace margrove
