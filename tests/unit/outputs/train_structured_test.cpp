// One core for every type of output: train_structured() with each solver,
// surrogate and search.
#include "structured/train_structured.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "outputs/chain/chain.hpp"
#include "outputs/label_set/label_set_svm.hpp"
#include "outputs/path/path_oracle.hpp"
#include "outputs/path/path_svm.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using testing::tiny_problem;
using testing::TinyProblem;

const std::vector<const char*> kSurrogatesOfPaths{
    "margin", "slack", "generalised:0.5,1.25", "beta:0.5",
    "log",    "prob",  "prob-convex",          "normalized-difference",
};

PathSvmResult train(const TinyProblem& p, const LeafLoss& loss, const StructuredTraining& training,
                    std::span<const double> row_weights = {},
                    const Continuation& continuation = {}) {
  Executor executor(1);
  RunControl control;
  return train_path_svm(p.X, p.leaf_of_row, p.graph, p.alpha, loss, training, executor, control,
                        row_weights, continuation);
}

PathSvmResult train_sets(const TinyProblem& p, const LabelSets& sets, LabelSetTask task,
                         const StructuredTraining& training,
                         std::span<const double> row_weights = {}) {
  Executor executor(1);
  RunControl control;
  return train_label_set_svm(p.X, sets, p.graph, p.alpha, task, training, executor, control,
                             row_weights);
}

/// The loss of one row at node weights U, by looking at every leaf.
double brute_force_loss(const TinyProblem& p, const WeightMatrix& U, std::size_t i,
                        const PathLoss& loss, const DynamicSurrogate& psi) {
  std::vector<float> scores(U.num_nodes());
  U.scores(p.X.row(i), scores);
  const auto score = [&](NodeId leaf) {
    double sum = 0.0;
    for (const NodeId n : p.graph.ancestors(leaf)) sum += static_cast<double>(scores[n]);
    return sum;
  };
  const NodeId truth = p.leaf_of_row[i];
  double worst = 0.0;
  for (const NodeId leaf : p.graph.leaves()) {
    if (leaf == truth) continue;
    worst = std::max(worst, psi.value(score(leaf) - score(truth), loss(leaf, truth)));
  }
  return worst;
}

TEST(TrainStructured, cutting_planes_and_bcfw_reach_the_same_optimum_on_paths) {
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(seed);
    const TinyProblem p = tiny_problem(9, seed == 1 ? 0.4 : 0.0, 20, 5, seed);
    std::vector<double> row_weights(20, 1.0);
    row_weights[3] = 2.5;
    row_weights[4] = 0.0;
    for (const TaskLoss loss : {TaskLoss::hamming, TaskLoss::normalized}) {
      for (const char* surrogate : {"margin", "slack", "normalized-difference"}) {
        SCOPED_TRACE(surrogate);
        StructuredTraining training{.surrogate = AnySurrogate::parse(surrogate),
                                    .solver = StructuredSolver::bcfw,
                                    .C = 0.3,
                                    .tolerance = 1e-4,
                                    .max_passes = 3000};
        const StructuredFit bcfw = train(p, loss, training, row_weights).fit;
        EXPECT_TRUE(bcfw.certified);
        EXPECT_LE(bcfw.relative_gap, 1e-4);
        for (const auto solver : {StructuredSolver::cutting_plane, StructuredSolver::one_slack}) {
          training.solver = solver;
          const StructuredFit planes = train(p, loss, training, row_weights).fit;
          EXPECT_EQ(planes.stop, Stop::converged);
          EXPECT_TRUE(planes.certified);
          EXPECT_NEAR(planes.primal, bcfw.primal, 2e-4 * bcfw.primal);
        }
      }
    }
  }
}

TEST(TrainStructured, cutting_planes_and_bcfw_reach_the_same_optimum_on_label_sets) {
  for (const double extra_parents : {0.0, 0.5}) {
    const TinyProblem p = tiny_problem(10, extra_parents, 20, 5, 6);
    const LabelSets sets = testing::random_leaf_sets(p, 6);
    const std::vector<double> row_weights(20, 0.5);
    StructuredTraining training{.C = 0.4, .tolerance = 1e-4, .max_passes = 3000};
    for (const auto maximum : {Inference::exact, Inference::relaxed}) {
      training.solver = StructuredSolver::bcfw;
      const StructuredFit bcfw = train_sets(p, sets, {maximum}, training, row_weights).fit;
      for (const auto solver : {StructuredSolver::cutting_plane, StructuredSolver::one_slack}) {
        training.solver = solver;
        const StructuredFit planes = train_sets(p, sets, {maximum}, training, row_weights).fit;
        EXPECT_EQ(planes.stop, Stop::converged);
        EXPECT_NEAR(planes.primal, bcfw.primal, 2e-4 * bcfw.primal);
      }
    }
  }
}

TEST(TrainStructured, the_reported_primal_of_every_surrogate_is_what_enumeration_finds) {
  const TinyProblem p = tiny_problem(11, 0.2, 25, 5, 4);
  for (const char* surrogate : kSurrogatesOfPaths) {
    SCOPED_TRACE(surrogate);
    const DynamicSurrogate psi(AnySurrogate::parse(surrogate));
    const bool is_difference = is<NormalizedDifference>(psi.any());
    const PathLoss loss(is_difference ? TaskLoss::normalized : TaskLoss::hamming, p.graph, p.alpha);
    const StructuredTraining training{
        .surrogate = psi.any(), .C = 0.5, .tolerance = 1e-3, .max_passes = 3000, .epochs = 20};
    const PathSvmResult result = train(p, TaskLoss::hamming, training);
    const bool is_sgd = chosen_solver(training.solver, training.surrogate) == StructuredSolver::sgd;
    EXPECT_EQ(result.fit.stop, is_sgd ? Stop::epochs_done : Stop::converged);
    double primal = 0.0;
    for (std::size_t i = 0; i < 25; ++i) {
      primal += 0.5 * brute_force_loss(p, result.weights, i, loss, psi);
    }
    // ||W_n||^2 = ||U_n||^2 / alpha_n
    for (NodeId n = 0; n < p.graph.num_nodes(); ++n) {
      for (FeatureId j = 0; j < 5; ++j) {
        primal += 0.5 * std::pow(double(result.weights.at(j, n)), 2) / p.alpha[n];
      }
    }
    EXPECT_NEAR(result.fit.primal, primal, 1e-4 * primal);
    EXPECT_EQ(result.fit.certified, psi.is_affine());
  }
}

TEST(TrainStructured, slack_rescaling_on_paths_equals_enumeration_with_every_exact_search) {
  const TinyProblem p = tiny_problem(12, 0.3, 15, 5, 8);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::hamming);
  Random random(8);
  std::vector<float> w(model.num_weights());
  for (float& each : w) each = static_cast<float>(random.normal());
  PathModel::Workspace workspace;
  const DynamicSurrogate psi{AnySurrogate(SlackRescaling{})};
  AnySearch enumeration = AnySearch::make(StructuredSearch::enumeration, {});
  AnySearch hull = AnySearch::make(StructuredSearch::convex_hull, {.max_bans = 1000});
  for (std::size_t i = 0; i < 15; ++i) {
    const auto oracle = model.oracle(i, {w, 0.4}, workspace);
    double best = 0.0;
    for (const NodeId leaf : p.graph.leaves()) {
      const auto y = oracle.evaluate(leaf);
      best = std::max(best, (1.0 + y.m) * y.g);
    }
    LabelCache<NodeId> cache;
    const auto found = enumeration(oracle, psi, cache);
    EXPECT_EQ(found.value, best);
    EXPECT_EQ(found.upper_bound, best);
    const auto bounded = hull(oracle, psi, cache);  // paths have no list of bans
    EXPECT_LE(bounded.value, best);
    EXPECT_GE(bounded.upper_bound, best * (1 - 1e-9));
  }
}

TEST(TrainStructured, a_row_of_weight_2_is_the_row_twice_for_every_solver) {
  const TinyProblem once = tiny_problem(8, 0.0, 10, 4, 2);
  TinyProblem twice = once;
  twice.X = CsrMatrix(4);
  twice.leaf_of_row.clear();
  for (std::size_t i = 0; i < 10; ++i) {
    for (int copy = 0; copy < 2; ++copy) {
      twice.X.append_row(once.X.row(i).columns, once.X.row(i).values);
      twice.leaf_of_row.push_back(once.leaf_of_row[i]);
    }
  }
  const std::vector<double> weights(10, 2.0);
  for (const auto solver : {StructuredSolver::bcfw, StructuredSolver::cutting_plane,
                            StructuredSolver::one_slack, StructuredSolver::sgd}) {
    SCOPED_TRACE(name_of(solver));
    const StructuredTraining training{
        .solver = solver, .C = 0.2, .tolerance = 1e-4, .max_passes = 3000, .epochs = 2000};
    const double primal = train(once, TaskLoss::hamming, training, weights).fit.primal;
    EXPECT_NEAR(train(twice, TaskLoss::hamming, training).fit.primal, primal, 3e-3 * primal);
  }
}

TEST(TrainStructured, automatic_solver_and_search_follow_from_the_surrogate) {
  const OracleAbilities few{}, all{.enumerates = true, .has_slope_bounds = true};
  const auto solver_of = [](const char* name) {
    return chosen_solver(StructuredSolver::automatic, AnySurrogate::parse(name));
  };
  const auto search_of = [](const char* name, const OracleAbilities& oracle) {
    return chosen_search(StructuredSearch::automatic, AnySurrogate::parse(name),
                         StructuredSolver::sgd, oracle);
  };
  EXPECT_EQ(solver_of("margin"), StructuredSolver::bcfw);
  EXPECT_EQ(solver_of("normalized-difference"), StructuredSolver::bcfw);
  EXPECT_EQ(solver_of("log"), StructuredSolver::sgd);
  EXPECT_EQ(search_of("margin", all), StructuredSearch::margin);
  EXPECT_EQ(search_of("slack", all), StructuredSearch::enumeration);
  EXPECT_EQ(search_of("slack", few), StructuredSearch::convex_hull);
}

/// Costs that no hierarchy explains, one row per true leaf.
std::vector<double> odd_costs(const TinyProblem& p) {
  const std::size_t size = p.graph.leaves().size();
  std::vector<double> costs(size * size);
  for (std::size_t k = 0; k < costs.size(); ++k) {
    if (k / size != k % size) costs[k] = 0.5 + static_cast<double>((3 * (k / size) + k % size) % 4);
  }
  return costs;
}

TEST(TrainStructured, a_cost_matrix_is_a_task_loss_for_every_solver) {
  const TinyProblem p = tiny_problem(10, 0.2, 25, 5, 5);
  const std::vector<double> costs = odd_costs(p);
  const LeafLoss loss = LeafLoss(TaskLoss::hamming, costs);
  const PathLoss task_loss(loss, p.graph, p.alpha);
  for (const char* surrogate : {"margin", "slack"}) {
    SCOPED_TRACE(surrogate);
    StructuredTraining training{.surrogate = AnySurrogate::parse(surrogate),
                                .solver = StructuredSolver::bcfw,
                                .C = 0.3,
                                .tolerance = 1e-4,
                                .max_passes = 3000};
    const PathSvmResult bcfw = train(p, loss, training);
    double losses = 0.0;
    for (std::size_t i = 0; i < 25; ++i) {
      losses +=
          brute_force_loss(p, bcfw.weights, i, task_loss, DynamicSurrogate(training.surrogate));
    }
    EXPECT_GT(losses, 0.0);
    EXPECT_GE(bcfw.fit.primal, 0.3 * losses);
    for (const auto solver : {StructuredSolver::cutting_plane, StructuredSolver::one_slack}) {
      training.solver = solver;
      EXPECT_NEAR(train(p, loss, training).fit.primal, bcfw.fit.primal, 2e-4 * bcfw.fit.primal);
    }
  }
}

TEST(TrainStructured, margin_rescaling_with_costs_equals_the_path_loss_written_as_costs) {
  const TinyProblem p = tiny_problem(10, 0.2, 25, 5, 5);
  const PathLoss hamming(TaskLoss::hamming, p.graph, p.alpha);
  std::vector<double> costs;
  for (const NodeId truth : p.graph.leaves()) {
    for (const NodeId leaf : p.graph.leaves()) costs.push_back(hamming(leaf, truth));
  }
  const StructuredTraining training{.C = 0.3, .tolerance = 1e-3};
  EXPECT_EQ(train(p, TaskLoss::hamming, training).fit.primal,
            train(p, LeafLoss(TaskLoss::hamming, costs), training).fit.primal);
}

TEST(TrainStructured, costs_that_do_not_fit_are_errors) {
  const TinyProblem p = tiny_problem(10, 0.0, 5, 4, 5);
  std::vector<double> costs = odd_costs(p);
  const auto message = [&] {
    try {
      train(p, LeafLoss(TaskLoss::hamming, costs), {});
    } catch (const InvalidInput& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  costs[1] = -1;
  EXPECT_THAT(message(), ::testing::HasSubstr("is -1, but must be finite and >= 0"));
  costs[1] = 1;
  costs[0] = 2;
  EXPECT_THAT(message(), ::testing::HasSubstr("is the true one is 2, but must be 0"));
  costs.pop_back();
  EXPECT_THAT(message(), ::testing::HasSubstr("but must be one per pair of leaves"));
}

template <class Function>
std::string message_of(Function function) {
  try {
    function();
  } catch (const InvalidOption& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(TrainStructured, each_combination_that_cannot_be_names_both_options_and_the_reason) {
  struct Case {
    StructuredSolver solver;
    const char* surrogate;
    StructuredSearch search;
    const char* message;
  };
  constexpr auto kAuto = StructuredSearch::automatic;
  const std::vector<Case> cases{
      {StructuredSolver::bcfw, "log", kAuto,
       "option solver is 'bcfw', but surrogate log is not affine in the "
       "margin; use sgd"},
      {StructuredSolver::cutting_plane, "prob", kAuto,
       "option solver is 'cutting-plane', but surrogate prob is not convex in "
       "the margin; use sgd"},
      {StructuredSolver::one_slack, "prob", kAuto,
       "option solver is 'one-slack', but surrogate prob is not convex in the "
       "margin; use sgd"},
      {StructuredSolver::automatic, "micro-f1", kAuto,
       "option surrogate is 'micro-f1', which this type of output does not "
       "support; use margin or slack"},
      {StructuredSolver::automatic, "slack", StructuredSearch::margin,
       "option search is 'margin', but surrogate slack needs convex-hull"},
      {StructuredSolver::automatic, "beta:0.5", StructuredSearch::bisecting,
       "option search is 'bisecting', which serves slack rescaling only, but "
       "surrogate is "
       "beta:0.5"},
      {StructuredSolver::bcfw, "slack", StructuredSearch::sarawagi,
       "option search is 'sarawagi', which needs the slacks of solver "
       "cutting-plane, but solver is "
       "bcfw"},
      {StructuredSolver::automatic, "slack", StructuredSearch::angular,
       "option search is 'angular', but this model has no oracle with bounds "
       "on the slope; use "
       "convex-hull or bisecting"},
      {StructuredSolver::automatic, "normalized-difference", StructuredSearch::convex_hull,
       "option search is 'convex-hull', but surrogate normalized-difference "
       "does not increase with "
       "the task loss; use enumeration"},
  };
  const TinyProblem p = tiny_problem(8, 0.0, 6, 4, 2);
  for (const auto& [solver, surrogate, search, message] : cases) {
    const StructuredTraining training{
        .surrogate = AnySurrogate::parse(surrogate), .search = search, .solver = solver};
    EXPECT_EQ(message_of([&] { train(p, TaskLoss::hamming, training); }), message);
  }
}

TEST(TrainStructured, all_losses_of_label_sets_have_a_certified_optimum) {
  for (const double extra_parents : {0.0, 0.5}) {
    SCOPED_TRACE(extra_parents);
    TinyProblem p = tiny_problem(9, extra_parents, 20, 5, 7);
    EXPECT_EQ(p.graph.is_tree(), extra_parents == 0.0);
    for (NodeId n = 0; n < p.graph.num_nodes(); ++n) p.alpha[n] = 0.2 + 0.15 * (n % 4);
    const LabelSets sets = testing::random_leaf_sets(p, 2);
    std::set<double> optima;
    for (const LabelSetLoss loss :
         {LabelSetLoss::leaves, LabelSetLoss::nodes, LabelSetLoss::normalized}) {
      SCOPED_TRACE(name_of(loss));
      StructuredTraining training{.C = 0.3, .tolerance = 1e-4, .max_passes = 3000, .max_bans = 200};
      if (loss == LabelSetLoss::normalized) {
        training.surrogate = GeneralisedScaling(0, 0.5);
      } else {
        training.max_bans = {};
      }
      const LabelSetTask task{.loss = loss};
      const StructuredFit bcfw = train_sets(p, sets, task, training).fit;
      EXPECT_EQ(bcfw.stop, Stop::converged);
      EXPECT_TRUE(bcfw.certified);
      training.solver = StructuredSolver::one_slack;
      const StructuredFit planes = train_sets(p, sets, task, training).fit;
      EXPECT_TRUE(planes.certified);
      EXPECT_NEAR(planes.primal, bcfw.primal, 2e-4 * bcfw.primal);
      optima.insert(bcfw.primal);
    }
    EXPECT_EQ(optima.size(), 3u);
  }
}

TEST(TrainStructured, label_sets_refuse_what_needs_all_of_them) {
  const TinyProblem p = tiny_problem(8, 0.0, 6, 4, 2);
  const LabelSets sets = testing::random_leaf_sets(p, 2);
  const auto message = [&](const StructuredTraining& training, Inference maximum) {
    return message_of([&] { train_sets(p, sets, {maximum}, training); });
  };
  EXPECT_EQ(message({.surrogate = NormalizedDifference{}}, Inference::exact),
            "option surrogate is 'normalized-difference', which does not increase "
            "with the task "
            "loss, so that all labellings must be enumerated; this type of output has "
            "too many");
  EXPECT_EQ(message({.surrogate = SlackRescaling{}, .search = StructuredSearch::enumeration},
                    Inference::exact),
            "option search is 'enumeration', but this type of output has too "
            "many labellings; use convex-hull");
  EXPECT_EQ(message({.surrogate = SlackRescaling{}}, Inference::relaxed),
            "option inference is 'relaxed', which needs margin rescaling, but surrogate is slack");
}

TEST(TrainStructured, solvers_without_a_state_refuse_to_go_on) {
  const TinyProblem p = tiny_problem(8, 0.0, 6, 4, 2);
  EXPECT_EQ(message_of([&] {
              train(p, TaskLoss::hamming, {.solver = StructuredSolver::one_slack}, {},
                    {.keep = true});
            }),
            "option solver is 'one-slack', which cannot continue an earlier "
            "run; use bcfw or sgd");
}

TEST(TrainStructured, normalized_differences_have_a_loss_of_their_own) {
  const TinyProblem p = tiny_problem(8, 0.0, 6, 4, 2);
  const std::vector<double> costs = odd_costs(p);
  EXPECT_EQ(message_of([&] {
              train(p, LeafLoss(TaskLoss::hamming, costs), {.surrogate = NormalizedDifference{}});
            }),
            "option surrogate is 'normalized-difference', which divides by the path loss, but the "
            "task loss is a cost matrix");
}

TEST(TrainStructured, duals_of_another_surrogate_are_no_start) {
  const TinyProblem p = tiny_problem(9, 0.0, 15, 4, 3);
  const StructuredTraining margin{.C = 0.5, .tolerance = 1e-4};
  const StructuredTraining slack{.surrogate = SlackRescaling{}, .C = 0.5, .tolerance = 1e-4};
  const PathSvmResult first = train(p, TaskLoss::hamming, margin, {}, {.keep = true});
  EXPECT_EQ(train(p, TaskLoss::hamming, slack, {}, {.start = first.state.get()}).fit.passes,
            train(p, TaskLoss::hamming, slack).fit.passes);
  const PathSvmResult second = train(p, TaskLoss::hamming, slack, {}, {.keep = true});
  EXPECT_LT(train(p, TaskLoss::hamming, slack, {}, {.start = second.state.get()}).fit.passes,
            second.fit.passes);
}

}  // namespace
}  // namespace margrove
