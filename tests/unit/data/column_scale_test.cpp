#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"
#include "files.hpp"
#include "margrove/tfidf.hpp"

namespace margrove {
namespace {
using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;

using Table = std::vector<std::vector<float>>;

/// Zeros have no entries.
CsrMatrix matrix(const Table& rows) {
  CsrMatrix X(static_cast<FeatureId>(rows.front().size()));
  for (const auto& row : rows) {
    std::vector<FeatureId> columns;
    std::vector<float> values;
    for (FeatureId j = 0; j < row.size(); ++j) {
      if (row[j] == 0) continue;
      columns.push_back(j);
      values.push_back(row[j]);
    }
    X.append_row(columns, values);
  }
  return X;
}

Table table(const CsrMatrix& X) {
  Table rows;
  for (std::size_t i = 0; i < X.num_rows(); ++i) {
    rows.emplace_back(X.num_columns(), 0.0F);
    const SparseRow x = X.row(i);
    for (std::size_t k = 0; k < x.size(); ++k) rows.back()[x.columns[k]] = x.values[k];
  }
  return rows;
}

/// Two columns, the first a tenth of the second and both dense.
const Table kDense{{1, 10, 5}, {2, 20, 5}, {3, 60, 5}, {6, 30, 5}};

TEST(ColumnScale, standard_has_mean_0_and_deviation_1_and_drops_constant_columns) {
  const CsrMatrix X = matrix(kDense);
  const Preprocessing fitted = Preprocessing::fit_columns(X, ColumnScale::standard);
  EXPECT_EQ(fitted.kind, Preprocessing::Kind::scale);
  EXPECT_THAT(fitted.centre, ElementsAre(3, 30, 5));
  EXPECT_THAT(fitted.spread, ElementsAre(DoubleEq(std::sqrt(3.5)), DoubleEq(std::sqrt(350.0)), 0));
  const CsrMatrix scaled = fitted.apply(X);
  EXPECT_THAT(scaled.row(0).columns, ElementsAre(0U, 1U));
  EXPECT_FLOAT_EQ(scaled.row(0).values[0], static_cast<float>(-2 / std::sqrt(3.5)));
  EXPECT_FLOAT_EQ(scaled.row(2).values[0], 0.0F);
}

TEST(ColumnScale, a_zero_of_a_dense_column_is_as_far_from_the_mean_as_it_is) {
  const CsrMatrix X = matrix({{0, 4}, {2, 8}, {4, 0}, {6, 4}});
  const Table scaled = table(Preprocessing::fit_columns(X, ColumnScale::standard).apply(X));
  EXPECT_FLOAT_EQ(scaled[0][0], static_cast<float>(-3 / std::sqrt(5.0)));
  EXPECT_FLOAT_EQ(scaled[2][1], static_cast<float>(-4 / std::sqrt(8.0)));
}

TEST(ColumnScale, max_abs_only_divides_and_common_has_one_divisor) {
  const CsrMatrix X = matrix({{-4, 10}, {2, 20}});
  const Preprocessing largest = Preprocessing::fit_columns(X, ColumnScale::max_abs);
  EXPECT_EQ(table(largest.apply(X)), (Table{{-1, 0.5F}, {0.5F, 1}}));
  const Preprocessing common = Preprocessing::fit_columns(X, ColumnScale::common);
  EXPECT_THAT(common.centre, ElementsAre(-1, 15));
  EXPECT_THAT(common.spread, ElementsAre(DoubleEq(std::sqrt(250)), DoubleEq(std::sqrt(250))));
}

TEST(ColumnScale, robust_is_not_moved_by_an_outlier) {
  Table rows;
  for (int i = 1; i <= 99; ++i) rows.push_back({static_cast<float>(i), 7});
  const Preprocessing before = Preprocessing::fit_columns(matrix(rows), ColumnScale::robust);
  EXPECT_THAT(before.centre, ElementsAre(50, 7));
  EXPECT_THAT(before.spread, ElementsAre(DoubleNear(50 / 1.349, 0.01), 0));
  rows.back()[0] = 1e9F;
  const Preprocessing after = Preprocessing::fit_columns(matrix(rows), ColumnScale::robust);
  EXPECT_EQ(after.centre, before.centre);
  EXPECT_EQ(after.spread, before.spread);
}

TEST(ColumnScale, robust_takes_the_deviation_where_most_values_are_equal) {
  const CsrMatrix X = matrix({{3}, {3}, {3}, {3}, {3}, {3}, {3}, {11}});
  const Preprocessing fitted = Preprocessing::fit_columns(X, ColumnScale::robust);
  EXPECT_THAT(fitted.centre, ElementsAre(3));
  EXPECT_THAT(fitted.spread, ElementsAre(DoubleEq(std::sqrt(7.0))));
}

TEST(ColumnScale, sparse_rows_are_divided_and_never_filled) {
  Table rows(10, std::vector<float>(6, 0.0F));
  for (std::size_t i = 0; i < 10; ++i) rows[i][i % 6] = 100;
  const CsrMatrix X = matrix(rows);
  for (const ColumnScale scale :
       {ColumnScale::standard, ColumnScale::max_abs, ColumnScale::robust, ColumnScale::common}) {
    const Preprocessing fitted = Preprocessing::fit_columns(X, scale);
    const CsrMatrix scaled = fitted.apply(X);
    EXPECT_EQ(scaled.num_nonzeros(), X.num_nonzeros());
    for (const double centre : fitted.centre) EXPECT_EQ(centre, 0);
  }
  const Preprocessing standard = Preprocessing::fit_columns(X, ColumnScale::standard);
  EXPECT_DOUBLE_EQ(standard.spread[0], 100 * std::sqrt(0.2 * 0.8));
}

TEST(ColumnScale, a_constant_column_of_sparse_rows_stays) {
  const CsrMatrix X =
      matrix({{4, 1, 0, 0, 0, 0}, {4, 0, 1, 0, 0, 0}, {4, 0, 0, 1, 1, 0}, {4, 0, 0, 0, 0, 1}});
  const Preprocessing fitted = Preprocessing::fit_columns(X, ColumnScale::standard);
  EXPECT_EQ(fitted.spread[0], 4);
}

ColumnScale chosen(const Table& rows) {
  return Preprocessing::fit_columns(matrix(rows), ColumnScale::automatic).column_scale;
}

Table random_table(double first, double second, double density = 1.0) {
  Random random(3);
  Table rows;
  for (int i = 0; i < 200; ++i) {
    std::vector<float> row;
    for (const double size : {first, second, first, second}) {
      const bool is_there = random.uniform() < density;
      row.push_back(is_there ? static_cast<float>(size * random.normal()) : 0.0F);
    }
    rows.push_back(row);
  }
  return rows;
}

TEST(ColumnScale, automatic_standardises_large_columns_of_different_scales) {
  EXPECT_EQ(chosen(random_table(1, 1000)), ColumnScale::standard);
  EXPECT_EQ(chosen(random_table(0.01, 5)), ColumnScale::standard);
  EXPECT_EQ(chosen(random_table(50, 200)), ColumnScale::common);
}

TEST(ColumnScale, automatic_keeps_the_proportions_of_columns_that_are_not_large) {
  EXPECT_EQ(chosen(random_table(1e-3, 2e-3)), ColumnScale::common);
  EXPECT_EQ(chosen(random_table(0.3, 0.001)), ColumnScale::common);
  Table pixels = random_table(1, 1);
  for (auto& row : pixels) {
    for (float& value : row) value = std::abs(value);
  }
  EXPECT_EQ(chosen(pixels), ColumnScale::common);
}

TEST(ColumnScale, automatic_leaves_alone_what_is_scaled_or_sparse) {
  EXPECT_EQ(chosen(random_table(1, 1000, 0.3)), ColumnScale::none);
  const Table large = random_table(1, 1000);
  const CsrMatrix scaled =
      Preprocessing::fit_columns(matrix(large), ColumnScale::standard).apply(matrix(large));
  EXPECT_EQ(chosen(table(scaled)), ColumnScale::none);
  EXPECT_EQ(chosen({{5, 5}, {5, 5}}), ColumnScale::none);                      // constant
  EXPECT_EQ(chosen({{0.6F, 0.8F}, {0.8F, 0.6F}, {1, 0}}), ColumnScale::none);  // unit rows
  EXPECT_EQ(chosen({{1, 1}, {0, 1}, {1, 0}}), ColumnScale::none);              // indicators
}

Preprocessing::Kind automatic_kind(const Table& rows) {
  return Preprocessing::fit_columns(matrix(rows), ColumnScale::automatic).kind;
}

/// Rows of at most so many counts each, in 60 columns.
Table counts(std::initializer_list<int> nonzeros, float largest = 3) {
  Table rows;
  Random random(7);
  for (const int n : nonzeros) {
    std::vector<float> row(60, 0.0F);
    for (int k = 0; k < n; ++k) {
      row[static_cast<std::size_t>(random.uniform() * 60)] =
          1 + std::floor(static_cast<float>(random.uniform()) * largest);
    }
    rows.push_back(row);
  }
  return rows;
}

TEST(ColumnScale, automatic_makes_sparse_counts_of_different_lengths_unit_rows) {
  using Kind = Preprocessing::Kind;
  EXPECT_EQ(automatic_kind(counts({2, 20, 5, 9, 1, 14})), Kind::normalize);
  EXPECT_EQ(automatic_kind(counts({2, 20, 5, 9, 1, 14}, 1)), Kind::normalize);  // indicators
  Table same = counts({1, 1, 1, 1}, 1);
  EXPECT_EQ(automatic_kind(same), Kind::none);  // of one length
  Table one_column = counts({2, 20, 5, 9, 1, 14});
  for (auto& row : one_column) row[7] = 500;
  EXPECT_EQ(automatic_kind(one_column), Kind::none);  // that outweighs all others
  Table halves = counts({2, 20, 5, 9, 1, 14});
  halves[1][3] = 0.5F;
  EXPECT_EQ(automatic_kind(halves), Kind::none);
  Table negative = counts({2, 20, 5, 9, 1, 14});
  negative[1][3] = -1;
  EXPECT_EQ(automatic_kind(negative), Kind::none);
  EXPECT_EQ(automatic_kind(counts({80, 150, 200, 300})), Kind::scale);  // dense
}

TEST(ColumnScale, a_weight_counts_as_a_repetition) {
  const Table rows{{1, 10}, {2, 20}, {5, 30}, {9, 70}};
  const std::vector<double> weights{1, 3, 0, 2};
  Table repeated;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (double copy = 0; copy < weights[i]; ++copy) repeated.push_back(rows[i]);
  }
  for (const ColumnScale scale :
       {ColumnScale::standard, ColumnScale::max_abs, ColumnScale::robust, ColumnScale::common}) {
    const Preprocessing one = Preprocessing::fit_columns(matrix(rows), scale, weights);
    const Preprocessing other = Preprocessing::fit_columns(matrix(repeated), scale);
    for (std::size_t j = 0; j < 2; ++j) {
      EXPECT_NEAR(one.centre[j], other.centre[j], 1e-12);
      EXPECT_NEAR(one.spread[j], other.spread[j], 1e-12);
    }
  }
}

TEST(ColumnScale, columns_that_are_not_numeric_stay_as_they_are) {
  const CsrMatrix X = matrix({{1, 0, 100}, {0, 1, 200}, {1, 0, 600}});
  const std::vector<std::uint8_t> is_numeric{0, 0, 1};
  const Preprocessing fitted =
      Preprocessing::fit_columns(X, ColumnScale::automatic, {}, is_numeric);
  EXPECT_EQ(fitted.column_scale, ColumnScale::common);  // of one numeric column
  EXPECT_THAT(fitted.spread, ElementsAre(1, 1, DoubleNear(369.7, 0.1)));
  EXPECT_THAT(fitted.centre, ElementsAre(0, 0, 300));
  const Preprocessing standard =
      Preprocessing::fit_columns(X, ColumnScale::standard, {}, is_numeric);
  EXPECT_THAT(standard.centre, ElementsAre(0, 0, 300));
  EXPECT_EQ(table(standard.apply(X))[0][0], 1);
}

TEST(ColumnScale, wide_rows_have_the_scale_of_their_columns_in_use) {
  constexpr FeatureId kFar = 3'000'000;
  CsrMatrix wide, narrow;
  for (const float x : {1.0F, 2.0F, 6.0F}) {
    wide.append_row(std::vector<FeatureId>{1, kFar}, std::vector<float>{x, 100 * x});
    narrow.append_row(std::vector<FeatureId>{0, 1}, std::vector<float>{x, 100 * x});
  }
  const Preprocessing of_wide = Preprocessing::fit_columns(wide, ColumnScale::standard);
  const Preprocessing of_narrow = Preprocessing::fit_columns(narrow, ColumnScale::standard);
  ASSERT_EQ(of_wide.centre.size(), kFar + 1U);
  EXPECT_EQ(of_wide.centre[1], of_narrow.centre[0]);
  EXPECT_EQ(of_wide.spread[kFar], of_narrow.spread[1]);
  EXPECT_EQ(of_wide.centre[0], 0.0);
  EXPECT_EQ(of_wide.spread[0], 1.0);
  EXPECT_EQ(of_wide.apply(wide.view()).row(2).values[1],
            of_narrow.apply(narrow.view()).row(2).values[1]);
  EXPECT_EQ(Preprocessing::fit_columns(wide, ColumnScale::automatic).column_scale,
            Preprocessing::fit_columns(narrow, ColumnScale::automatic).column_scale);
}

TEST(ColumnScale, new_rows_may_be_wider_or_narrower_than_the_training_rows) {
  const Preprocessing fitted =
      Preprocessing::fit_columns(matrix({{1, 1}, {3, 5}}), ColumnScale::standard);
  const CsrMatrix wide = fitted.apply(matrix({{3, 5, 8}}));
  EXPECT_EQ(wide.num_columns(), 2U);
  EXPECT_EQ(table(wide), (Table{{1, 1}}));
  EXPECT_EQ(table(fitted.apply(matrix({{3}}))), (Table{{1, -1.5F}}));
}

TEST(ColumnScale, no_rows_and_no_columns_are_no_problem) {
  const Preprocessing fitted = Preprocessing::fit_columns(CsrMatrix(2), ColumnScale::standard);
  EXPECT_THAT(fitted.spread, ElementsAre(1, 1));
  EXPECT_EQ(Preprocessing::fit_columns(CsrMatrix(0), ColumnScale::automatic).kind,
            Preprocessing::Kind::none);
}

TEST(ColumnScale, wrong_sizes_throw) {
  const CsrMatrix X = matrix(kDense);
  const std::vector<double> weights{1, 2};
  EXPECT_THAT(message_of([&] { Preprocessing::fit_columns(X, ColumnScale::standard, weights); }),
              HasSubstr("row weights: there are 2, but must be 4"));
  const std::vector<std::uint8_t> is_numeric{1};
  EXPECT_THAT(
      message_of([&] { Preprocessing::fit_columns(X, ColumnScale::standard, {}, is_numeric); }),
      HasSubstr("scale: there are 1 flags of numeric columns, but must be 3"));
}

TEST(ColumnScale, check_names_a_column_that_does_not_fit) {
  Preprocessing fitted = Preprocessing::fit_columns(matrix(kDense), ColumnScale::standard);
  EXPECT_NO_THROW(fitted.check());
  fitted.spread[1] = -1;
  EXPECT_THAT(message_of([&] { fitted.check(); }),
              HasSubstr("column 1 has centre 30 and spread -1, but must have numbers"));
  fitted.spread.pop_back();
  EXPECT_THAT(message_of([&] { fitted.check(); }), HasSubstr("3 centres, but 2 spreads"));
}

}  // namespace
}  // namespace margrove
