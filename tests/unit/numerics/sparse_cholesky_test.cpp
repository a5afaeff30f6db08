#include "numerics/sparse_cholesky.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "base/random.hpp"
#include "data/csr_operations.hpp"
#include "num_cases.hpp"

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
      problem.pattern.items.push_back(static_cast<std::uint32_t>(i));
      problem.values.push_back(problem.dense(i, k));
    }
    problem.pattern.end_row();
  }
  return problem;
}

TEST(SparseCholesky, solves_what_dense_factors_solve) {
  for (std::uint64_t seed = 0; seed < num_cases(60); ++seed) {
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
  for (std::uint32_t k = 1; k < 5; ++k) arrow.append_row(std::vector<std::uint32_t>{0, k});
  EXPECT_FALSE(SparseCholesky().analyze(arrow, 14));
  EXPECT_TRUE(SparseCholesky().analyze(arrow, 15));
}

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

// Random squares of sparse vectors plus a diagonal, each entry listed in parts.
std::vector<SymmetricEntry> random_entries(std::size_t size, double diagonal, Random& random) {
  std::vector<SymmetricEntry> entries;
  for (std::uint32_t n = 0; n < size; ++n) entries.push_back({n, n, diagonal});
  for (std::size_t square = 0; square < size; ++square) {
    std::map<std::uint32_t, double> b;
    for (int k = 0; k < 3; ++k) b[static_cast<std::uint32_t>(random.below(size))] = random.normal();
    for (const auto& [row, x] : b) {
      for (const auto& [column, y] : b) entries.push_back({row, column, x * y});
    }
  }
  return entries;
}

Eigen::MatrixXd dense(std::size_t size, const std::vector<SymmetricEntry>& entries) {
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(Eigen::Index(size), Eigen::Index(size));
  for (const auto& e : entries) matrix(e.row, e.column) += e.value;
  return matrix;
}

TEST(OrderedCholesky, the_empty_matrix_has_factors) {
  const auto made = factorise(0, {}, kNoLimit);
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->factors.size(), 0U);
}

// Where elimination by hand has entries, and nowhere else: the columns tell the pattern.
TEST(OrderedCholesky, random_matrices_are_the_products_of_their_factors) {
  for (std::uint64_t seed = 0; seed < num_cases(100); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t size = 1 + random.below(25);
    const auto entries = random_entries(size, 0.5, random);
    const auto made = factorise(size, entries, kNoLimit);
    ASSERT_TRUE(made.has_value());
    const Eigen::MatrixXd A = dense(size, entries);
    Eigen::MatrixXd L = Eigen::MatrixXd::Zero(A.rows(), A.cols());
    Eigen::MatrixXd ordered(A.rows(), A.cols());
    for (Eigen::Index i = 0; i < A.rows(); ++i) {
      for (Eigen::Index j = 0; j < A.cols(); ++j) {
        ordered(made->position[std::size_t(i)], made->position[std::size_t(j)]) = A(i, j);
      }
    }
    Eigen::MatrixXi has_entry = (ordered.array() != 0).cast<int>();
    for (Eigen::Index n = 0; n < A.cols(); ++n) {
      const auto [rows, values] = made->factors.column(std::uint32_t(n));
      ASSERT_EQ(rows.size(), std::size_t(has_entry.col(n).tail(A.rows() - n).sum()));
      ASSERT_EQ(rows[0], n);
      for (std::size_t a = 0; a < rows.size(); ++a) {
        EXPECT_EQ(has_entry(rows[a], n), 1);
        L(rows[a], n) = values[a];
        for (std::size_t b = 0; b < rows.size(); ++b) has_entry(rows[a], rows[b]) = 1;
      }
    }
    EXPECT_LE((L * L.transpose() - ordered).cwiseAbs().maxCoeff(), 1e-9);
  }
}

TEST(OrderedCholesky, it_solves_systems) {
  for (std::uint64_t seed = 0; seed < num_cases(50); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t size = 1 + random.below(40);
    const auto entries = random_entries(size, 1.0, random);
    const auto made = factorise(size, entries, kNoLimit);
    ASSERT_TRUE(made.has_value());
    Eigen::VectorXd x = Eigen::VectorXd::LinSpaced(Eigen::Index(size), -1, 2);
    const Eigen::VectorXd expected = dense(size, entries).llt().solve(x);
    made->solve(std::span(x.data(), size));
    EXPECT_LE((x - expected).norm(), 1e-8 * (1 + expected.norm()));
  }
}

TEST(OrderedCholesky, indefinite_matrices_and_too_much_work_have_none) {
  const std::vector<SymmetricEntry> indefinite{{0, 0, 1}, {1, 1, 1}, {0, 1, 2}, {1, 0, 2}};
  EXPECT_FALSE(factorise(2, indefinite, kNoLimit).has_value());
  const std::vector<SymmetricEntry> singular{{0, 0, 1}, {1, 1, 1}, {0, 1, 1}, {1, 0, 1}};
  EXPECT_FALSE(factorise(2, singular, kNoLimit).has_value());
  Random random(3);
  const auto entries = random_entries(20, 1.0, random);
  EXPECT_TRUE(factorise(20, entries, kNoLimit).has_value());
  EXPECT_FALSE(factorise(20, entries, 1).has_value());
}

}  // namespace
}  // namespace margrove::detail
