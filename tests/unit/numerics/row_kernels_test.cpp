#include "numerics/row_kernels.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/random.hpp"

namespace margrove::detail {
namespace {

CsrMatrix random_rows(std::size_t num_rows, FeatureId num_columns, double density, Random& random) {
  CsrMatrix X(num_columns);
  for (std::size_t i = 0; i < num_rows; ++i) {
    std::vector<FeatureId> columns;
    std::vector<float> values;
    for (FeatureId j = 0; j < num_columns; ++j) {
      if (random.uniform() >= density) continue;
      columns.push_back(j);
      values.push_back(static_cast<float>(random.normal()));
    }
    X.append_row(columns, values);
  }
  return X;
}

std::vector<Lanes> random_lanes(std::size_t size, Random& random) {
  std::vector<Lanes> lanes(size);
  for (Lanes& lane : lanes) {
    for (float& x : lane.at) x = static_cast<float>(random.normal());
  }
  return lanes;
}

// Sizes around the blocks of 64 rows in which the kernels add up.
constexpr std::size_t kSizes[] = {0, 1, 63, 64, 65, 200};

TEST(RowKernels, scores_are_products_with_the_weights) {
  Random random(1);
  for (const std::size_t num_rows : kSizes) {
    const CsrMatrix X = random_rows(num_rows, 30, 0.3, random);
    const auto W = random_lanes(30, random);
    std::vector<Lanes> scores(num_rows);
    score_rows(X, 0, W, scores);
    for (std::size_t i = 0; i < num_rows; ++i) {
      for (std::size_t l = 0; l < kLanes; ++l) {
        double sum = 0;
        const SparseRow x = X.row(i);
        for (std::size_t k = 0; k < x.size(); ++k) sum += x.values[k] * W[x.columns[k]].at[l];
        EXPECT_NEAR(scores[i].at[l], sum, 1e-5);
      }
    }
  }
}

TEST(RowKernels, losses_are_those_of_rows_of_sign_minus_one) {
  Random random(2);
  for (const std::size_t num_rows : kSizes) {
    auto scores = random_lanes(num_rows, random);
    for (std::size_t i = 0; i < num_rows; i += 3) scores[i].at[i % kLanes] *= 40;
    std::vector<float> costs;
    for (std::size_t i = 0; i < num_rows; ++i) costs.push_back(float(random.uniform()));
    std::vector<Lanes> slopes(num_rows), curvatures(num_rows);
    for (const bool logistic : {true, false}) {
      const LaneSums losses = logistic ? linearise_logistic(scores, costs, slopes, curvatures)
                                       : linearise_squared_hinge(scores, costs, slopes, curvatures);
      for (std::size_t l = 0; l < kLanes; ++l) {
        double sum = 0;
        for (std::size_t i = 0; i < num_rows; ++i) {
          const double f = scores[i].at[l], C = costs[i], v = std::max(0.0, 1 + f);
          const double p = 1 / (1 + std::exp(-f));
          sum += C * (logistic ? std::log1p(std::exp(-std::abs(f))) + std::max(f, 0.0) : v * v);
          EXPECT_NEAR(slopes[i].at[l], C * (logistic ? p : 2 * v), 1e-4);
          EXPECT_NEAR(curvatures[i].at[l], C * (logistic ? p * (1 - p) : (v > 0 ? 2 : 0)), 1e-5);
        }
        EXPECT_NEAR(losses.at[l], sum, 1e-4 * (1 + sum));
      }
    }
  }
}

TEST(RowKernels, gradients_and_products_are_those_of_dense_matrices) {
  Random random(3);
  for (const std::size_t num_rows : kSizes) {
    constexpr std::size_t d = 20;
    const CsrMatrix X = random_rows(num_rows, d, 0.4, random);
    const auto slopes = random_lanes(num_rows, random);
    auto D = random_lanes(num_rows, random);
    for (Lanes& lane : D) {
      for (float& x : lane.at) x = std::abs(x);
    }
    std::vector<WideLanes> gradient(d, WideLanes{});
    BatchedNewtonSystem system;
    system.diagonal.assign(d, Lanes{});
    add_gradient(X, 0, slopes, D, gradient, system.diagonal);
    system.direction = random_lanes(d, random);
    system.product.assign(d, Lanes{});
    std::vector<float> means(num_rows);
    for (float& mean : means) mean = static_cast<float>(random.normal());
    const LaneSums curved = multiply_curvature(X, 0, D, means, system);
    for (std::size_t l = 0; l < kLanes; ++l) {
      std::vector<double> g(d, 0.0), diagonal(d, 0.0), product(d, 0.0);
      double sum = 0;
      for (std::size_t i = 0; i < num_rows; ++i) {
        const SparseRow x = X.row(i);
        double t = 0;
        for (std::size_t k = 0; k < x.size(); ++k) {
          t += x.values[k] * system.direction[x.columns[k]].at[l];
        }
        sum += D[i].at[l] * t * (t - means[i]);
        for (std::size_t k = 0; k < x.size(); ++k) {
          g[x.columns[k]] += x.values[k] * slopes[i].at[l];
          diagonal[x.columns[k]] += x.values[k] * x.values[k] * D[i].at[l];
          product[x.columns[k]] += x.values[k] * D[i].at[l] * (t - means[i]);
        }
      }
      EXPECT_NEAR(curved.at[l], sum, 1e-4 * (1 + std::abs(sum)));
      for (std::size_t j = 0; j < d; ++j) {
        EXPECT_NEAR(gradient[j].at[l], g[j], 1e-4);
        EXPECT_NEAR(system.diagonal[j].at[l], diagonal[j], 1e-3);
        EXPECT_NEAR(system.product[j].at[l], product[j], 1e-3);
      }
    }
  }
}

TEST(RowKernels, the_softmax_is_that_of_float64) {
  Random random(7);
  for (const std::size_t num_rows : kSizes) {
    auto scores = random_lanes(num_rows, random);
    for (Lanes& row : scores) row.at[3] *= 30;
    std::vector<float> costs(num_rows);
    for (float& cost : costs) cost = static_cast<float>(random.uniform());
    std::vector<ScoreSum> totals(num_rows);
    sum_exponentials(scores, totals);
    std::vector<Lanes> slopes(num_rows), curvatures(num_rows);
    linearise_softmax(scores, costs, totals, slopes, curvatures);
    std::vector<WeightedSum> sums(num_rows);
    weighted_sums(scores, slopes, sums);
    for (std::size_t i = 0; i < num_rows; ++i) {
      const double largest = *std::max_element(scores[i].at, scores[i].at + kLanes);
      double sum = 0;
      for (const double score : scores[i].at) sum += std::exp(score - largest);
      EXPECT_EQ(totals[i].largest, largest);
      EXPECT_NEAR(totals[i].sum, sum, 2e-6 * sum);
      double mean = 0, size = 1e-6;
      for (std::size_t l = 0; l < kLanes; ++l) {
        const double p = std::exp(scores[i].at[l] - largest) / sum;
        EXPECT_NEAR(slopes[i].at[l], costs[i] * p, 3e-6 * p + 1e-30);
        EXPECT_NEAR(curvatures[i].at[l], costs[i] * p * (1 - p), 3e-6);
        mean += slopes[i].at[l] * double{scores[i].at[l]};
        size += slopes[i].at[l] * std::abs(double{scores[i].at[l]});
      }
      EXPECT_NEAR(sums[i].sum, mean, 1e-5 * size);
      EXPECT_NEAR(sums[i].weight, costs[i], 1e-5);
    }
  }
}

// (I + X' D X) s = -g for all lanes by the kernels, as newton_block.cpp puts them together.
TEST(RowKernels, conjugate_gradients_of_the_kernels_solve_the_systems) {
  Random random(4);
  constexpr std::size_t d = 12;
  const CsrMatrix X = random_rows(70, d, 0.5, random);
  std::vector<Lanes> D(70);
  for (Lanes& lane : D) {
    for (float& x : lane.at) x = float(random.uniform());
  }
  std::vector<WideLanes> gradient(d);
  for (WideLanes& g : gradient) {
    for (double& x : g.at) x = random.normal();
  }
  BatchedNewtonSystem system;
  for (auto* part : {&system.direction, &system.product, &system.residual, &system.solution}) {
    part->assign(d, Lanes{});
  }
  Lanes ones;
  std::fill_n(ones.at, kLanes, 1.0F);
  system.diagonal.assign(d, ones);
  for (std::size_t j = 0; j < d; ++j) {
    system.solution[j] = system.direction[j] = Lanes{};
    for (std::size_t l = 0; l < kLanes; ++l) system.residual[j].at[l] = -float(gradient[j].at[l]);
  }
  LaneSums squared_direction = update_direction(Lanes{}, system);
  LaneSums rz = step_along(Lanes{}, system);
  for (std::size_t step = 0; step < 2 * d; ++step) {
    const LaneSums curved = multiply_curvature(X, 0, D, {}, system);
    Lanes lengths{}, factors{};
    for (std::size_t l = 0; l < kLanes; ++l) {
      if (rz.at[l] < 1e-10) continue;
      lengths.at[l] = float(rz.at[l] / (squared_direction.at[l] + curved.at[l]));
    }
    const LaneSums next = step_along(lengths, system);
    for (std::size_t l = 0; l < kLanes; ++l) {
      if (lengths.at[l] != 0) factors.at[l] = float(next.at[l] / rz.at[l]);
    }
    rz = next;
    squared_direction = update_direction(factors, system);
  }
  system.direction = system.solution;
  std::fill(system.product.begin(), system.product.end(), Lanes{});
  multiply_curvature(X, 0, D, {}, system);
  for (std::size_t j = 0; j < d; ++j) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      EXPECT_NEAR(system.solution[j].at[l] + system.product[j].at[l], -gradient[j].at[l], 1e-3);
    }
  }
}

TEST(RowKernels, rows_above_a_threshold_are_found_in_order_with_their_scores) {
  Random random(5);
  const CsrMatrix X = random_rows(1300, 30, 0.3, random);
  const auto W = random_lanes(30, random);
  Lanes thresholds;
  std::fill_n(thresholds.at, kLanes, std::numeric_limits<float>::infinity());
  thresholds.at[3] = 1.0F;
  thresholds.at[15] = 1.5F;
  for (const std::size_t step : {1, 2, 7, 1299, 1300}) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < 1300; i += static_cast<std::uint32_t>(step)) rows.push_back(i);
    std::vector<Lanes> scores(1300);
    score_rows(X, 0, W, scores);
    std::vector<std::uint32_t> expected;
    for (const std::uint32_t i : rows) {
      if (scores[i].at[3] > 1.0F || scores[i].at[15] > 1.5F) expected.push_back(i);
    }
    RowScores above;
    score_rows_above(X, 0, W, rows, thresholds, above);
    ASSERT_THAT(above.rows, ::testing::ElementsAreArray(expected));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      EXPECT_THAT(above.scores[k].at, ::testing::ElementsAreArray(scores[expected[k]].at));
    }
  }
  RowScores none;
  score_rows_above(X, 0, W, {}, thresholds, none);
  EXPECT_TRUE(none.rows.empty());
}

TEST(RowKernels, a_tail_is_the_last_columns_that_every_row_has) {
  Random random(9);
  const CsrMatrix full = random_rows(5, 40, 1.1, random);
  EXPECT_EQ(dense_tail(full), 40U);
  EXPECT_EQ(dense_tail(random_rows(50, 40, 0.5, random)), 0U);
  EXPECT_EQ(dense_tail(CsrMatrix(40)), 0U);
  std::vector<FeatureId> columns;
  for (FeatureId j = 12; j < 40; ++j) columns.push_back(j);
  CsrMatrix X = full;
  X.append_row(columns, std::vector<float>(columns.size(), 1.0F));
  EXPECT_EQ(dense_tail(X), 28U);
  columns.erase(columns.begin() + 3);  // column 15
  X.append_row(columns, std::vector<float>(columns.size(), 1.0F));
  EXPECT_EQ(dense_tail(X), 24U);
  X.append_row(std::vector<FeatureId>{39}, std::vector<float>{1.0F});
  EXPECT_EQ(dense_tail(X), 0U);  // too few
  X.append_row({}, {});
  EXPECT_EQ(dense_tail(X), 0U);
}

/// Rows of terms and a tail of so many columns.
CsrMatrix rows_with_tail(std::size_t num_rows, FeatureId tail, Random& random) {
  const CsrMatrix sparse = random_rows(num_rows, 30, 0.2, random);
  CsrMatrix X(30 + tail);
  for (std::size_t i = 0; i < num_rows; ++i) {
    const SparseRow row = sparse.row(i);
    std::vector<FeatureId> columns(row.columns.begin(), row.columns.end());
    std::vector<float> values(row.values.begin(), row.values.end());
    for (FeatureId j = 0; j < tail; ++j) {
      columns.push_back(30 + j);
      values.push_back(static_cast<float>(random.normal()));
    }
    X.append_row(columns, values);
  }
  return X;
}

TEST(RowKernels, scores_with_a_tail_have_the_same_bits) {
  Random random(10);
  for (const FeatureId tail : {16U, 17U, 40U}) {
    const CsrMatrix X = rows_with_tail(603, tail, random);
    ASSERT_GE(dense_tail(X), tail);
    const auto W = random_lanes(30 + tail, random);
    Lanes thresholds;
    std::fill_n(thresholds.at, kLanes, 2.0F);
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < 603; i += 2) rows.push_back(i);
    RowScores without, with;
    score_rows_above(X, 0, W, rows, thresholds, without);
    score_rows_above(X, tail, W, rows, thresholds, with);
    ASSERT_FALSE(with.rows.empty());
    ASSERT_THAT(with.rows, ::testing::ElementsAreArray(without.rows));
    for (std::size_t k = 0; k < with.rows.size(); ++k) {
      EXPECT_THAT(with.scores[k].at, ::testing::ElementsAreArray(without.scores[k].at));
    }
  }
}

template <class T>
void expect_same(std::span<const T> a, std::span<const T> b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    EXPECT_THAT(a[k].at, ::testing::ElementsAreArray(b[k].at)) << k;
  }
}

TEST(RowKernels, gradients_and_products_with_a_tail_have_the_same_bits) {
  Random random(11);
  for (const std::size_t num_rows : {3, 64, 131}) {
    for (const FeatureId tail : {16U, 17U}) {
      const CsrMatrix X = rows_with_tail(num_rows, tail, random);
      const std::size_t d = X.num_columns() + 5;  // some solvers round the number of columns up
      const auto slopes = random_lanes(num_rows, random), D = random_lanes(num_rows, random);
      const auto W = random_lanes(d, random);
      struct Results {
        std::vector<Lanes> scores;
        std::vector<WideLanes> gradient;
        BatchedNewtonSystem system;
        LaneSums curved;
      };
      const auto run = [&](std::uint32_t with) {
        Results r{std::vector<Lanes>(num_rows), std::vector<WideLanes>(d), {}, {}};
        score_rows(X, with, W, r.scores);
        r.system.diagonal.assign(d, Lanes{});
        r.system.product.assign(d, Lanes{});
        r.system.direction = W;
        add_gradient(X, with, slopes, D, r.gradient, r.system.diagonal);
        r.curved = multiply_curvature(X, with, D, {}, r.system);
        return r;
      };
      const Results a = run(0), b = run(tail);
      expect_same<Lanes>(a.scores, b.scores);
      expect_same<WideLanes>(a.gradient, b.gradient);
      expect_same<Lanes>(a.system.diagonal, b.system.diagonal);
      expect_same<Lanes>(a.system.product, b.system.product);
      EXPECT_THAT(a.curved.at, ::testing::ElementsAreArray(b.curved.at));
    }
  }
}

TEST(RowKernels, outer_products_fill_the_lower_triangle) {
  Random random(6);
  constexpr std::size_t d = 7;
  std::vector<float> X(9 * d);
  for (float& x : X) x = static_cast<float>(random.normal());
  const std::vector<std::uint32_t> rows{0, 2, 3, 5, 8};
  const std::vector<float> weights{0.5F, 1, 2, 0.25F, 3};
  std::vector<float> H(d * d, 0.0F);
  add_outer_products(X, d, rows, weights, H);
  for (std::size_t i = 0; i < d; ++i) {
    for (std::size_t j = 0; j < d; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < rows.size(); ++k) {
        sum += double{weights[k]} * X[rows[k] * d + i] * X[rows[k] * d + j];
      }
      EXPECT_NEAR(H[i * d + j], j <= i ? sum : 0.0, 1e-4);
    }
  }
}

}  // namespace
}  // namespace margrove::detail
