#include "structured/bcfw.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "counted_seconds.hpp"
#include "margin_fit.hpp"
#include "num_cases.hpp"
#include "outputs/field/pairwise_field.hpp"
#include "outputs/label_set/label_set_oracle.hpp"
#include "outputs/label_set/label_set_svm.hpp"
#include "outputs/path/path_loss.hpp"
#include "outputs/path/path_oracle.hpp"
#include "outputs/path/path_svm.hpp"
#include "structured/angular.hpp"
#include "structured/convex_hull.hpp"
#include "structured/sgd.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using testing::margin_fit;
using ::testing::ThrowsMessage;
using testing::tiny_problem;
using testing::TinyProblem;

/// The same model with nothing but what every structured model must have, and with an oracle made
/// of the model's.
template <class Model, class OracleOfPlain>
struct PlainModel {
  using Labelling = typename Model::Labelling;
  using Workspace = typename Model::Workspace;
  const Model& model;
  std::size_t num_examples() const { return model.num_examples(); }
  std::size_t num_weights() const { return model.num_weights(); }
  decltype(auto) truth(std::size_t i) const { return model.truth(i); }
  OracleOfPlain oracle(std::size_t i, ScaledWeights w, Workspace& workspace) const {
    return {model.oracle(i, w, workspace)};
  }
  void difference(std::size_t i, const Labelling& y, SparseVector& out) const {
    model.difference(i, y, out);
  }
};
using PlainPathModel = PlainModel<PathModel, PathModel::Oracle>;
static_assert(ImplicitDifferences<PathModel>);
static_assert(StructuredModel<PlainPathModel> && !ImplicitDifferences<PlainPathModel>);

double optimum(const TinyProblem& p, TaskLoss kind, double C,
               std::span<const double> row_weights = {}) {
  const PathLoss loss(kind, p.graph, p.alpha);
  std::vector<double> budgets(p.leaf_of_row.size(), C);
  for (std::size_t i = 0; i < row_weights.size(); ++i) budgets[i] *= row_weights[i];
  return testing::reference_path_optimum(p, budgets, loss, [](NodeId, NodeId) { return 1.0; });
}

TEST(Bcfw, reaches_the_optimum_with_every_kind_of_step) {
  Executor executor(1);
  for (std::uint64_t seed = 0; seed < num_cases(8); ++seed) {
    const TinyProblem p =
        tiny_problem(static_cast<std::uint32_t>(5 + seed), seed % 2 == 0 ? 0.0 : 0.4, 7, 4, seed);
    for (const TaskLoss loss : {TaskLoss::hamming, TaskLoss::normalized}) {
      const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, loss);
      const double best = optimum(p, loss, 0.7);
      for (const int minibatch : {1, 3}) {
        const BcfwOptions options{
            .C = 0.7, .tolerance = 1e-6, .max_passes = 3000, .minibatch = minibatch};
        for (const StructuredFit& found : {margin_fit(model, options, executor),
                                           margin_fit(PlainPathModel{model}, options, executor)}) {
          EXPECT_EQ(found.stop, Stop::converged) << "seed " << seed;
          EXPECT_TRUE(found.certified);
          EXPECT_NEAR(found.primal, best, 3e-6 * best) << "seed " << seed;
          EXPECT_NEAR(found.dual, best, 3e-6 * best) << "seed " << seed;
        }
      }
      for (const bool averaging : {false, true}) {
        const BcfwOptions options{.C = 0.7,
                                  .tolerance = 2e-2,
                                  .max_passes = 20000,
                                  .cached_passes = 0,
                                  .pairwise = false,
                                  .averaging = averaging};
        const StructuredFit found = margin_fit(model, options, executor);
        EXPECT_EQ(found.stop, Stop::converged) << "seed " << seed << " averaging " << averaging;
        EXPECT_GE(found.primal, best * (1 - 1e-6));
        EXPECT_LE(found.dual, best * (1 + 1e-6));
      }
    }
  }
}

TEST(Bcfw, dual_never_falls_and_primal_never_is_below_it) {
  const TinyProblem p = tiny_problem(15, 0.2, 40, 10, 3);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized);
  Executor executor(1);
  for (const bool pairwise : {true, false}) {
    double last = 0.0;
    for (int passes = 1; passes < 25; ++passes) {
      const StructuredFit found = margin_fit(
          model, {.C = 2, .tolerance = 1e-12, .max_passes = passes, .pairwise = pairwise},
          executor);
      EXPECT_EQ(found.passes, passes);
      EXPECT_EQ(found.stop, Stop::pass_limit);
      EXPECT_GE(found.dual, last * (1 - 1e-6));
      EXPECT_GE(found.primal, found.dual * (1 - 1e-6));
      last = found.dual;
    }
  }
}

TEST(Bcfw, same_bits_on_1_2_and_5_threads) {
  const TinyProblem p = tiny_problem(30, 0.2, 100, 12, 5);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized);
  Executor serial(1);
  std::vector<float> expected;
  const BcfwOptions options{.C = 1, .tolerance = 1e-3, .minibatch = 16};
  margin_fit(model, options, serial, &expected);
  for (const int threads : {2, 5}) {
    Executor executor(threads);
    std::vector<float> weights;
    margin_fit(model, options, executor, &weights);
    EXPECT_EQ(weights, expected);
  }
}

TEST(Bcfw, warm_start_from_its_own_answer_converges_at_once) {
  const TinyProblem p = tiny_problem(12, 0.0, 25, 5, 6);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::hamming);
  Executor executor(1);
  RunControl control;
  const BcfwOptions options{.C = 1, .tolerance = 1e-4};
  Bcfw first(model, MarginRescaling{}, MarginSearch{}, options, executor, control);
  const StructuredFit cold = first.run();
  Bcfw second(model, MarginRescaling{}, MarginSearch{}, options, executor, control);
  second.warm_start(first.take_active());
  const StructuredFit warm = second.run();
  EXPECT_LE(warm.passes, 2);
  EXPECT_GT(cold.passes, 2);
  EXPECT_NEAR(warm.primal, cold.primal, 2e-4 * cold.primal);
  // Scaled down to a smaller budget the dual variables stay feasible.
  Bcfw third(model, MarginRescaling{}, MarginSearch{}, {.C = 0.3, .tolerance = 1e-5}, executor,
             control);
  third.warm_start(second.take_active(), 0.9);
  const StructuredFit smaller = third.run();
  EXPECT_NEAR(smaller.primal, optimum(p, TaskLoss::hamming, 0.3), 2e-5 * smaller.primal);
}

TEST(Bcfw, certifies_its_gap_only_where_every_search_was_exact) {
  int claimed = 0;
  for (std::uint64_t seed = 0; seed < num_cases(8); ++seed) {
    Random random(seed, 4);
    CsrMatrix X(3);
    LabelSets labels;
    for (int i = 0; i < 12; ++i) {
      std::vector<LabelId> set;
      std::vector<float> values{1.0F, 0.0F, 0.0F};
      for (LabelId l = 0; l < 4; ++l) {
        if (random.below(2)) set.push_back(l);
        values[1 + l % 2] += static_cast<float>(random.normal() + (set.size() % 2 ? 0.5 : 0.0));
      }
      X.append_row(std::vector<FeatureId>{0, 1, 2}, values);
      labels.append(set);
    }
    const FieldModel model(X, labels, 4);
    Executor executor(1);
    RunControl control;
    const auto run = [&](int max_bans, int max_passes) {
      Bcfw solver(model, SlackRescaling{}, ConvexHullSearch{.max_bans = max_bans},
                  {.C = 0.5, .max_passes = max_passes}, executor, control);
      const StructuredFit fit = solver.run();
      const double objective =
          structured_objective(model, SlackRescaling{}, AngularSearch{.tolerance = 0}, 0.5,
                               {solver.weights()}, executor)
              .value;
      EXPECT_LE(fit.primal, objective * (1 + 1e-6));
      if (fit.certified) {
        EXPECT_NEAR(fit.primal, objective, 1e-6 * objective);
      }
      return fit.certified;
    };
    EXPECT_TRUE(run(1000, 300));
    claimed += run(0, 20);  // fractional optima are left as they are
  }
  EXPECT_LT(claimed, 8);
}

TEST(Bcfw, wrong_arguments_throw) {
  const TinyProblem p = tiny_problem(5, 0.0, 3, 3, 1);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::hamming);
  Executor executor(1);
  RunControl control;
  const auto make = [&](BcfwOptions options, std::vector<double> weights) {
    Bcfw solver(model, MarginRescaling{}, MarginSearch{}, options, executor, control, weights);
  };
  EXPECT_THAT([&] { make({.C = -1}, {}); },
              ThrowsMessage<InvalidOption>(HasSubstr("option C is -1")));
  EXPECT_THAT(
      [&] {
        make({}, {1, 2});
      },
      ThrowsMessage<InvalidInput>(HasSubstr("2 example weights, but must be one per")));
  EXPECT_THAT(
      [&] {
        make({}, {1, -2, 1});
      },
      ThrowsMessage<InvalidInput>(HasSubstr("weight of example 1 is -2")));
  Bcfw solver(model, MarginRescaling{}, MarginSearch{}, {}, executor, control);
  EXPECT_THAT([&] { solver.warm_start({}); },
              ThrowsMessage<InvalidInput>(HasSubstr("warm start of 0 examples, but must be 3")));
}

TEST(SimplexBlock, pairwise_and_frank_wolfe_steps_find_the_same_optimum) {
  for (std::uint64_t seed = 0; seed < num_cases(20); ++seed) {
    Random random(seed);
    const std::size_t size = 1 + seed % 5;
    std::vector<std::vector<double>> phi(size, std::vector<double>(3));
    SimplexBlock block;
    block.budget = block.rest = 1.5;
    block.duals.assign(size, 0.0);
    for (auto& each : phi) {
      for (double& v : each) v = random.normal();
      block.values.push_back(random.normal() + 1);
    }
    for (const auto& a : phi) {
      for (const auto& b : phi) {
        block.Q.push_back(a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
      }
    }
    SimplexBlock other = block;
    const double by_pairs = pairwise_steps(block, 1e-12, 10000);
    double by_corners = 0.0;
    for (int k = 0; k < 20000; ++k) {
      const double rise = frank_wolfe_step(other);
      EXPECT_GE(rise, 0.0);
      by_corners += rise;
    }
    EXPECT_LE(block.gap(), 1e-9);
    EXPECT_NEAR(by_pairs, by_corners, 1e-3 * (1 + by_pairs)) << "seed " << seed;
    EXPECT_GE(by_pairs, by_corners - 1e-12);
    double total = block.rest;
    for (const double dual : block.duals) {
      EXPECT_GE(dual, 0.0);
      total += dual;
    }
    EXPECT_NEAR(total, 1.5, 1e-12);
  }
}

// The path SVM --------------------------------------------------------------------------------

PathSvmResult train(const TinyProblem& p, const StructuredTraining& options, int threads = 1,
                    std::span<const double> row_weights = {}) {
  Executor executor(threads);
  RunControl control;
  return train_path_svm(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized, options,
                        executor, control, row_weights);
}

std::vector<double> path_scores(const TinyProblem& p, const WeightMatrix& U, std::size_t i) {
  std::vector<float> scores(U.num_nodes());
  U.scores(p.X.row(i), scores);
  std::vector<double> result;
  for (const NodeId leaf : p.graph.leaves()) {
    result.push_back(0.0);
    for (const NodeId n : p.graph.ancestors(leaf)) result.back() += static_cast<double>(scores[n]);
  }
  return result;
}

TEST(PathSvm, row_weights_act_as_repeated_rows) {
  const TinyProblem p = tiny_problem(9, 0.0, 6, 4, 11);
  const std::vector<double> weights{1, 0, 2.5, 1, 3, 0.5};
  const PathSvmResult result = train(p, {.tolerance = 1e-6, .max_passes = 5000}, 1, weights);
  const double best = optimum(p, TaskLoss::normalized, 1.0, weights);
  EXPECT_NEAR(result.fit.primal, best, 3e-6 * best);
}

TEST(PathSvm, leaves_only_at_C_is_crammer_singer_at_C_over_sqrt_two) {
  TinyProblem tree = tiny_problem(14, 0.0, 30, 6, 12);
  for (NodeId n = 0; n < tree.graph.num_nodes(); ++n) tree.alpha[n] = tree.graph.is_leaf(n);
  TinyProblem flat = tree;  // Crammer-Singer: no hierarchy, every mistake costs 1
  const auto leaves = tree.graph.leaves();
  flat.graph = LabelGraph::flat(static_cast<std::uint32_t>(leaves.size()));
  flat.alpha.assign(leaves.size(), 0.5);  // normalised loss 1; U = W / sqrt(2)
  for (NodeId& leaf : flat.leaf_of_row) {
    leaf = static_cast<NodeId>(std::find(leaves.begin(), leaves.end(), leaf) - leaves.begin());
  }
  // With alpha = 1/2, ||U||^2 / alpha = 2 ||U||^2: Crammer-Singer's objective times 2 at 2 C.
  const double C = 0.8;
  const PathSvmResult a = train(tree, {.C = C, .tolerance = 1e-7, .max_passes = 20000});
  const PathSvmResult b =
      train(flat, {.C = 2 * C / std::sqrt(2.0), .tolerance = 1e-7, .max_passes = 20000});
  const double crammer_singer = b.fit.primal / 2;
  EXPECT_NEAR(a.fit.primal, 2 * crammer_singer, 1e-6 * a.fit.primal);
  for (std::size_t i = 0; i < tree.X.num_rows(); ++i) {
    const auto with_tree = path_scores(tree, a.weights, i);
    const auto without = path_scores(flat, b.weights, i);
    for (std::size_t k = 1; k < with_tree.size(); ++k) {
      EXPECT_NEAR(with_tree[k] - with_tree[0], std::sqrt(2.0) * (without[k] - without[0]), 5e-3);
    }
  }
}

TEST(PathSvm, a_tree_given_as_a_dag_gets_the_trees_answer) {
  const TinyProblem tree = tiny_problem(12, 0.0, 30, 6, 13);
  TinyProblem dag = tree;  // a second path of weight 0 to one leaf makes it a DAG
  const NodeId extra = tree.graph.num_nodes();
  const NodeId leaf = tree.graph.leaves()[0];
  std::vector<LabelEdge> edges{{extra, leaf}};
  for (NodeId n = 0; n < extra; ++n) {
    for (const NodeId parent : tree.graph.parents(n)) edges.push_back({parent, n});
  }
  dag.graph = LabelGraph::build(extra + 1, edges);
  dag.alpha.push_back(0.0);
  ASSERT_FALSE(dag.graph.is_tree());
  const PathSvmResult a = train(tree, {.tolerance = 1e-6, .max_passes = 5000});
  const PathSvmResult b = train(dag, {.tolerance = 1e-6, .max_passes = 5000});
  EXPECT_NEAR(a.fit.primal, b.fit.primal, 2e-6 * a.fit.primal);
  for (std::size_t i = 0; i < tree.X.num_rows(); ++i) {
    const auto x = path_scores(tree, a.weights, i), y = path_scores(dag, b.weights, i);
    for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(x[k], y[k], 1e-2);
  }
}

TEST(PathSvm, renaming_labels_renames_the_answer) {
  const TinyProblem p = tiny_problem(12, 0.2, 30, 6, 14);
  const NodeId size = p.graph.num_nodes();
  std::vector<NodeId> name(size);
  std::iota(name.begin(), name.end(), 0U);
  Random(3).shuffle(std::span(name));
  TinyProblem renamed = p;
  std::vector<LabelEdge> edges;
  for (NodeId n = 0; n < size; ++n) {
    renamed.alpha[name[n]] = p.alpha[n];
    for (const NodeId parent : p.graph.parents(n)) edges.push_back({name[parent], name[n]});
  }
  renamed.graph = LabelGraph::build(size, edges);
  for (NodeId& leaf : renamed.leaf_of_row) leaf = name[leaf];
  const PathSvmResult a = train(p, {.tolerance = 1e-6, .max_passes = 5000});
  const PathSvmResult b = train(renamed, {.tolerance = 1e-6, .max_passes = 5000});
  EXPECT_NEAR(a.fit.primal, b.fit.primal, 2e-6 * a.fit.primal);
  for (FeatureId j = 0; j < p.X.num_columns(); ++j) {
    for (NodeId n = 0; n < size; ++n) {
      EXPECT_NEAR(a.weights.at(j, n), b.weights.at(j, name[n]), 5e-3);
    }
  }
}

TEST(PathSvm, normalized_differences_reach_their_optimum) {
  for (std::uint64_t seed = 0; seed < num_cases(6); ++seed) {
    const TinyProblem p =
        tiny_problem(static_cast<std::uint32_t>(4 + seed), seed % 2 == 0 ? 0.0 : 0.4, 7, 4, seed);
    const PathLoss loss(TaskLoss::normalized, p.graph, p.alpha);
    const std::vector<double> budgets(p.leaf_of_row.size(), 0.6);
    const double best = testing::reference_path_optimum(
        p, budgets, [](NodeId, NodeId) { return 1.0; },
        [&](NodeId a, NodeId b) { return 1.0 / loss(a, b); });
    const PathSvmResult result =
        train(p, {.surrogate = NormalizedDifference{}, .C = 0.6, .tolerance = 1e-6});
    EXPECT_NEAR(result.fit.primal, best, 3e-6 * best) << "seed " << seed;
    EXPECT_TRUE(result.fit.certified);
  }
}

TEST(PathSvm, sgd_and_bcfw_agree_on_the_objective) {
  const TinyProblem p = tiny_problem(12, 0.2, 60, 6, 21);
  const std::vector<double> weights(60, 1.5);
  for (const AnySurrogate& surrogate :
       {AnySurrogate(MarginRescaling{}), AnySurrogate(NormalizedDifference{})}) {
    const PathSvmResult exact =
        train(p, {.surrogate = surrogate, .C = 0.2, .tolerance = 1e-5}, 1, weights);
    const PathSvmResult sgd =
        train(p, {.surrogate = surrogate, .solver = StructuredSolver::sgd, .C = 0.2, .epochs = 300},
              1, weights);
    EXPECT_EQ(sgd.fit.passes, 300);
    EXPECT_GE(sgd.fit.primal, exact.fit.dual);
    EXPECT_LE(sgd.fit.primal, 1.01 * exact.fit.primal) << surrogate.to_text();
  }
}

TEST(Sgd, resumed_run_equals_one_in_one_piece) {
  const TinyProblem p = tiny_problem(12, 0.2, 40, 6, 22);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized);
  Executor executor(1);
  RunControl control;
  Sgd whole(model, MarginRescaling{}, MarginSearch{}, {.max_passes = 6}, executor, control);
  whole.run();
  Sgd first(model, MarginRescaling{}, MarginSearch{}, {.max_passes = 2}, executor, control);
  first.run();
  Sgd second(model, MarginRescaling{}, MarginSearch{}, {.max_passes = 4}, executor, control);
  second.resume(first.state());
  second.run();
  EXPECT_EQ(whole.weights(), second.weights());
  EXPECT_THAT([&] { second.resume({}); },
              ThrowsMessage<InvalidInput>(HasSubstr("state of 0 weights, but must be")));
  EXPECT_THAT(([&] {
                Sgd(model, MarginRescaling{}, MarginSearch{}, {}, executor, control,
                    std::vector<double>{1});
              }),
              ThrowsMessage<InvalidInput>(HasSubstr("1 example weights, but must be one per")));
}

TEST(LabelSetSvm, reaches_the_optimum_over_all_label_sets) {
  Executor executor(1);
  for (std::uint64_t seed = 0; seed < num_cases(6); ++seed) {
    const TinyProblem p =
        tiny_problem(static_cast<std::uint32_t>(4 + seed), seed % 2 == 0 ? 0.0 : 0.4, 6, 4, seed);
    const LabelSets leaves = testing::random_leaf_sets(p, seed);
    const auto all = testing::all_label_sets(p.graph);
    std::vector<std::vector<NodeId>> truth;
    for (std::size_t i = 0; i < leaves.num_rows(); ++i) {
      truth.push_back(*std::find_if(all.begin(), all.end(), [&](const auto& y) {
        std::vector<NodeId> own;
        std::copy_if(y.begin(), y.end(), std::back_inserter(own),
                     [&](NodeId n) { return p.graph.is_leaf(n); });
        return std::ranges::equal(own, leaves[i]);
      }));
    }
    const auto loss = [&](const std::vector<NodeId>& y, const std::vector<NodeId>& z) {
      std::vector<double> leaf(p.graph.num_nodes(), 0.0);
      for (const NodeId n : p.graph.leaves()) leaf[n] = 1.0;
      double sum = 0.0;
      for (NodeId n = 0; n < p.graph.num_nodes(); ++n) {
        sum += leaf[n] * (std::ranges::binary_search(y, n) != std::ranges::binary_search(z, n));
      }
      return sum;
    };
    const std::vector<double> budgets(truth.size(), 0.4);
    const double best = testing::reference_set_optimum(
        p, all, truth, budgets, loss, [](const auto&, const auto&) { return 1.0; });
    RunControl control;
    const PathSvmResult result = train_label_set_svm(
        p.X, leaves, p.graph, p.alpha, {}, {.C = 0.4, .tolerance = 1e-6}, executor, control);
    EXPECT_EQ(result.fit.stop, Stop::converged);
    EXPECT_NEAR(result.fit.primal, best, 3e-6 * best) << "seed " << seed;
  }
}

TEST(LabelSetSvm, relaxed_training_bounds_exact_training_and_is_the_same_on_trees) {
  Executor executor(1);
  for (const double extra_parents : {0.0, 0.5}) {
    const TinyProblem p = tiny_problem(14, extra_parents, 60, 8, 3);
    const LabelSets leaves = testing::random_leaf_sets(p, 3);
    const auto fit = [&](Inference maximum) {
      RunControl control;
      return train_label_set_svm(p.X, leaves, p.graph, p.alpha, {maximum},
                                 {.C = 1.0, .tolerance = 1e-6}, executor, control)
          .fit;
    };
    const StructuredFit exact = fit(Inference::exact), relaxed = fit(Inference::relaxed);
    EXPECT_EQ(relaxed.stop, Stop::converged);
    EXPECT_TRUE(relaxed.certified);
    EXPECT_GE(relaxed.primal, exact.primal * (1 - 2e-6));
    if (p.graph.is_tree()) {
      EXPECT_NEAR(relaxed.primal, exact.primal, 2e-6 * exact.primal);
    }
  }
}

TEST(LabelSetSvm, same_bits_on_1_2_and_5_threads) {
  const TinyProblem p = tiny_problem(20, 0.3, 100, 12, 5);
  const LabelSets leaves = testing::random_leaf_sets(p, 5);
  for (const auto maximum : {Inference::exact, Inference::relaxed}) {
    WeightMatrix expected;
    for (const int threads : {1, 2, 5}) {
      Executor executor(threads);
      RunControl control;
      const WeightMatrix weights =
          train_label_set_svm(p.X, leaves, p.graph, p.alpha, {maximum}, {}, executor, control)
              .weights;
      if (threads == 1) expected = weights;
      ASSERT_EQ(weights.is_dense(), expected.is_dense());
      EXPECT_TRUE(std::ranges::equal(weights.dense_values(), expected.dense_values()));
    }
  }
}

/// Without what makes searches cheap, or steps many.
struct PlainLabelSetOracle {
  using Labelling = NodeShares;
  LabelSetModel::Oracle inner;
  Candidate<Labelling> argmax(double w_m, double w_g) const { return inner.argmax(w_m, w_g); }
  Candidate<Labelling> truth() const { return inner.truth(); }
};
using PlainLabelSetModel = PlainModel<LabelSetModel, PlainLabelSetOracle>;
static_assert(StructuredModel<PlainLabelSetModel> && !BoundingOracle<PlainLabelSetOracle>);

TEST(LabelSetSvm, approximate_searches_reach_what_exact_ones_do) {
  Executor executor(2);
  for (const auto maximum : {Inference::exact, Inference::relaxed}) {
    for (std::uint64_t seed = 0; seed < num_cases(4); ++seed) {
      SCOPED_TRACE(seed);
      const TinyProblem p = tiny_problem(60, 0.7, 40, 8, seed);
      const LabelSets leaves = testing::random_leaf_sets(p, seed);
      const LabelSetModel model(p.X, leaves, p.graph, p.alpha, NodeStorage::dense, {maximum});
      for (const bool averaging : {false, true}) {
        const double tolerance = averaging ? 1e-2 : 1e-4;
        const BcfwOptions options{.C = 0.5, .tolerance = tolerance, .averaging = averaging};
        const StructuredFit good = margin_fit(model, options, executor);
        const StructuredFit exact = margin_fit(PlainLabelSetModel{model}, options, executor);
        EXPECT_EQ(good.stop, Stop::converged);
        EXPECT_TRUE(good.certified);
        EXPECT_LE(good.relative_gap, tolerance);
        // No dual exceeds a primal, or a bound of one.
        EXPECT_LE(good.dual, exact.primal * (1 + 1e-7));
        EXPECT_LE(exact.dual, good.primal * (1 + 1e-7));
        EXPECT_NEAR(good.primal, exact.primal, 2 * tolerance * exact.primal);
      }
    }
  }
}

/// Takes a hundredth of a second of the counted clock.
struct SlowPathOracle {
  using Labelling = NodeId;
  PathModel::Oracle inner;
  Candidate<NodeId> argmax(double w_m, double w_g) const {
    testing_clock::questions += 10;
    return inner.argmax(w_m, w_g);
  }
  Candidate<NodeId> truth() const { return inner.truth(); }
};

TEST(Bcfw, time_that_is_out_ends_the_certificate_too) {
  const TinyProblem p = tiny_problem(20, 0.3, 600, 5, 1);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::hamming);
  const PlainModel<PathModel, SlowPathOracle> slow{model};
  Executor executor(1);
  RunControl control({}, 0.5, &testing_clock::counted_seconds);
  Bcfw solver(slow, MarginRescaling{}, MarginSearch{}, {.C = 1.0}, executor, control);
  // One pass takes 6 s and has not ended: nothing is known of the gap. The certificate would take
  // another 6 s, and has 1 s.
  const StructuredFit fit = solver.run();
  EXPECT_EQ(fit.stop, Stop::time_limit);
  EXPECT_LT(fit.oracle_calls, 400);
  EXPECT_FALSE(fit.certified);
  EXPECT_FALSE(fit.relative_gap <= 1);
}

/// Finds the best leaf at once, and proves it the better the higher the branch limit is.
struct DoubtingOracle {
  using Labelling = NodeId;
  PathModel::Oracle inner;
  Candidate<NodeId> argmax(double w_m, double w_g) const { return inner.argmax(w_m, w_g); }
  BoundedCandidate<NodeId> approximate_argmax(double w_m, double w_g,
                                              const SearchGoal& goal) const {
    const auto best = inner.argmax(w_m, w_g);
    return {best, w_m * best.m + w_g * best.g + 0.5 / goal.branch_limit_factor};
  }
  Candidate<NodeId> truth() const { return inner.truth(); }
};

TEST(Bcfw, branch_limits_rise_until_bounds_are_tight_enough) {
  const TinyProblem p = tiny_problem(12, 0.3, 60, 5, 1);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::hamming);
  const auto fit = [&](const auto& given) {
    Executor executor(1);
    RunControl control;
    return Bcfw(given, MarginRescaling{}, MarginSearch{}, {.C = 1.0, .tolerance = 1e-3}, executor,
                control)
        .run();
  };
  const StructuredFit doubting = fit(PlainModel<PathModel, DoubtingOracle>{model});
  const StructuredFit exact = fit(PlainPathModel{model});
  EXPECT_EQ(doubting.stop, Stop::converged);
  EXPECT_LE(doubting.relative_gap, 1e-3);
  EXPECT_NEAR(doubting.dual, exact.dual, 2e-3 * exact.primal);
}

struct RepeatedSearches {  // with more than the usual branch limit
  std::int64_t at_sure = 0, at_doubted = 0, at_highest_limit = 0;
  double highest_limit = 1;
};

/// Doubts only at every other leaf.
struct PartlyDoubtingOracle : DoubtingOracle {
  static inline RepeatedSearches searches;
  BoundedCandidate<NodeId> approximate_argmax(double w_m, double w_g,
                                              const SearchGoal& goal) const {
    const bool is_sure = inner.truth().y % 2 == 0;
    if (goal.branch_limit_factor > 1) ++(is_sure ? searches.at_sure : searches.at_doubted);
    if (goal.branch_limit_factor > searches.highest_limit) {
      searches.highest_limit = goal.branch_limit_factor;
      searches.at_highest_limit = 0;
    }
    searches.at_highest_limit += goal.branch_limit_factor == searches.highest_limit;
    auto found = DoubtingOracle::approximate_argmax(w_m, w_g, goal);
    if (is_sure) found.bound = w_m * found.candidate.m + w_g * found.candidate.g;
    return found;
  }
};

TEST(Bcfw, a_certificate_searches_again_only_where_bounds_are_open_and_until_they_suffice) {
  const TinyProblem p = tiny_problem(12, 0.3, 600, 5, 1);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::hamming);
  PartlyDoubtingOracle::searches = {};
  Executor executor(1);
  const PlainModel<PathModel, PartlyDoubtingOracle> doubting{model};
  const StructuredFit result = margin_fit(doubting, {.C = 1.0, .tolerance = 1e-2}, executor);
  const auto num_doubted = std::count_if(p.leaf_of_row.begin(), p.leaf_of_row.end(),
                                         [](NodeId l) { return l % 2 == 1; });
  EXPECT_EQ(result.stop, Stop::converged);
  EXPECT_TRUE(result.certified);
  EXPECT_LE(result.relative_gap, 1e-2);
  const auto& searches = PartlyDoubtingOracle::searches;
  EXPECT_EQ(searches.at_sure, 0);
  EXPECT_GT(searches.at_doubted, 0);
  EXPECT_GT(searches.highest_limit, 1);
  EXPECT_LT(searches.at_highest_limit, num_doubted);
}

TEST(PathSvm, one_leaf_or_no_rows_need_no_weights) {
  TinyProblem p = tiny_problem(5, 0.0, 4, 3, 1);
  const LabelEdge edges[] = {{0, 1}, {1, 2}};
  p.graph = LabelGraph::build(3, edges);
  p.alpha.assign(3, 1.0);
  p.leaf_of_row.assign(4, 2);
  EXPECT_EQ(train(p, {}).fit.primal, 0.0);
  EXPECT_EQ(train(p, {}).fit.stop, Stop::converged);
  p.X = CsrMatrix(3);
  p.leaf_of_row.clear();
  EXPECT_EQ(train(p, {}).fit.stop, Stop::converged);
}

TEST(PathSvm, stops_when_asked_and_says_so) {
  const TinyProblem p = tiny_problem(12, 0.0, 30, 6, 14);
  Executor executor(1);
  int reports = 0;
  RunControl control([&](const Progress& progress) {
    EXPECT_EQ(progress.done, reports + 1);
    return ++reports < 2;
  });
  const PathSvmResult result =
      train_path_svm(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized,
                     {.tolerance = 1e-12}, executor, control);
  EXPECT_EQ(result.fit.stop, Stop::interrupted);
  EXPECT_EQ(result.fit.passes, 2);
  EXPECT_LE(result.fit.oracle_calls, 2 * 30);  // none for a gap that nobody waits for
}

TEST(PathSvm, byte_estimate_covers_the_weights) {
  const TinyProblem p = tiny_problem(12, 0.0, 30, 6, 14);
  const PathModel model(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized);
  EXPECT_GE(path_svm_memory(p.X, p.graph, p.alpha, false, {}, {}, 1).total(), model.num_bytes());
}

}  // namespace
}  // namespace margrove
