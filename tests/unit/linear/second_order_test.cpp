// The second-order solvers, by themselves and behind train_one_vs_rest().

#include "linear/second_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/random.hpp"
#include "data/csr_operations.hpp"
#include "linear/one_vs_rest.hpp"

namespace margrove::detail {
namespace {

constexpr PointLossKind kLosses[] = {PointLossKind::hinge, PointLossKind::squared_hinge,
                                     PointLossKind::logistic};

/// Rows of two overlapping classes, columns of the given scales and an intercept.
struct Problem {
  CsrMatrix X;
  std::vector<std::uint32_t> positives;
  std::vector<float> costs;
  std::vector<double> norms;

  Problem(std::uint64_t seed, std::size_t num_rows, const std::vector<double>& scales, float C) {
    Random random(seed);
    CsrMatrix rows(static_cast<FeatureId>(scales.size()));
    for (std::size_t i = 0; i < num_rows; ++i) {
      const double y = random.uniform() < 0.4 ? 1.0 : -1.0;
      if (y > 0) positives.push_back(static_cast<std::uint32_t>(i));
      std::vector<FeatureId> columns;
      std::vector<float> values;
      for (std::size_t j = 0; j < scales.size(); ++j) {
        columns.push_back(static_cast<FeatureId>(j));
        values.push_back(
            static_cast<float>(scales[j] * (1.0 + 0.3 * y * (j % 3 == 0) + random.normal())));
      }
      rows.append_row(columns, values);
      costs.push_back(C * static_cast<float>(1 + i % 2));
    }
    X = with_intercept(rows, 1.0);
    norms = squared_norms(X);
  }

  BlockProblem block(PointLossKind loss, double tolerance) const {
    BlockProblem block{.X = X, .squared_norms = norms, .costs = costs};
    for (const float cost : costs) block.total_cost += cost;
    block.loss = loss;
    block.tolerance = tolerance;
    return block;
  }

  double objective(PointLossKind loss, std::span<const double> v) const {
    double sum = 0;
    for (const double each : v) sum += 0.5 * each * each;
    std::size_t next = 0;
    for (std::size_t i = 0; i < X.num_rows(); ++i) {
      const bool positive = next < positives.size() && positives[next] == i;
      next += positive;
      const SparseRow x = X.row(i);
      double f = 0;
      for (std::size_t k = 0; k < x.size(); ++k) f += x.values[k] * v[x.columns[k]];
      sum += costs[i] * visit_point_loss(loss, [&](auto l) { return l.value(positive ? f : -f); });
    }
    return sum;
  }
};

LaneOutput solve(const Problem& p, const BlockProblem& block, RunControl& control) {
  LaneOutput output;
  output.fit.primal = std::numeric_limits<double>::infinity();
  solve_second_order(block, {.label = 0, .positives = p.positives}, control, output);
  return output;
}

LaneOutput solve(const Problem& p, PointLossKind loss, double tolerance) {
  RunControl control;
  return solve(p, p.block(loss, tolerance), control);
}

std::vector<double> weights(const Problem& p, const LaneOutput& output) {
  std::vector<double> v(p.X.num_columns(), 0.0);
  for (std::size_t k = 0; k < output.weights.features.size(); ++k) {
    v[output.weights.features[k]] = output.weights.values[k];
  }
  return v;
}

/// The least objective over a grid of two weights, refined: a referee that shares nothing.
double least_objective_on_grids(const Problem& p, PointLossKind loss) {
  std::vector<double> best{0, 0};
  for (double width = 4; width > 1e-6; width *= 0.5) {
    const std::vector<double> centre = best;
    for (int a = -4; a <= 4; ++a) {
      for (int b = -4; b <= 4; ++b) {
        const std::vector<double> v{centre[0] + width * a / 4, centre[1] + width * b / 4};
        if (p.objective(loss, v) < p.objective(loss, best)) best = v;
      }
    }
  }
  return p.objective(loss, best);
}

TEST(SecondOrder, reaches_the_optimum_that_a_search_over_grids_finds) {
  for (const PointLossKind loss : kLosses) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      const Problem p(seed, 30, {1.0}, 0.5F);
      const LaneOutput output = solve(p, loss, 1e-7);
      EXPECT_NEAR(output.fit.primal, least_objective_on_grids(p, loss), 1e-4);
    }
  }
}

TEST(SecondOrder, certifies_any_scale_in_few_systems) {
  const std::vector<std::vector<double>> all_scales{
      {1, 1, 1}, {1e-3, 1, 1e4}, {1e5, 3e5, 1e5, 2e5}, {1e-4, 1e-4}, {1e3, 1e-3, 1, 1e2, 1e1, 1e4}};
  for (const PointLossKind loss : kLosses) {
    for (const auto& scales : all_scales) {
      for (const float C : {1e-3F, 1.0F, 1e3F}) {
        const Problem p(5, 200, scales, C);
        const LaneOutput output = solve(p, loss, 1e-5);
        EXPECT_EQ(output.fit.stop, Stop::converged);
        EXPECT_LE(output.fit.relative_gap(), 1e-5)
            << name_of(loss) << ", C = " << C << ", " << scales.size() << " columns";
        EXPECT_GE(output.fit.relative_gap(), -1e-9);
        EXPECT_LE(output.fit.passes, 100);
        const double primal = p.objective(loss, weights(p, output));
        EXPECT_NEAR(output.fit.primal, primal, 1e-9 * primal);
      }
    }
  }
}

TEST(SecondOrder, kept_duals_are_feasible_and_give_the_weights) {
  const Problem p(7, 150, {1, 30, 1000}, 1.0F);
  const LaneOutput output = solve(p, PointLossKind::hinge, 1e-6);
  std::vector<double> v(p.X.num_columns(), 0.0);
  std::size_t k = 0;
  for (const std::uint32_t i : output.duals.rows) {
    const double a = output.duals.values[k++];
    EXPECT_GT(a, 0);
    EXPECT_LE(a, p.costs[i] * (1 + 1e-12));
    const bool positive = std::binary_search(p.positives.begin(), p.positives.end(), i);
    const SparseRow x = p.X.row(i);
    for (std::size_t m = 0; m < x.size(); ++m) {
      v[x.columns[m]] += (positive ? a : -a) * x.values[m];
    }
  }
  EXPECT_LE(p.objective(PointLossKind::hinge, v), 1.2 * output.fit.primal);
}

TEST(SecondOrder, degenerate_rows_are_solved) {
  for (const PointLossKind loss : kLosses) {
    Problem none(1, 20, {1.0, 5.0}, 1.0F);
    none.positives.clear();
    EXPECT_LE(solve(none, loss, 1e-4).fit.relative_gap(), 1e-4);
    Problem empty(1, 20, {1.0, 5.0}, 1.0F);
    empty.X = CsrMatrix(3);
    for (int i = 0; i < 20; ++i) empty.X.append_row({}, {});
    empty.norms.assign(20, 0.0);
    const LaneOutput output = solve(empty, loss, 1e-4);
    EXPECT_LE(output.fit.relative_gap(), 1e-4);
    EXPECT_TRUE(output.weights.features.empty());
    Problem weightless(1, 20, {1.0, 5.0}, 1.0F);
    weightless.costs.assign(20, 0.0F);
    EXPECT_EQ(solve(weightless, loss, 1e-4).fit.stop, Stop::converged);
  }
}

TEST(SecondOrder, keeps_what_it_does_not_improve_on) {
  const Problem p(2, 60, {1, 100}, 1.0F);
  const LaneOutput exact = solve(p, PointLossKind::hinge, 1e-7);
  LaneOutput output = exact;
  RunControl stopped([](const Progress&) { return false; });
  stopped.proceed(Progress{});
  solve_second_order(p.block(PointLossKind::hinge, 1e-12), {.label = 0, .positives = p.positives},
                     stopped, output);
  EXPECT_EQ(output.fit.stop, Stop::interrupted);
  EXPECT_EQ(output.weights.values, exact.weights.values);
  EXPECT_EQ(output.fit.primal, exact.fit.primal);
  EXPECT_EQ(output.fit.dual, exact.fit.dual);
}

TEST(SecondOrder, counts_systems_as_passes_and_obeys_their_limit) {
  const Problem p(2, 60, {1, 100, 1e4}, 1.0F);
  for (const PointLossKind loss : {PointLossKind::hinge, PointLossKind::logistic}) {
    BlockProblem block = p.block(loss, 1e-12);
    block.max_passes = 3;
    RunControl control;
    const LaneOutput output = solve(p, block, control);
    EXPECT_EQ(output.fit.stop, Stop::pass_limit);
    EXPECT_EQ(output.fit.passes, 3);
  }
}

TEST(SecondOrder, ends_at_a_time_limit) {
  const Problem p(2, 60, {1, 100, 1e4}, 1.0F);
  RunControl control(nullptr, 0.0);
  EXPECT_EQ(solve(p, p.block(PointLossKind::hinge, 1e-9), control).fit.stop, Stop::time_limit);
}

TEST(SecondOrder, follows_passes_that_depend_on_the_shape_only) {
  EXPECT_EQ(passes_before_second_order(1000, 50, 50000, 1000), 150);
  EXPECT_EQ(passes_before_second_order(1000, 5, 5000, 1000), 100);
  EXPECT_EQ(passes_before_second_order(1000, 900, 900000, 1000), 500);
  EXPECT_EQ(passes_before_second_order(1000, 50, 5000, 1000), 0);       // sparse
  EXPECT_EQ(passes_before_second_order(1000, 2000, 2000000, 1000), 0);  // wide
  EXPECT_EQ(passes_before_second_order(0, 50, 0, 1000), 0);
}

/// What the program does: several labels, threads, raw columns.
TEST(SecondOrderOneVsRest, reaches_the_gap_on_raw_columns_with_the_same_bits_on_any_threads) {
  const Problem p(9, 300, {1e-2, 1, 30, 900, 4e4}, 1.0F);
  LabelSets labels;
  Random random(4);
  for (std::size_t i = 0; i < p.X.num_rows(); ++i) {
    const bool first = std::binary_search(p.positives.begin(), p.positives.end(), i);
    const auto label = static_cast<LabelId>(first ? 0 : 1 + random.below(2));
    labels.append(std::vector<LabelId>{label});
  }
  for (const PointLossKind loss : kLosses) {
    std::vector<OneVsRestFit> fits;
    for (const int threads : {1, 2, 5}) {
      Executor executor(threads);
      RunControl control;
      fits.push_back(train_one_vs_rest(p.X, labels, 3, {.loss = loss}, executor, control));
    }
    for (const BinaryFit& label : fits[0].labels) {
      EXPECT_EQ(label.stop, Stop::converged);
      EXPECT_LE(label.relative_gap(), 1e-3);
    }
    for (const OneVsRestFit& fit : fits) {
      EXPECT_EQ(fit.primal, fits[0].primal);
      EXPECT_EQ(fit.dual, fits[0].dual);
      for (FeatureId j = 0; j < p.X.num_columns(); ++j) {
        for (LabelId l = 0; l < 3; ++l) EXPECT_EQ(fit.weights.at(j, l), fits[0].weights.at(j, l));
      }
    }
  }
}

}  // namespace
}  // namespace margrove::detail
