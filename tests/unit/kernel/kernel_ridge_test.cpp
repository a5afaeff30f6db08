#include "kernel/kernel_ridge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>

#include "base/out_of_time.hpp"
#include "kernel/blocked_cholesky.hpp"
#include "margrove/errors.hpp"
#include "testing.hpp"

namespace margrove {
namespace {

using namespace testing_kernel;

struct Problem {
  SymmetricMatrix K;  // centred
  RidgeTargets targets;
};

KernelSpec centred_exponential() {
  KernelSpec spec;
  spec.name = "exponential";
  spec.type = KernelType::exponential;
  spec.scaling = KernelScaling::none;
  spec.centred = true;
  return spec;
}

Problem problem_of(std::size_t num_rows, std::uint32_t num_columns, std::uint64_t seed) {
  const auto rows = random_rows(num_rows, 6, 3, seed);
  Executor executor(1);
  RunControl control;
  const std::array specs{centred_exponential()};
  Problem problem{gram_matrices(specs, rows.X, executor, control)[0].K, {{}, num_columns}};
  Random random(seed, 1);
  for (std::size_t i = 0; i < num_rows; ++i) {
    std::vector<LabelId> ones;
    for (LabelId c = 0; c < num_columns; ++c) {
      if (random.uniform() < (rows.class_of[i] == c % 3 ? 0.6 : 0.1)) ones.push_back(c);
    }
    problem.targets.ones.append(ones);
  }
  return problem;
}

double target(const Problem& problem, std::size_t i, LabelId column) {
  const auto ones = problem.targets.ones[i];
  return std::ranges::count(ones, column) > 0 ? 1.0 : 0.0;
}

/// The score of a row by ridge regression on the others, with a free intercept: the saddle point
/// (K + strength I, 1; 1^T, 0) of the other rows.
double refit_without(const Problem& problem, std::size_t left_out, LabelId column,
                     double strength) {
  const auto n = static_cast<Eigen::Index>(problem.K.size());
  Eigen::MatrixXd system = Eigen::MatrixXd::Zero(n, n);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(n);
  Eigen::VectorXd row(n);
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < problem.K.size(); ++i) {
    if (i != left_out) others.push_back(i);
  }
  for (Eigen::Index a = 0; a + 1 < n; ++a) {
    for (Eigen::Index b = 0; b + 1 < n; ++b) {
      system(a, b) = static_cast<double>(
          problem.K.at(others[static_cast<std::size_t>(a)], others[static_cast<std::size_t>(b)]));
    }
    system(a, a) += strength;
    system(a, n - 1) = system(n - 1, a) = 1;
    right[a] = target(problem, others[static_cast<std::size_t>(a)], column);
    row[a] = static_cast<double>(problem.K.at(left_out, others[static_cast<std::size_t>(a)]));
  }
  row[n - 1] = 1;
  return row.dot(system.fullPivLu().solve(right));
}

TEST(KernelRidge, left_out_scores_are_those_of_refits_without_the_row) {
  const Problem problem = problem_of(40, 5, 7);
  Executor executor(2);
  RunControl control;
  for (const double strength : {0.1, 1.0, 20.0}) {
    const std::array strengths{strength};
    const KernelRidgeFit fit =
        fit_ridge_path(problem.K, problem.targets, strengths, executor, control);
    for (LabelId c = 0; c < 5; ++c) {
      for (std::size_t i = 0; i < 40; ++i) {
        EXPECT_NEAR(static_cast<double>(fit.left_out[c * 40 + i]),
                    refit_without(problem, i, c, strength), 2e-4);
      }
    }
  }
}

TEST(KernelRidge, each_column_takes_the_strength_of_smallest_left_out_error) {
  const Problem problem = problem_of(60, 4, 8);
  Executor executor(1);
  RunControl control;
  const std::array strengths{0.01, 1.0, 100.0, kMeanOnly};
  const KernelRidgeFit fit =
      fit_ridge_path(problem.K, problem.targets, strengths, executor, control);
  for (LabelId c = 0; c < 4; ++c) {
    double best = std::numeric_limits<double>::infinity();
    double best_strength = 0;
    for (const double strength : strengths) {
      const std::array one{strength};
      const KernelRidgeFit alone =
          fit_ridge_path(problem.K, problem.targets, one, executor, control);
      double error = 0;
      for (std::size_t i = 0; i < 60; ++i) {
        const double miss = static_cast<double>(alone.left_out[c * 60 + i]) - target(problem, i, c);
        error += miss * miss;
      }
      if (error < best) {
        best = error;
        best_strength = strength;
      }
    }
    EXPECT_EQ(fit.strengths[c], best_strength);
  }
}

TEST(KernelRidge, given_strengths_give_the_coefficients_of_the_path) {
  const Problem problem = problem_of(70, 6, 9);
  Executor executor(2);
  RunControl control;
  const std::array strengths{0.3, 3.0, kMeanOnly};
  const KernelRidgeFit path =
      fit_ridge_path(problem.K, problem.targets, strengths, executor, control);
  const KernelRidgeFit fit =
      fit_ridge(problem.K, problem.targets, path.strengths, executor, control);
  for (std::size_t k = 0; k < fit.coefficients.size(); ++k) {
    EXPECT_NEAR(fit.coefficients[k], path.coefficients[k], 1e-4);
  }
}

TEST(KernelRidge, any_number_of_threads_gives_the_same_bits) {
  const Problem problem = problem_of(50, 300, 10);
  const std::array strengths{0.3, 3.0, kMeanOnly};
  RunControl control;
  Executor one(1);
  const KernelRidgeFit expected =
      fit_ridge_path(problem.K, problem.targets, strengths, one, control);
  for (const int threads : {2, 5}) {
    Executor executor(threads);
    const KernelRidgeFit fit =
        fit_ridge_path(problem.K, problem.targets, strengths, executor, control);
    EXPECT_EQ(fit.coefficients, expected.coefficients);
    EXPECT_EQ(fit.left_out, expected.left_out);
  }
}

TEST(ColumnCombination, solves_its_normal_equations) {
  const Problem problem = problem_of(50, 4, 11);
  Executor executor(1);
  RunControl control;
  const std::array strengths{1.0};
  const KernelRidgeFit before =
      fit_ridge_path(problem.K, problem.targets, strengths, executor, control);
  KernelRidgeFit after = before;
  ColumnCombination(before, problem.targets, 5.0, executor, control)
      .apply(after, executor, control);
  Eigen::MatrixXd S(50, 4), Y(50, 4), A(50, 4), B(50, 4);
  for (Eigen::Index i = 0; i < 50; ++i) {
    for (Eigen::Index c = 0; c < 4; ++c) {
      const auto k = static_cast<std::size_t>(c * 50 + i);
      const double mean = before.means[static_cast<std::size_t>(c)];
      S(i, c) = static_cast<double>(before.left_out[k]) - mean;
      Y(i, c) = target(problem, static_cast<std::size_t>(i), static_cast<LabelId>(c)) - mean;
      A(i, c) = static_cast<double>(before.coefficients[k]);
      B(i, c) = static_cast<double>(after.coefficients[k]);
    }
  }
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(4, 4);
  const Eigen::MatrixXd W =
      (S.transpose() * S + 5 * identity).fullPivLu().solve(S.transpose() * Y + 5 * identity);
  EXPECT_LT((A * W - B).cwiseAbs().maxCoeff(), 1e-4);
}

TEST(ColumnCombination, a_large_strength_leaves_the_columns_alone) {
  const Problem problem = problem_of(50, 4, 12);
  Executor executor(1);
  RunControl control;
  const std::array strengths{1.0};
  const KernelRidgeFit before =
      fit_ridge_path(problem.K, problem.targets, strengths, executor, control);
  KernelRidgeFit after = before;
  ColumnCombination(before, problem.targets, 1e8, executor, control)
      .apply(after, executor, control);
  for (std::size_t k = 0; k < after.coefficients.size(); ++k) {
    EXPECT_NEAR(after.coefficients[k], before.coefficients[k], 1e-5);
  }
}

TEST(KernelRidge, a_matrix_of_other_rows_throws) {
  const Problem problem = problem_of(30, 2, 13);
  RidgeTargets targets = problem.targets;
  targets.ones.append({});
  Executor executor(1);
  RunControl control;
  const std::array strengths{1.0};
  EXPECT_THAT([&] { fit_ridge_path(problem.K, targets, strengths, executor, control); },
              ::testing::ThrowsMessage<InvalidInput>(::testing::HasSubstr("must have 31")));
}

TEST(KernelRidge, a_strength_that_rounding_swallows_throws) {
  const Problem problem = problem_of(30, 2, 14);
  const SymmetricMatrix zeros(30);
  Executor executor(1);
  RunControl control;
  const std::array strengths{1e-60};
  EXPECT_THAT([&] { fit_ridge_path(zeros, problem.targets, strengths, executor, control); },
              ::testing::ThrowsMessage<InvalidInput>(::testing::HasSubstr("positive definite")));
}

TEST(KernelRidge, an_interrupted_fit_is_that_of_the_means) {
  const Problem problem = problem_of(30, 2, 15);
  Executor executor(1);
  RunControl control;
  control.interrupt();
  const std::array strengths{1.0};
  const KernelRidgeFit path =
      fit_ridge_path(problem.K, problem.targets, strengths, executor, control);
  EXPECT_THROW(fit_ridge(problem.K, problem.targets, std::array{1.0, 1.0}, executor, control),
               OutOfTime);
  for (LabelId c = 0; c < 2; ++c) {
    double ones = 0;
    for (std::size_t i = 0; i < 30; ++i) ones += target(problem, i, c);
    EXPECT_EQ(path.strengths[c], kMeanOnly);
    for (std::size_t i = 0; i < 30; ++i) {
      EXPECT_EQ(path.coefficients[c * 30 + i], 0);
      EXPECT_NEAR(path.left_out[c * 30 + i], (ones - target(problem, i, c)) / 29, 1e-6);
    }
  }
}

TEST(KernelRidge, the_gap_is_that_of_the_objectives) {
  const Problem problem = problem_of(150, 140, 16);
  Executor executor(2);
  RunControl control;
  std::vector<double> strengths(140, 0.5);
  strengths.back() = kMeanOnly;
  KernelRidgeFit fit = fit_ridge(problem.K, problem.targets, strengths, executor, control);
  EXPECT_LT(ridge_gap(problem.K, problem.targets, fit, executor, control).relative(), 1e-9);
  for (float& each : fit.coefficients) each *= 1.1F;
  const RidgeGap gap = ridge_gap(problem.K, problem.targets, fit, executor, control);
  double primal = 0, dual = 0;
  for (std::size_t c = 0; c < 140; ++c) {
    Eigen::VectorXd y(150), a(150), scores = Eigen::VectorXd::Zero(150);
    for (std::size_t i = 0; i < 150; ++i) {
      const auto row = static_cast<Eigen::Index>(i);
      y[row] = target(problem, i, static_cast<LabelId>(c)) - fit.means[c];
      a[row] = static_cast<double>(fit.coefficients[c * 150 + i]);
      for (std::size_t j = 0; j < 150; ++j) {
        scores[row] += static_cast<double>(problem.K.at(i, j)) *
                       static_cast<double>(fit.coefficients[c * 150 + j]);
      }
    }
    const double curved = c + 1 < 140 ? 0.5 * a.dot(scores) : 0.0;
    primal += (y - scores).squaredNorm() / 2 + curved / 2;
    dual += c + 1 < 140 ? 0.5 * (a.dot(y) - (curved / 0.5 + 0.5 * a.squaredNorm()) / 2)
                        : y.squaredNorm() / 2;
  }
  EXPECT_NEAR(gap.primal, primal, 1e-4 * primal);
  EXPECT_NEAR(gap.dual, dual, 1e-4 * primal);
  EXPECT_GT(gap.relative(), 1e-3);
}

TEST(KernelRidge, dense_work_ends_between_blocks_when_the_time_is_up) {
  const Problem problem = problem_of(150, 4, 17);
  Executor executor(2);
  RunControl running;
  const std::array strengths{1.0};
  KernelRidgeFit fit = fit_ridge_path(problem.K, problem.targets, strengths, executor, running);
  const ColumnCombination combination(fit, problem.targets, 5.0, executor, running);
  RunControl control;
  const BlockedCholesky factor(Eigen::MatrixXf::Identity(150, 150), executor, control);
  control.interrupt();
  Eigen::MatrixXf Y = Eigen::MatrixXf::Ones(150, 2);
  EXPECT_THROW(factor.solve_in_place(Y), OutOfTime);
  EXPECT_THROW(factor.inverse_diagonal(executor), OutOfTime);
  EXPECT_THROW(BlockedCholesky(Eigen::MatrixXf::Identity(150, 150), executor, control), OutOfTime);
  EXPECT_THROW(ridge_gap(problem.K, problem.targets, fit, executor, control), OutOfTime);
  EXPECT_THROW(left_out_thresholds(fit, problem.targets, control), OutOfTime);
  EXPECT_THROW(ColumnCombination(fit, problem.targets, 5.0, executor, control), OutOfTime);
  EXPECT_THROW(combination.apply(fit, executor, control), OutOfTime);
}

TEST(BlockedCholesky, solves_and_inverts_over_several_blocks) {
  const Problem problem = problem_of(300, 2, 18);
  Executor executor(3);
  RunControl control;
  Eigen::MatrixXf A(300, 300);
  for (Eigen::Index i = 0; i < 300; ++i) {
    for (Eigen::Index j = 0; j < 300; ++j) {
      A(i, j) = problem.K.at(static_cast<std::size_t>(i), static_cast<std::size_t>(j)) +
                (i == j ? 1.0F : 0.0F);
    }
  }
  const BlockedCholesky factor(A, executor, control);
  ASSERT_TRUE(factor.is_definite());
  const Eigen::MatrixXf right = Eigen::MatrixXf::Identity(300, 300).leftCols(7);
  Eigen::MatrixXf Y = right;
  factor.solve_in_place(Y);
  EXPECT_LT((A * Y - right).cwiseAbs().maxCoeff(), 1e-4F);
  const Eigen::MatrixXd inverse = A.cast<double>().inverse();
  EXPECT_LT((factor.inverse_diagonal(executor).matrix() - inverse.diagonal()).cwiseAbs().maxCoeff(),
            1e-4);
  A(200, 200) = -1;
  EXPECT_FALSE(BlockedCholesky(A, executor, control).is_definite());
}

TEST(KernelRidge, an_average_has_the_means_of_the_entries) {
  SymmetricMatrix K(70);
  SymmetricMatrix other(70);
  for (std::size_t t = 0; t < K.num_tiles(); ++t) {
    std::ranges::fill(K.values(t), static_cast<float>(t));
    std::ranges::fill(other.values(t), 1.0F);
  }
  const std::array<const SymmetricMatrix*, 1> others{&other};
  average_with(K, others);
  for (std::size_t t = 0; t < K.num_tiles(); ++t) {
    EXPECT_THAT(K.values(t), ::testing::Each((static_cast<float>(t) + 1) / 2));
  }
}

}  // namespace
}  // namespace margrove
