#include "numerics/sparse_ldl.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <limits>
#include <map>
#include <tuple>

#include "base/random.hpp"

namespace margrove::detail {
namespace {

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

TEST(SparseLdl, the_empty_matrix_has_a_factor) {
  const auto factor = factorise(0, {}, kNoLimit);
  ASSERT_TRUE(factor.has_value());
  EXPECT_EQ(factor->size(), 0U);
}

TEST(SparseLdl, random_matrices_are_the_products_of_their_factors) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t size = 1 + random.below(25);
    const auto entries = random_entries(size, 0.5, random);
    const auto factor = factorise(size, entries, kNoLimit);
    ASSERT_TRUE(factor.has_value());
    const Eigen::MatrixXd A = dense(size, entries);
    Eigen::MatrixXd L = Eigen::MatrixXd::Identity(A.rows(), A.cols());
    for (std::size_t n = 0; n < size; ++n) {
      for (std::size_t a = factor->begin[n]; a < factor->begin[n + 1]; ++a) {
        EXPECT_GT(factor->rows[a], n);
        L(factor->rows[a], Eigen::Index(n)) = factor->lower[a];
      }
    }
    const Eigen::VectorXd D = Eigen::Map<const Eigen::VectorXd>(factor->pivots.data(), A.rows());
    const Eigen::MatrixXd product = L * D.asDiagonal() * L.transpose();
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) {
        EXPECT_NEAR(product(factor->position[i], factor->position[j]),
                    A(Eigen::Index(i), Eigen::Index(j)), 1e-9);
      }
    }
  }
}

TEST(SparseLdl, it_solves_systems) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t size = 1 + random.below(40);
    const auto entries = random_entries(size, 1.0, random);
    const auto factor = factorise(size, entries, kNoLimit);
    ASSERT_TRUE(factor.has_value());
    Eigen::VectorXd right(Eigen::Index(size), 1);
    std::vector<double> x(size);
    for (std::size_t n = 0; n < size; ++n) {
      right[Eigen::Index(n)] = random.normal();
      x[factor->position[n]] = right[Eigen::Index(n)];
    }
    factor->solve(x);
    const Eigen::VectorXd expected = dense(size, entries).llt().solve(right);
    for (std::size_t n = 0; n < size; ++n) {
      EXPECT_NEAR(x[factor->position[n]], expected[Eigen::Index(n)], 1e-8);
    }
  }
}

// What updates say: one entry of L for each pair of rows of each column.
TEST(SparseLdl, updates_name_the_entries_that_eliminations_change) {
  Random random(7);
  const std::size_t size = 30;
  const auto factor = factorise(size, random_entries(size, 1.0, random), kNoLimit);
  ASSERT_TRUE(factor.has_value());
  std::size_t update = 0;
  for (std::size_t n = 0; n < size; ++n) {
    for (std::size_t a = factor->begin[n]; a < factor->begin[n + 1]; ++a) {
      for (std::size_t b = factor->begin[n]; b < a; ++b, ++update) {
        const std::size_t at = factor->updates[update];
        EXPECT_EQ(factor->rows[at], factor->rows[a]);
        EXPECT_GE(at, factor->begin[factor->rows[b]]);
        EXPECT_LT(at, factor->begin[factor->rows[b] + 1]);
      }
    }
  }
  EXPECT_EQ(update, factor->updates.size());
}

TEST(SparseLdl, indefinite_matrices_and_too_much_work_have_none) {
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
