#include "linear/free_intercept.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"

namespace margrove::detail {
namespace {

double losses_at(PointLossKind loss, const std::vector<ScoredRow>& rows, double shift) {
  return visit_point_loss(loss, [&](auto kind) {
    double sum = 0;
    for (const ScoredRow& row : rows) {
      const double score = row.score + shift;
      sum += row.cost * kind.value(row.positive ? score : -score);
    }
    return sum;
  });
}

std::vector<ScoredRow> random_rows(Random& random, std::size_t size) {
  std::vector<ScoredRow> rows;
  for (std::size_t i = 0; i < size; ++i) {
    const double score = random.below(3) == 0 ? 1.0 : 3 * random.normal();  // with ties
    rows.push_back({score, 0.25 + static_cast<double>(random.below(4)), random.below(3) == 0});
  }
  return rows;
}

TEST(BestShift, has_the_least_losses_of_a_fine_grid) {
  Random random(7);
  for (const PointLossKind loss : {PointLossKind::hinge, PointLossKind::squared_hinge}) {
    for (int trial = 0; trial < 200; ++trial) {
      const std::vector<ScoredRow> rows = random_rows(random, 1 + random.below(20));
      std::vector<ScoredRow> reordered = rows;
      const double best = losses_at(loss, rows, best_shift(loss, reordered));
      double least = best;
      for (double shift = -15; shift <= 15; shift += 0.01)
        least = std::min(least, losses_at(loss, rows, shift));
      EXPECT_LE(best, least + 1e-9 * (1 + least)) << "trial " << trial;
    }
  }
}

TEST(BestShift, of_rows_of_one_sign_leaves_no_loss_and_is_the_smallest) {
  for (const bool positive : {true, false}) {
    std::vector<ScoredRow> rows{{-2, 1, positive}, {0.5, 1, positive}, {3, 1, positive}};
    const double shift = best_shift(PointLossKind::hinge, rows);
    EXPECT_EQ(losses_at(PointLossKind::hinge, rows, shift), 0);
    EXPECT_GT(losses_at(PointLossKind::hinge, rows, shift * 0.999), 0);
  }
}

TEST(Balancing, is_nothing_where_the_duals_are_feasible) {
  Balancing balancing;
  balancing.add({.positive = {2, 1, 3}, .negative = {2, 5, 7}});
  EXPECT_EQ(balancing.gap(0.5), 0);
}

TEST(Balancing, scales_the_heavier_side) {
  Balancing balancing;  // t = 1/4 of the negatives
  balancing.add({.positive = {1, 9, 9}, .negative = {4, 2, 6}});
  EXPECT_DOUBLE_EQ(balancing.losses, 0.75 * 2);
  EXPECT_DOUBLE_EQ(balancing.move, 0.75 * 6);
  EXPECT_DOUBLE_EQ(balancing.gap(0.1), 1.5 + 0.45 + 0.5 * 4.5 * 4.5);
  Balancing coupled;  // nothing is left of a side without another
  coupled.add({.positive = {4, 2, 6}, .negative = {0, 0, 0}}, 4.0);
  EXPECT_DOUBLE_EQ(coupled.losses, 2);
  EXPECT_DOUBLE_EQ(coupled.move, 2.0 * 6);
}

}  // namespace
}  // namespace margrove::detail
