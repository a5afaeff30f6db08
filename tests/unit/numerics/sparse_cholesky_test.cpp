#include "numerics/sparse_cholesky.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "data/csr_operations.hpp"

namespace margrove::detail {
namespace {

struct Problem {
  Eigen::MatrixXd dense;
  SymmetricPattern pattern;
  std::vector<double> values;
};

// Sums of cliques, as path sums make them: blocks of all widths.
Problem random_problem(std::uint32_t size, std::uint32_t cliques, std::uint64_t seed) {
  Random random(seed);
  Problem problem;
  problem.dense = Eigen::MatrixXd::Identity(size, size);
  for (std::uint32_t c = 0; c < cliques; ++c) {
    Eigen::VectorXd v = Eigen::VectorXd::Zero(size);
    const auto members = 1 + random.below(std::min(size, 6U));
    const auto start = random.below(size);
    for (std::uint32_t k = 0; k < members; ++k) {
      const auto row = random.below(4) == 0 ? random.below(size) : (start + k) % size;
      v[static_cast<Eigen::Index>(row)] = random.uniform();
    }
    problem.dense += v * v.transpose();
  }
  for (Eigen::Index k = 0; k < problem.dense.cols(); ++k) {
    for (Eigen::Index i = 0; i <= k; ++i) {
      if (problem.dense(i, k) == 0) continue;
      problem.pattern.rows.push_back(static_cast<std::uint32_t>(i));
      problem.values.push_back(problem.dense(i, k));
    }
    problem.pattern.starts.push_back(problem.pattern.rows.size());
  }
  return problem;
}

TEST(SparseCholesky, solves_what_dense_factors_solve) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto size = 1 + static_cast<std::uint32_t>(seed * 3);
    const Problem problem = random_problem(size, size, seed);
    SparseCholesky factors;
    ASSERT_TRUE(factors.analyze(problem.pattern, 1'000'000));
    for (const double scale : {1.0, 3.0}) {  // the same pattern again
      std::vector<double> values = problem.values;
      for (double& value : values) value *= scale;
      ASSERT_TRUE(factors.factorize(values));
      Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(size, -1, 2);
      const Eigen::VectorXd expected = (scale * problem.dense).ldlt().solve(x);
      factors.solve(std::span(x.data(), size));
      EXPECT_LE((x - expected).norm(), 1e-10 * (1 + expected.norm()));
    }
  }
}

TEST(SparseCholesky, a_matrix_that_is_not_positive_definite_is_refused) {
  const SymmetricPattern pattern{{0, 1, 3}, {0, 0, 1}};
  SparseCholesky factors;
  ASSERT_TRUE(factors.analyze(pattern, 10));
  EXPECT_TRUE(factors.factorize(std::vector<double>{1, 1, 2}));
  EXPECT_FALSE(factors.factorize(std::vector<double>{1, 2, 2}));
  EXPECT_FALSE(factors.factorize(std::vector<double>{-1, 0, 1}));
}

TEST(SparseCholesky, factors_above_the_limit_are_refused) {
  // An arrow whose point comes first fills up: 5 * 6 / 2 entries.
  SymmetricPattern arrow{{0, 1}, {0}};
  for (std::uint32_t k = 1; k < 5; ++k) {
    arrow.rows.insert(arrow.rows.end(), {0, k});
    arrow.starts.push_back(arrow.rows.size());
  }
  EXPECT_FALSE(SparseCholesky().analyze(arrow, 14));
  EXPECT_TRUE(SparseCholesky().analyze(arrow, 15));
}

}  // namespace
}  // namespace margrove::detail
