#include "kernel/landmark_ridge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>

#include "base/out_of_time.hpp"
#include "data/csr_operations.hpp"
#include "margrove/errors.hpp"
#include "testing.hpp"

namespace margrove {
namespace {

using namespace testing_kernel;

constexpr std::uint32_t kColumns = 4;

struct Problem {
  CsrMatrix X;
  RidgeTargets targets;
  std::vector<FittedKernel> kernels;
};

KernelSpec spec_of(KernelType type) {
  KernelSpec spec;
  spec.name = std::string(name_of(type));
  spec.type = type;
  spec.width = 1.5;
  spec.width_in_medians = false;
  spec.scaling = KernelScaling::none;
  return spec;
}

Problem problem_of(std::size_t num_rows, std::uint64_t seed) {
  auto rows = random_rows(num_rows, 6, 3, seed);
  Problem problem{std::move(rows.X), {{}, kColumns}, {}};
  for (const KernelType type : {KernelType::gaussian, KernelType::laplacian}) {
    problem.kernels.push_back({spec_of(type), 1.0, nullptr});
  }
  Random random(seed, 1);
  for (std::size_t i = 0; i < num_rows; ++i) {
    std::vector<LabelId> ones;
    for (LabelId c = 0; c < kColumns; ++c) {
      if (random.uniform() < (rows.class_of[i] == c % 3 ? 0.6 : 0.1)) ones.push_back(c);
    }
    problem.targets.ones.append(ones);
  }
  return problem;
}

std::vector<std::uint32_t> every(std::size_t step, std::size_t num_rows) {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < num_rows; i += step) rows.push_back(static_cast<std::uint32_t>(i));
  return rows;
}

LandmarkRidgeFit fit(const Problem& problem, std::span<const std::uint32_t> landmarks,
                     std::span<const double> strengths, int threads = 1) {
  Executor executor(threads);
  RunControl control;
  return fit_landmark_ridge(problem.kernels, problem.X, select_rows(problem.X, landmarks),
                            problem.targets, strengths, executor, control);
}

/// The kernels' mean of all rows (of the matrix) with landmarks (its columns).
Eigen::MatrixXd kernel_values(const Problem& problem, std::span<const std::uint32_t> landmarks) {
  Executor executor(1);
  const CsrMatrix z = select_rows(problem.X, landmarks);
  const auto n = static_cast<Eigen::Index>(problem.X.num_rows());
  const auto m = std::ssize(landmarks);
  Eigen::MatrixXd mean = Eigen::MatrixXd::Zero(n, m);
  for (const auto& values : cross_kernels(problem.kernels, problem.X, z, executor)) {
    mean += Eigen::Map<const Eigen::MatrixXf>(values.data(), m, n).transpose().cast<double>() / 2;
  }
  return mean;
}

TEST(LandmarkRidge, solves_the_least_squares_problem_of_the_landmarks) {
  const Problem problem = problem_of(700, 3);  // several blocks of rows
  const auto landmarks = every(9, 700);
  const std::array strengths{0.05, 0.05, 3.0, kMeanOnly};
  const LandmarkRidgeFit found = fit(problem, landmarks, strengths);
  const auto m = std::ssize(landmarks);
  Eigen::MatrixXd C = kernel_values(problem, landmarks);
  const Eigen::VectorXd means = C.colwise().mean();
  C.rowwise() -= means.transpose();
  Eigen::MatrixXd K(m, m);
  for (Eigen::Index l = 0; l < m; ++l) {
    K.row(l) = C.row(landmarks[static_cast<std::size_t>(l)]) + means.transpose();
    K(l, l) += 1e-5;
    EXPECT_NEAR(found.column_means[static_cast<std::size_t>(l)], means[l], 1e-6);
  }
  const Eigen::MatrixXd root = Eigen::LLT<Eigen::MatrixXd>(K).matrixU();
  double primal = 0;
  for (LabelId c = 0; c < kColumns; ++c) {
    Eigen::VectorXd y = Eigen::VectorXd::Constant(700, -found.fit.means[c]);
    for (std::size_t i = 0; i < 700; ++i) {
      for (const LabelId one : problem.targets.ones[i]) y[static_cast<Eigen::Index>(i)] += one == c;
    }
    Eigen::VectorXd expected = Eigen::VectorXd::Zero(m);
    if (strengths[c] != kMeanOnly) {  // by QR of the stacked problem, not by normal equations
      Eigen::MatrixXd stacked(700 + m, m);
      stacked << C, std::sqrt(strengths[c]) * root;
      Eigen::VectorXd right = Eigen::VectorXd::Zero(700 + m);
      right.head(700) = y;
      expected = stacked.colPivHouseholderQr().solve(right);
      primal +=
          0.5 * (y - C * expected).squaredNorm() + 0.5 * strengths[c] * expected.dot(K * expected);
    } else {
      primal += 0.5 * y.squaredNorm();
    }
    const Eigen::Map<const Eigen::VectorXf> b(found.fit.coefficients.data() + c * m, m);
    const Eigen::VectorXd scores = C * b.cast<double>(), others = C * expected;
    EXPECT_LE((scores - others).cwiseAbs().maxCoeff(), 1e-3);
    EXPECT_EQ(found.fit.strengths[c], strengths[c]);
  }
  EXPECT_NEAR(found.gap.primal, primal, 1e-4 * primal);
  EXPECT_GE(found.gap.primal, found.gap.dual);
  EXPECT_LE(found.gap.relative(), 1e-6);
}

TEST(LandmarkRidge, with_all_rows_as_landmarks_has_the_scores_of_kernel_ridge) {
  const Problem problem = problem_of(120, 4);
  const auto all = every(1, 120);
  const std::vector<double> strengths(kColumns, 0.5);
  const LandmarkRidgeFit found = fit(problem, all, strengths);
  std::vector<KernelSpec> specs;
  for (const FittedKernel& kernel : problem.kernels) {
    specs.push_back(kernel.spec);
    specs.back().centred = true;
  }
  Executor executor(1);
  RunControl control;
  auto grams = gram_matrices(specs, problem.X, executor, control);
  const std::array<const SymmetricMatrix*, 1> others{&grams[1].K};
  average_with(grams[0].K, others);
  const KernelRidgeFit exact = fit_ridge(grams[0].K, problem.targets, strengths, executor, control);
  const Eigen::MatrixXd K = kernel_values(problem, all);
  for (LabelId c = 0; c < kColumns; ++c) {
    const Eigen::Map<const Eigen::VectorXf> b(found.fit.coefficients.data() + c * 120, 120);
    const Eigen::Map<const Eigen::VectorXf> a(exact.coefficients.data() + c * 120, 120);
    const Eigen::VectorXd of_landmarks =
        K * b.cast<double>() -
        Eigen::VectorXd::Constant(120, b.cast<double>().dot(Eigen::Map<const Eigen::VectorXd>(
                                           found.column_means.data(), 120)));
    Eigen::VectorXd of_rows = K * a.cast<double>();
    of_rows.array() -= of_rows.mean();
    EXPECT_LE((of_landmarks - of_rows).cwiseAbs().maxCoeff(), 2e-3);
  }
}

TEST(LandmarkRidge, has_the_same_bits_with_any_number_of_threads) {
  const Problem problem = problem_of(600, 5);
  const auto landmarks = every(2, 600);
  const std::vector<double> strengths{0.1, 1.0, 0.1, 5.0};
  const LandmarkRidgeFit one = fit(problem, landmarks, strengths);
  const LandmarkRidgeFit three = fit(problem, landmarks, strengths, 3);
  EXPECT_EQ(one.fit.coefficients, three.fit.coefficients);
  EXPECT_EQ(one.column_means, three.column_means);
  EXPECT_EQ(one.gap.dual, three.gap.dual);
}

TEST(LandmarkRidge, ends_at_a_limit_and_refuses_other_targets) {
  const Problem problem = problem_of(600, 6);
  const CsrMatrix landmarks = select_rows(problem.X, every(4, 600));
  const std::vector<double> strengths(kColumns, 1.0);
  Executor executor(1);
  RunControl ended;
  ended.interrupt();
  EXPECT_THROW(fit_landmark_ridge(problem.kernels, problem.X, landmarks, problem.targets, strengths,
                                  executor, ended),
               OutOfTime);
  RunControl control;
  EXPECT_THROW(fit_landmark_ridge(problem.kernels, row_range(problem.X, 0, 10), landmarks,
                                  problem.targets, strengths, executor, control),
               InvalidInput);
}

}  // namespace
}  // namespace margrove
