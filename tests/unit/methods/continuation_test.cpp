// Going on from an earlier run of train_path_svm and train_label_set_svm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margrove/errors.hpp"
#include "outputs/label_set/label_set_svm.hpp"
#include "outputs/path/path_svm.hpp"
#include "tiny_hierarchies.hpp"

namespace margrove {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using testing::tiny_problem;
using testing::TinyProblem;

PathSvmResult fit(const TinyProblem& p, const StructuredTraining& options,
                  const Continuation& continuation = {}) {
  Executor executor(1);
  RunControl control;
  return train_path_svm(p.X, p.leaf_of_row, p.graph, p.alpha, TaskLoss::normalized, options,
                        executor, control, {}, continuation);
}

std::vector<float> values(const WeightMatrix& W) {
  std::vector<float> all;
  for (FeatureId j = 0; j < W.num_features(); ++j) {
    for (NodeId n = 0; n < W.num_nodes(); ++n) all.push_back(W.at(j, n));
  }
  return all;
}

TEST(Continuation, dual_variables_of_the_same_rows_are_a_start_and_of_others_are_not) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const TinyProblem p = tiny_problem(9, 0.1, 30, 5, seed);
    StructuredTraining options{.C = 2.0, .tolerance = 1e-5};
    const PathSvmResult first = fit(p, options, {.keep = true});
    ASSERT_NE(first.state, nullptr);
    EXPECT_EQ(fit(p, options).state, nullptr);
    const PathSvmResult again = fit(p, options, {.start = first.state.get()});
    EXPECT_LT(again.fit.passes, first.fit.passes);
    EXPECT_NEAR(again.fit.primal, first.fit.primal, 2e-5 * first.fit.primal);
    options.C = 0.5;
    EXPECT_NEAR(fit(p, options, {.start = first.state.get()}).fit.primal,
                fit(p, options).fit.primal, 2e-5 * first.fit.primal);
    TinyProblem other = p;
    std::reverse(other.leaf_of_row.begin(), other.leaf_of_row.end());
    EXPECT_EQ(values(fit(other, options, {.start = first.state.get()}).weights),
              values(fit(other, options).weights));
  }
}

TEST(Continuation, epochs_in_two_runs_are_the_epochs_of_one) {
  const TinyProblem p = tiny_problem(9, 0.1, 30, 5, 1);
  StructuredTraining options{.solver = StructuredSolver::sgd, .C = 2.0, .epochs = 5};
  const std::vector<float> whole = values(fit(p, options).weights);
  options.epochs = 3;
  const PathSvmResult first = fit(p, options, {.keep = true});
  options.epochs = 2;
  EXPECT_EQ(values(fit(p, options, {.start = first.state.get()}).weights), whole);
}

TEST(Continuation, another_C_leaves_the_weights_where_they_are) {
  const TinyProblem p = tiny_problem(9, 0.1, 30, 5, 2);
  StructuredTraining options{.solver = StructuredSolver::sgd, .C = 2.0, .epochs = 200};
  const PathSvmResult first = fit(p, options, {.keep = true});
  options.C = 1.0;
  options.epochs = 400;
  const PathSvmResult moved = fit(p, options, {.start = first.state.get()});
  options.solver = StructuredSolver::bcfw;
  options.tolerance = 1e-4;
  const double optimum = fit(p, options).fit.primal;
  EXPECT_NEAR(moved.fit.primal, optimum, 0.03 * optimum);
}

TEST(Continuation, sums_of_steps_of_another_problem_are_an_error) {
  TinyProblem p = tiny_problem(9, 0.1, 30, 5, 3);
  const StructuredTraining options{.solver = StructuredSolver::sgd, .epochs = 1};
  const PathSvmResult first = fit(p, options, {.keep = true});
  for (double& each : p.alpha) each *= 0.5;
  EXPECT_THAT([&] { fit(p, options, {.start = first.state.get()}); },
              ThrowsMessage<InvalidInput>(HasSubstr("the earlier run had another hierarchy")));
}

TEST(Continuation, label_sets_start_at_their_duals_too) {
  const TinyProblem p = tiny_problem(9, 0.1, 30, 5, 4);
  LabelSets sets;
  for (std::size_t i = 0; i < p.leaf_of_row.size(); ++i) {
    sets.append(std::vector<NodeId>{p.leaf_of_row[i], p.leaf_of_row[(i * i + 1) % 7]});
  }
  Executor executor(1);
  RunControl control;
  const auto fit_sets = [&](const Continuation& continuation) {
    return train_label_set_svm(p.X, sets, p.graph, p.alpha, {}, {.C = 1.0, .tolerance = 1e-5},
                               executor, control, {}, continuation);
  };
  const PathSvmResult first = fit_sets({.keep = true});
  const PathSvmResult again = fit_sets({.start = first.state.get()});
  EXPECT_LT(again.fit.passes, first.fit.passes);
  EXPECT_NEAR(again.fit.primal, first.fit.primal, 2e-5 * first.fit.primal);
}

TEST(Continuation, fractional_label_sets_are_no_start_of_the_exact_problem) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    SCOPED_TRACE(seed);
    const TinyProblem p = tiny_problem(10, 0.8, 20, 5, seed);
    const LabelSets sets = testing::random_leaf_sets(p, seed);
    Executor executor(1);
    RunControl control;
    constexpr auto exact = Inference::exact, relaxed = Inference::relaxed;
    const auto fit_sets = [&](Inference maximum, const Continuation& continuation) {
      return train_label_set_svm(p.X, sets, p.graph, p.alpha, {maximum},
                                 {.C = 1.0, .tolerance = 1e-5}, executor, control, {},
                                 continuation);
    };
    const PathSvmResult first = fit_sets(relaxed, {.keep = true});
    const PathSvmResult moved = fit_sets(exact, {.start = first.state.get()});
    EXPECT_EQ(values(moved.weights), values(fit_sets(exact, {}).weights));
    EXPECT_LE(moved.fit.dual, moved.fit.primal);
  }
}

}  // namespace
}  // namespace margrove
