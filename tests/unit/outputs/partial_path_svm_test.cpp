// Structured SVMs over paths where the labels of some rows are partial.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "margrove/errors.hpp"
#include "outputs/path/path_oracle.hpp"
#include "outputs/path/path_solver.hpp"
#include "outputs/path/path_svm.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using testing::tiny_problem;
using testing::TinyProblem;

/// A tiny problem in which some rows have an ancestor of their leaf as label.
struct PartialProblem {
  TinyProblem tiny;
  std::vector<NodeId> labels;
  LeafChoices choices;
};

PartialProblem partial_problem(std::uint64_t seed, std::size_t rows, double partial_share) {
  PartialProblem made{tiny_problem(static_cast<std::uint32_t>(6 + seed % 7),
                                   seed % 2 == 0 ? 0.0 : 0.4, rows, 5, seed),
                      {},
                      {}};
  Random random(seed, 11);
  const LabelGraph& graph = made.tiny.graph;
  for (const NodeId leaf : made.tiny.leaf_of_row) {
    const auto above = graph.ancestors(leaf);
    const bool is_partial = random.uniform() < partial_share;
    made.labels.push_back(is_partial ? above[random.below(above.size())] : leaf);
  }
  made.choices = LeafChoices(graph, made.labels, graph.leaves());
  return made;
}

StructuredTraining precise(AnySurrogate surrogate = MarginRescaling{}, double tolerance = 1e-6) {
  return {
      .surrogate = std::move(surrogate), .C = 0.7, .tolerance = tolerance, .max_passes = 200000};
}

PathSvmResult train(const PartialProblem& p, const StructuredTraining& training,
                    Executor& executor = Executor::serial(),
                    std::span<const double> row_weights = {}, const Continuation& keep = {},
                    TaskLoss loss = TaskLoss::hamming) {
  RunControl control;
  return train_partial_path_svm(p.tiny.X, p.labels, p.choices, p.tiny.graph, p.tiny.alpha, loss,
                                training, executor, control, row_weights, keep);
}

std::vector<NodeId> choices_of(const PartialProblem& p, std::size_t i) {
  const std::uint32_t set = p.choices.set_of(i);
  if (set == LeafChoices::kKnown) return {p.labels[i]};
  return {p.choices.set(set).begin(), p.choices.set(set).end()};
}

/// H(w) from its definition and the weights U, one row of features after the other.
double objective(const PartialProblem& p, const WeightMatrix& U, const StructuredTraining& training,
                 TaskLoss kind) {
  const LabelGraph& graph = p.tiny.graph;
  const PathLoss loss(kind, graph, p.tiny.alpha);
  double value = 0;
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (p.tiny.alpha[n] == 0) continue;
    for (FeatureId j = 0; j < p.tiny.X.num_columns(); ++j) {
      value += U.at(j, n) * U.at(j, n) / (2 * p.tiny.alpha[n]);
    }
  }
  const DynamicSurrogate psi(training.surrogate);
  for (std::size_t i = 0; i < p.labels.size(); ++i) {
    const SparseRow x = p.tiny.X.row(i);
    const auto score = [&](NodeId leaf) {
      double sum = 0;
      for (const NodeId n : graph.ancestors(leaf)) {
        for (std::size_t k = 0; k < x.size(); ++k)
          sum += double{x.values[k]} * U.at(x.columns[k], n);
      }
      return sum;
    };
    double best = -std::numeric_limits<double>::infinity();
    for (const NodeId k : choices_of(p, i)) best = std::max(best, score(k));
    double largest = 0;
    for (const NodeId leaf : graph.leaves()) {
      double g = std::numeric_limits<double>::infinity();
      for (const NodeId k : choices_of(p, i)) g = std::min(g, loss(leaf, k));
      largest = std::max(largest, psi.value(score(leaf) - best, g));
    }
    value += training.C * largest;
  }
  return value;
}

std::vector<float> numbers(const WeightMatrix& U) {
  std::vector<float> all;
  for (FeatureId j = 0; j < U.num_features(); ++j) {
    for (NodeId n = 0; n < U.num_nodes(); ++n) all.push_back(U.at(j, n));
  }
  return all;
}

TEST(LeafChoices, are_the_candidates_below_a_label_and_the_loss_is_that_to_the_nearest) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const PartialProblem p = partial_problem(seed, 12, 0.6);
    const LabelGraph& graph = p.tiny.graph;
    const std::vector<NodeId> some(graph.leaves().begin(), graph.leaves().end());
    const PathLoss loss(TaskLoss::normalized, graph, p.tiny.alpha);
    std::vector<double> losses(some.size());
    for (std::size_t i = 0; i < p.labels.size(); ++i) {
      const std::uint32_t set = p.choices.set_of(i);
      EXPECT_EQ(set == LeafChoices::kKnown, graph.is_leaf(p.labels[i]));
      if (set == LeafChoices::kKnown) continue;
      loss.from_nearest(p.choices.set(set), losses);
      for (std::size_t k = 0; k < some.size(); ++k) {
        const auto above = graph.ancestors(some[k]);
        const bool is_below = std::ranges::count(above, p.labels[i]) > 0;
        EXPECT_EQ(std::ranges::count(p.choices.set(set), some[k]) > 0, is_below);
        double nearest = std::numeric_limits<double>::infinity();
        for (const NodeId choice : p.choices.set(set)) {
          nearest = std::min(nearest, loss(some[k], choice));
        }
        EXPECT_DOUBLE_EQ(losses[k], nearest);
        EXPECT_EQ(losses[k] == 0, is_below);
      }
    }
  }
  const LabelGraph tree = LabelGraph::build(4, std::vector<LabelEdge>{{0, 1}, {0, 2}, {0, 3}});
  const LeafChoices two(tree, std::vector<NodeId>{0, 2, 0}, std::vector<NodeId>{1, 3});
  EXPECT_EQ(two.num_sets(), 1U);
  EXPECT_THAT(two.set(0), ::testing::ElementsAre(1, 3));
  EXPECT_EQ(two.set_of(1), LeafChoices::kKnown);
  EXPECT_TRUE(LeafChoices(tree, std::vector<NodeId>{1, 2}, std::vector<NodeId>{1, 2}).all_known());
}

class PartialPaths : public ::testing::TestWithParam<AnySurrogate> {};

TEST_P(PartialPaths, no_round_raises_the_objective_and_the_last_one_is_that_of_its_definition) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const PartialProblem p = partial_problem(seed, 14, 0.6);
    if (p.choices.all_known()) continue;
    for (const TaskLoss loss : {TaskLoss::hamming, TaskLoss::normalized, TaskLoss::zero_one}) {
      const PathSvmResult found = train(p, precise(GetParam()), Executor::serial(), {}, {}, loss);
      EXPECT_EQ(found.fit.stop, Stop::converged);
      EXPECT_LE(found.fit.relative_gap, 1e-6);
      ASSERT_GE(found.rounds.size(), 2U);
      double lowest = found.rounds.front().objective;
      EXPECT_TRUE(std::isnan(found.rounds.front().dual));
      for (const auto& round : found.rounds) {
        EXPECT_LE(round.objective, lowest);
        lowest = round.objective;
      }
      EXPECT_NEAR(objective(p, found.weights, precise(GetParam()), loss), lowest,
                  1e-5 * lowest + 1e-9);
      EXPECT_NEAR(found.fit.primal, lowest, 1e-5 * lowest + 1e-9);
      EXPECT_EQ(found.fit.passes, found.rounds.back().passes);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(surrogates, PartialPaths,
                         ::testing::Values(AnySurrogate(MarginRescaling{}),
                                           AnySurrogate(SlackRescaling{}),
                                           AnySurrogate(GeneralisedScaling::of_beta(0.5))));

/// The minimum of H for all ways to choose leaves, by convex problems.
double global_minimum(const PartialProblem& p, const StructuredTraining& training) {
  std::vector<std::size_t> partial;
  std::vector<NodeId> leaf_of_row = p.labels;
  for (std::size_t i = 0; i < p.labels.size(); ++i) {
    if (p.choices.set_of(i) == LeafChoices::kKnown) continue;
    partial.push_back(i);
    leaf_of_row[i] = choices_of(p, i).front();
  }
  PathModel model(p.tiny.X, leaf_of_row, p.tiny.graph, p.tiny.alpha, TaskLoss::hamming,
                  NodeStorage::dense, {}, p.choices);
  double lowest = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> at(partial.size(), 0);
  for (;;) {
    for (std::size_t k = 0; k < partial.size(); ++k) {
      model.choose(partial[k], choices_of(p, partial[k])[at[k]]);
    }
    RunControl control;
    const auto found = solve_paths(model, training, {}, Executor::serial(), control);
    lowest = std::min(lowest, found.fit.primal);
    std::size_t k = 0;
    while (k < at.size() && ++at[k] == choices_of(p, partial[k]).size()) at[k++] = 0;
    if (k == at.size()) return lowest;
  }
}

TEST(PartialPathSvm, ends_near_the_best_of_all_assignments_and_never_below) {
  int num_best = 0, num_problems = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const PartialProblem p = partial_problem(seed, 10, 0.35);
    double num_assignments = 1;
    for (std::size_t i = 0; i < p.labels.size(); ++i) {
      num_assignments *= static_cast<double>(choices_of(p, i).size());
    }
    if (p.choices.all_known() || num_assignments > 64) continue;
    SCOPED_TRACE(seed);
    const StructuredTraining training = precise(MarginRescaling{}, 1e-5);
    const double lowest = global_minimum(p, training);
    const double found = train(p, training).fit.primal;
    EXPECT_GE(found, lowest * (1 - 1e-5));
    EXPECT_LE(found, lowest * 1.5);
    ++num_problems;
    num_best += found <= lowest * (1 + 1e-3) ? 1 : 0;
  }
  EXPECT_GE(num_problems, 8);
  EXPECT_GE(2 * num_best, num_problems);
}

TEST(PartialPathSvm, every_solver_ends_at_a_local_optimum_of_its_own) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const PartialProblem p = partial_problem(seed, 12, 0.5);
    if (p.choices.all_known()) continue;
    const double bcfw = train(p, precise(MarginRescaling{}, 1e-4)).fit.primal;
    for (const auto solver : {StructuredSolver::cutting_plane, StructuredSolver::one_slack}) {
      StructuredTraining planes = precise(MarginRescaling{}, 1e-4);
      planes.solver = solver;
      planes.max_passes = 2000;
      const PathSvmResult found = train(p, planes);
      EXPECT_EQ(found.fit.stop, Stop::converged);
      EXPECT_LE(found.fit.relative_gap, 1e-4);
      EXPECT_NEAR(objective(p, found.weights, planes, TaskLoss::hamming), found.fit.primal,
                  1e-3 * found.fit.primal);
      EXPECT_NEAR(found.fit.primal, bcfw, 5e-2 * bcfw);
      EXPECT_EQ(found.state, nullptr);
    }
  }
}

TEST(PartialPathSvm, is_the_same_to_the_bit_on_any_number_of_threads) {
  const PartialProblem p = partial_problem(3, 60, 0.5);
  const PathSvmResult one = train(p, precise());
  Executor four(4);
  const PathSvmResult other = train(p, precise(), four);
  EXPECT_EQ(numbers(one.weights), numbers(other.weights));
  EXPECT_EQ(one.fit.primal, other.fit.primal);
  EXPECT_EQ(one.rounds.size(), other.rounds.size());
}

TEST(PartialPathSvm, weights_of_rows_stand_for_repetitions) {
  const PartialProblem p = partial_problem(5, 12, 0.5);
  PartialProblem twice = p;
  std::vector<double> weights;
  for (std::size_t i = 0; i < p.labels.size(); ++i) {
    weights.push_back(i % 3 == 0 ? 2 : 1);
    if (i % 3 != 0) continue;
    twice.tiny.X.append_row(p.tiny.X.row(i).columns, p.tiny.X.row(i).values);
    twice.labels.push_back(p.labels[i]);
  }
  twice.choices = LeafChoices(p.tiny.graph, twice.labels, p.tiny.graph.leaves());
  const double weighted = train(p, precise(), Executor::serial(), weights).fit.primal;
  EXPECT_NEAR(train(twice, precise()).fit.primal, weighted, 1e-5 * weighted);
}

TEST(PartialPathSvm, goes_on_from_an_earlier_run_with_its_leaves) {
  const PartialProblem p = partial_problem(7, 40, 0.5);
  const PathSvmResult first = train(p, precise(), Executor::serial(), {}, {.keep = true});
  ASSERT_NE(first.state, nullptr);
  const PathSvmResult again =
      train(p, precise(), Executor::serial(), {}, {.start = first.state.get(), .keep = true});
  EXPECT_EQ(again.rounds.size(), 1U);
  EXPECT_LT(again.fit.passes, first.fit.passes);
  EXPECT_NEAR(again.fit.primal, first.fit.primal, 1e-5 * first.fit.primal);
  // A run with other choices starts anew.
  PartialProblem other = p;
  other.labels = p.tiny.leaf_of_row;
  const auto partial =
      std::ranges::find_if(p.labels, [&](NodeId n) { return !p.tiny.graph.is_leaf(n); });
  other.labels[static_cast<std::size_t>(partial - p.labels.begin())] = *partial;
  other.choices = LeafChoices(p.tiny.graph, other.labels, p.tiny.graph.leaves());
  const PathSvmResult anew = train(other, precise());
  const PathSvmResult continued =
      train(other, precise(), Executor::serial(), {}, {.start = first.state.get()});
  EXPECT_EQ(numbers(anew.weights), numbers(continued.weights));
}

TEST(PartialPathSvm, an_interruption_leaves_the_best_weights_so_far) {
  const PartialProblem p = partial_problem(9, 60, 0.6);
  const auto interrupted_after = [&](std::size_t num_rounds) {
    std::size_t rounds = 0;
    RunControl control([&](const Progress& progress) {
      if (progress.stage == "partial labels") ++rounds;
      return rounds < num_rounds;
    });
    return train_partial_path_svm(p.tiny.X, p.labels, p.choices, p.tiny.graph, p.tiny.alpha,
                                  TaskLoss::hamming, precise(), Executor::serial(), control);
  };
  const PathSvmResult first = interrupted_after(1);
  EXPECT_EQ(first.fit.stop, Stop::interrupted);
  ASSERT_EQ(first.rounds.size(), 1U);
  EXPECT_EQ(first.fit.primal, first.rounds.front().objective);
  EXPECT_TRUE(std::isnan(first.fit.relative_gap));  // nothing bounds it yet
  EXPECT_NEAR(objective(p, first.weights, precise(), TaskLoss::hamming), first.fit.primal,
              1e-5 * first.fit.primal);
  RunControl ended([](const Progress&) { return false; });
  EXPECT_FALSE(ended.proceed({}));
  const auto none =
      train_partial_path_svm(p.tiny.X, p.labels, p.choices, p.tiny.graph, p.tiny.alpha,
                             TaskLoss::hamming, precise(), Executor::serial(), ended);
  EXPECT_EQ(none.fit.stop, Stop::interrupted);
  EXPECT_TRUE(none.rounds.empty());
}

TEST(PartialPathSvm, a_round_that_reaches_the_limit_of_passes_is_the_last_one) {
  const PartialProblem p = partial_problem(9, 60, 0.6);
  StructuredTraining training = precise();
  const PathSvmResult whole = train(p, training);
  ASSERT_GE(whole.rounds.size(), 2U);
  training.max_passes = 2;
  const PathSvmResult part = train(p, training);
  EXPECT_EQ(part.rounds.size(), 2U);  // the first one only gives a start
  EXPECT_LE(part.fit.passes, 4);
  EXPECT_EQ(part.fit.stop, Stop::pass_limit);
  EXPECT_LE(part.fit.primal, part.rounds.back().objective * 1.5);
}

TEST(PartialPathSvm, what_has_no_rounds_throws) {
  const PartialProblem p = partial_problem(3, 12, 0.5);
  StructuredTraining sgd;
  sgd.solver = StructuredSolver::sgd;
  EXPECT_THAT([&] { train(p, sgd); },
              ThrowsMessage<InvalidOption>(HasSubstr("but solver sgd, which surrogate 'margin'")));
  EXPECT_THAT([&] { train(p, {.surrogate = NormalizedDifference{}}); },
              ThrowsMessage<InvalidOption>(HasSubstr("which divides by the task loss")));
  StructuredTraining planes;
  planes.solver = StructuredSolver::cutting_plane;
  EXPECT_THAT([&] { train(p, planes, Executor::serial(), {}, {.keep = true}); },
              ThrowsMessage<InvalidOption>(HasSubstr("which cannot continue an earlier run")));
}

TEST(PartialPathSvm, memory_grows_with_the_choices) {
  const PartialProblem p = partial_problem(3, 40, 0.5);
  const auto bytes = [&](const LeafChoices& choices) {
    return partial_path_svm_memory(p.tiny.X, choices, p.tiny.graph, p.tiny.alpha, precise(), 2)
        .total();
  };
  const auto plain = path_svm_memory(p.tiny.X, p.tiny.graph, p.tiny.alpha, false, precise(), {}, 2);
  EXPECT_GT(bytes({}), plain.total());
  EXPECT_GT(bytes(p.choices), bytes({}));
}

}  // namespace
}  // namespace margrove
