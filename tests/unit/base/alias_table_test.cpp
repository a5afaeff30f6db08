#include "base/alias_table.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace margrove {
namespace {

std::vector<double> shares_of(const AliasTable& table, std::size_t size) {
  constexpr int kDraws = 200000;
  Random random(/*seed=*/5);
  std::vector<double> shares(size, 0.0);
  for (int k = 0; k < kDraws; ++k) shares[table.draw(random)] += 1.0 / kDraws;
  return shares;
}

TEST(AliasTable, draws_in_proportion_to_weights) {
  const std::array weights{3.0, 0.0, 1.0, 5.0, 0.5, 0.5};
  const std::vector<double> shares = shares_of(AliasTable(weights), weights.size());
  for (std::size_t k = 0; k < weights.size(); ++k) {
    EXPECT_NEAR(shares[k], weights[k] / 10, 0.005) << k;
  }
  EXPECT_EQ(shares[1], 0);
}

TEST(AliasTable, of_one_number_draws_it) {
  EXPECT_NEAR(shares_of(AliasTable(std::array{7.0}), 1)[0], 1, 1e-6);
}

TEST(AliasTable, of_zipfs_law_has_its_shares) {
  for (const double exponent : {0.0, 0.7, 1.0, 2.0}) {
    double sum = 0;
    for (int r = 1; r <= 50; ++r) sum += std::pow(r, -exponent);
    const std::vector<double> shares = shares_of(zipf_table(50, exponent), 50);
    for (const int r : {1, 2, 3, 10, 50}) {
      EXPECT_NEAR(shares[static_cast<std::size_t>(r - 1)], std::pow(r, -exponent) / sum, 0.005)
          << exponent << " " << r;
    }
  }
}

}  // namespace
}  // namespace margrove
