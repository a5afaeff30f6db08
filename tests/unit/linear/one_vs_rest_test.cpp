#include "linear/one_vs_rest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "counted_seconds.hpp"
#include "data/csr_operations.hpp"
#include "data/zipf_text.hpp"
#include "margrove/errors.hpp"

namespace margrove {
namespace {

struct Problem {
  CsrMatrix X;
  LabelSets labels;
  std::uint32_t num_labels = 0;
};

struct Shape {
  int rows;
  int columns;
  int labels;
  double density = 1.0;
  double labels_a_row = 1.0;
  bool empty_rows = true;
  int full = 0;  // so many last columns are in every row
};

/// Rows near one prototype a label, an intercept column at the end, some rows empty or repeated.
Problem random_problem(std::uint64_t seed, const Shape& shape) {
  Random random(seed);
  Problem problem;
  problem.num_labels = static_cast<std::uint32_t>(shape.labels);
  std::vector<std::vector<double>> prototypes(shape.labels);
  for (auto& prototype : prototypes) {
    for (int j = 0; j < shape.columns; ++j) prototype.push_back(random.normal());
  }
  CsrMatrix X(static_cast<std::uint32_t>(shape.columns));
  for (int i = 0; i < shape.rows; ++i) {
    std::vector<LabelId> set;
    for (int l = 0; l < shape.labels; ++l) {
      if (random.uniform() < shape.labels_a_row / shape.labels) {
        set.push_back(static_cast<LabelId>(l));
      }
    }
    std::vector<FeatureId> columns;
    std::vector<float> values;
    for (int j = 0; j < shape.columns && !(shape.empty_rows && i % 17 == 5); ++j) {
      if (random.uniform() >= shape.density && j < shape.columns - shape.full) continue;
      double value = random.normal();
      for (const LabelId l : set) value += prototypes[l][j];
      columns.push_back(static_cast<FeatureId>(j));
      values.push_back(static_cast<float>(value));
    }
    const int copies = i % 11 == 3 ? 2 : 1;
    for (int copy = 0; copy < copies; ++copy) {
      X.append_row(columns, values);
      problem.labels.append(set);
    }
  }
  problem.X = with_intercept(X, 1.0);
  return problem;
}

double sign(const LabelSets& labels, std::size_t row, std::uint32_t label) {
  for (const LabelId l : labels[row]) {
    if (l == label) return 1.0;
  }
  return -1.0;
}

/// The objective of one label computed straight from its definition.
double objective(const Problem& problem, std::uint32_t label, const Eigen::VectorXd& w,
                 PointLossKind loss, double C, std::span<const double> row_weights = {}) {
  double sum = 0.5 * w.squaredNorm();
  for (std::size_t i = 0; i < problem.X.num_rows(); ++i) {
    double f = 0;
    const SparseRow x = problem.X.row(i);
    for (std::size_t k = 0; k < x.size(); ++k) f += x.values[k] * w[x.columns[k]];
    const double m = sign(problem.labels, i, label) * f;
    const double weight = row_weights.empty() ? 1.0 : row_weights[i];
    sum += C * weight * visit_point_loss(loss, [m](auto l) { return l.value(m); });
  }
  return sum;
}

Eigen::VectorXd column(const WeightMatrix& W, std::uint32_t label) {
  Eigen::VectorXd w(W.num_features());
  for (FeatureId j = 0; j < W.num_features(); ++j) w[j] = W.at(j, label);
  return w;
}

OneVsRestFit train(const Problem& problem, const OneVsRestOptions& options,
                   const OneVsRestExtras& extras = {}, int threads = 1) {
  Executor executor(threads);
  RunControl control;
  return train_one_vs_rest(problem.X, problem.labels, problem.num_labels, options, executor,
                           control, extras);
}

std::vector<float> all_weights(const WeightMatrix& W) {
  std::vector<float> values;
  for (FeatureId j = 0; j < W.num_features(); ++j) {
    for (std::uint32_t l = 0; l < W.num_nodes(); ++l) values.push_back(W.at(j, l));
  }
  return values;
}

bool same_bits(const OneVsRestFit& a, const OneVsRestFit& b) {
  const auto wa = all_weights(a.weights);
  const auto wb = all_weights(b.weights);
  return std::equal(wa.begin(), wa.end(), wb.begin(), wb.end(),
                    [](float x, float y) {
                      return std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
                    }) &&
         std::bit_cast<std::uint64_t>(a.primal) == std::bit_cast<std::uint64_t>(b.primal) &&
         std::bit_cast<std::uint64_t>(a.dual) == std::bit_cast<std::uint64_t>(b.dual);
}

/// Every loss on every shape: tall, wide and sparse, multi-label, one feature, full columns, full
/// columns beside sparse ones.
class OneVsRest : public testing::TestWithParam<std::tuple<PointLossKind, int>> {
 protected:
  PointLossKind loss() const { return std::get<0>(GetParam()); }
  Problem problem(std::uint64_t seed = 1) const {
    static constexpr Shape kShapes[] = {{400, 6, 5},
                                        {120, 300, 7, 0.05},
                                        {150, 80, 19, 0.1, 3.0},
                                        {60, 1, 2},
                                        {250, 60, 24, 0.08, 0.7},
                                        {300, 9, 18, 1.0, 1.0, false},
                                        {200, 90, 20, 0.1, 1.0, false, 30}};
    return random_problem(seed, kShapes[std::get<1>(GetParam())]);
  }
};
INSTANTIATE_TEST_SUITE_P(Losses, OneVsRest,
                         testing::Combine(testing::Values(PointLossKind::hinge,
                                                          PointLossKind::squared_hinge,
                                                          PointLossKind::logistic),
                                          testing::Range(0, 7)));

TEST_P(OneVsRest, primal_is_the_objective_of_the_returned_weights) {
  const Problem p = problem();
  const OneVsRestFit fit = train(p, {.loss = loss(), .C = 0.7, .tolerance = 1e-4});
  double sum = 0;
  for (std::uint32_t l = 0; l < p.num_labels; ++l) {
    const double expected = objective(p, l, column(fit.weights, l), loss(), 0.7);
    EXPECT_NEAR(fit.labels[l].primal, expected, 2e-6 * expected);
    sum += expected;
  }
  EXPECT_NEAR(fit.primal, sum, 2e-6 * sum);
}

TEST_P(OneVsRest, gap_bounds_the_distance_to_the_optimum) {
  const Problem p = problem();
  const OneVsRestFit rough = train(p, {.loss = loss(), .tolerance = 0.1});
  const OneVsRestFit exact = train(p, {.loss = loss(), .tolerance = 1e-7, .max_passes = 100000});
  for (std::uint32_t l = 0; l < p.num_labels; ++l) {
    EXPECT_EQ(exact.labels[l].stop, Stop::converged);
    EXPECT_LE(exact.labels[l].relative_gap(), 1e-6);
    EXPECT_LE(rough.labels[l].relative_gap(), 0.1);
    const double slack = 1e-6 * exact.labels[l].primal;
    EXPECT_LE(rough.labels[l].dual, exact.labels[l].primal + slack);
    EXPECT_GE(rough.labels[l].primal, exact.labels[l].dual - slack);
  }
}

TEST_P(OneVsRest, no_random_step_from_the_answer_lowers_the_objective) {
  const Problem p = problem();
  const OneVsRestFit fit = train(p, {.loss = loss(), .tolerance = 1e-7, .max_passes = 100000});
  Random random(3);
  for (std::uint32_t l = 0; l < p.num_labels; ++l) {
    const Eigen::VectorXd w = column(fit.weights, l);
    const double best = objective(p, l, w, loss(), 1.0);
    for (int trial = 0; trial < 10; ++trial) {
      Eigen::VectorXd other = w;
      for (auto& value : other) value += std::pow(10.0, -trial / 2.0) * random.normal();
      EXPECT_GE(objective(p, l, other, loss(), 1.0), best * (1 - 1e-6));
    }
  }
}

TEST_P(OneVsRest, one_two_and_five_threads_give_the_same_bits) {
  const Problem p = problem();
  const OneVsRestOptions options{.loss = loss(), .tolerance = 1e-3};
  const OneVsRestFit one = train(p, options, {}, 1);
  EXPECT_TRUE(same_bits(one, train(p, options, {}, 2)));
  EXPECT_TRUE(same_bits(one, train(p, options, {}, 5)));
}

TEST_P(OneVsRest, very_small_and_very_large_C_reach_the_gap) {
  const Problem p = problem();
  for (const double C : {1e-6, 1e-3, 30.0}) {
    const OneVsRestFit fit =
        train(p, {.loss = loss(), .C = C, .tolerance = 1e-3, .max_passes = 200000});
    EXPECT_EQ(fit.stop, Stop::converged) << "C = " << C;
    for (const auto& label : fit.labels) EXPECT_LE(label.relative_gap(), 1e-3) << "C = " << C;
  }
}

TEST_P(OneVsRest, row_weights_count_like_copies) {
  const Problem p = problem();
  Problem repeated;
  repeated.num_labels = p.num_labels;
  repeated.X = CsrMatrix(p.X.num_columns());
  std::vector<double> weights;
  for (std::size_t i = 0; i < p.X.num_rows(); ++i) {
    weights.push_back(static_cast<double>(i % 3));
    for (std::size_t copy = 0; copy < i % 3; ++copy) {
      repeated.X.append_row(p.X.row(i).columns, p.X.row(i).values);
      repeated.labels.append(p.labels[i]);
    }
  }
  const OneVsRestOptions options{.loss = loss(), .tolerance = 1e-6, .max_passes = 100000};
  const OneVsRestFit weighted = train(p, options, {.row_weights = weights});
  const OneVsRestFit copied = train(repeated, options);
  for (std::uint32_t l = 0; l < p.num_labels; ++l) {
    EXPECT_NEAR(weighted.labels[l].primal, copied.labels[l].primal, 3e-6 * copied.labels[l].primal);
  }
}

TEST_P(OneVsRest, warm_start_at_the_answer_needs_few_passes) {
  const Problem p = problem();
  const OneVsRestOptions options{.loss = loss(), .tolerance = 1e-5, .max_passes = 100000};
  const OneVsRestFit cold = train(p, options, {.keep_duals = true});
  const OneVsRestExtras extras{.start_duals = cold.duals, .start_weights = &cold.weights};
  OneVsRestOptions looser = options;
  looser.tolerance = 3e-5;
  const OneVsRestFit warm = train(p, looser, extras);
  int cold_passes = 0;
  int warm_passes = 0;
  for (std::uint32_t l = 0; l < p.num_labels; ++l) {
    EXPECT_NEAR(warm.labels[l].primal, cold.labels[l].primal, 1e-4 * cold.labels[l].primal);
    cold_passes += cold.labels[l].passes;
    warm_passes += warm.labels[l].passes;
  }
  EXPECT_LT(warm_passes, cold_passes);
}

TEST_P(OneVsRest, label_without_rows_and_label_of_every_row_are_solved) {
  Problem p = problem();
  LabelSets labels;
  for (std::size_t i = 0; i < p.X.num_rows(); ++i) labels.append(std::vector<LabelId>{1});
  p.labels = labels;
  p.num_labels = 3;
  const OneVsRestFit fit = train(p, {.loss = loss(), .tolerance = 1e-5, .max_passes = 100000});
  EXPECT_EQ(fit.stop, Stop::converged);
  EXPECT_LE(fit.relative_gap(), 1e-5);
  EXPECT_NEAR(fit.labels[0].primal, fit.labels[1].primal, 1e-4 * fit.labels[0].primal);
  EXPECT_LT((column(fit.weights, 0) - column(fit.weights, 2)).norm(), 0.02);
}

TEST_P(OneVsRest, interruption_is_reported_and_leaves_finite_weights) {
  const Problem p = problem();
  Executor executor(1);
  RunControl control([](const Progress&) { return false; });
  const OneVsRestFit fit = train_one_vs_rest(
      p.X, p.labels, p.num_labels, {.loss = loss(), .tolerance = 1e-9}, executor, control);
  EXPECT_EQ(fit.stop, Stop::interrupted);
  for (const float w : all_weights(fit.weights)) EXPECT_TRUE(std::isfinite(w));
}

TEST_P(OneVsRest, pass_limit_is_reported) {
  const Problem p = problem();
  const OneVsRestFit fit = train(p, {.loss = loss(), .tolerance = 1e-12, .max_passes = 1});
  EXPECT_EQ(fit.stop, Stop::pass_limit);
}

// So many rows that few of them are candidates for the working sets.
class OneVsRestCandidates : public testing::TestWithParam<PointLossKind> {
 protected:
  OneVsRestCandidates() : problem(random_problem(3, {20000, 400, 6, 0.015, 0.03})) {}
  void expect_certified(const OneVsRestFit& fit, const OneVsRestOptions& options,
                        std::span<const double> row_weights = {}) const {
    for (const std::uint32_t l : {0U, 3U, 5U}) {
      const double primal =
          objective(problem, l, column(fit.weights, l), options.loss, options.C, row_weights);
      EXPECT_NEAR(fit.labels[l].primal, primal, 1e-5 * primal);
      BinaryProblem binary;
      binary.X = problem.X;
      binary.C = options.C;
      binary.row_weights = row_weights;
      const auto norms = squared_norms(problem.X);
      binary.squared_norms = norms;
      std::vector<std::uint32_t> positives;
      for (std::uint32_t i = 0; i < problem.X.num_rows(); ++i) {
        if (sign(problem.labels, i, l) > 0) positives.push_back(i);
      }
      binary.positives = positives;
      BinaryState state;
      RunControl control;
      const BinaryFit referee =
          solve_binary(binary, options.loss, {.tolerance = 1e-6}, state, control);
      EXPECT_LE(fit.labels[l].dual, referee.primal * (1 + 1e-6));
      EXPECT_LE(referee.dual, fit.labels[l].primal * (1 + 1e-6));
      EXPECT_LE(fit.labels[l].relative_gap(), options.tolerance);
    }
  }
  Problem problem;
};
INSTANTIATE_TEST_SUITE_P(Losses, OneVsRestCandidates,
                         testing::Values(PointLossKind::hinge, PointLossKind::squared_hinge));

TEST_P(OneVsRestCandidates, gaps_hold_for_all_rows) {
  for (const double tolerance : {1e-2, 1e-5}) {
    const OneVsRestOptions options{.loss = GetParam(), .C = 0.3, .tolerance = tolerance};
    const OneVsRestFit fit = train(problem, options);
    expect_certified(fit, options);
    EXPECT_TRUE(same_bits(fit, train(problem, options, {}, 3)));
  }
}

TEST_P(OneVsRestCandidates, rows_without_weight_never_count) {
  const OneVsRestOptions options{.loss = GetParam(), .C = 0.3};
  std::vector<double> weights(problem.X.num_rows(), 1.0);
  for (std::size_t i = 0; i < weights.size(); i += 3) weights[i] = 0.0;
  expect_certified(train(problem, options, {.row_weights = weights}), options, weights);
}

TEST_P(OneVsRestCandidates, warm_starts_reach_the_same_gap) {
  const OneVsRestOptions options{.loss = GetParam(), .C = 0.3, .tolerance = 1e-4};
  const OneVsRestFit first = train(problem, options, {.keep_duals = true});
  const OneVsRestFit again = train(problem, options, {.start_duals = first.duals});
  expect_certified(again, options);
  for (std::size_t l = 0; l < first.labels.size(); ++l) {
    EXPECT_LE(again.labels[l].passes, first.labels[l].passes);
  }
}

TEST_P(OneVsRestCandidates, primal_values_are_exact_where_passes_end_training) {
  for (const int passes : {1, 2, 3}) {
    const OneVsRestOptions options{
        .loss = GetParam(), .C = 0.3, .tolerance = 1e-12, .max_passes = passes};
    const OneVsRestFit fit = train(problem, options);
    for (const std::uint32_t l : {0U, 3U, 5U}) {
      const double primal = objective(problem, l, column(fit.weights, l), options.loss, options.C);
      EXPECT_NEAR(fit.labels[l].primal, primal, 1e-5 * primal);
      EXPECT_EQ(fit.labels[l].stop, Stop::pass_limit);
    }
  }
}

// Dense rows of overlapping labels and a large C: the first, small working sets alone would use up
// a limit on passes over them.
TEST(OneVsRestLimit, counts_work_over_all_rows_and_not_passes_over_a_few) {
  const Problem p = random_problem(5, {.rows = 3000, .columns = 20, .labels = 12});
  const OneVsRestFit fit =
      train(p, {.loss = PointLossKind::hinge, .C = 3, .tolerance = 1e-2, .max_passes = 300});
  EXPECT_EQ(fit.stop, Stop::converged);
}

// Each label alone would take longer than there is for all.
TEST(OneVsRestLimit, every_label_has_a_share_of_the_time) {
  const Problem p = random_problem(6, {.rows = 3000, .columns = 20, .labels = 40});
  for (const int threads : {1, 2}) {
    Executor executor(threads);
    RunControl control(nullptr, 0.5, &testing_clock::counted_seconds);
    const OneVsRestFit fit = train_one_vs_rest(
        p.X, p.labels, p.num_labels,
        {.loss = PointLossKind::hinge, .C = 100, .tolerance = 1e-12, .max_passes = 1'000'000},
        executor, control);
    EXPECT_EQ(fit.stop, Stop::time_limit);
    const auto trained = std::count_if(fit.labels.begin(), fit.labels.end(),
                                       [](const BinaryFit& label) { return label.passes > 0; });
    EXPECT_GE(trained, 24);  // without shares a block of 8 on each thread
  }
}

// The first labels have most of the rows, and take most of the time: with equal shares for all they
// would be cut, although the time suffices.
TEST(OneVsRestLimit, a_limit_that_suffices_for_all_labels_cuts_none) {
  Random random(9);
  Problem p;
  p.num_labels = 200;
  p.X = CsrMatrix(30);
  for (std::uint32_t i = 0; i < 1500; ++i) {
    std::vector<LabelId> set;
    for (LabelId l = 0; l < 8; ++l) {
      if (random.below(2) == 0) set.push_back(l);
    }
    if (i < 2 * (p.num_labels - 8)) set.push_back(8 + i / 2);
    std::vector<FeatureId> columns;
    std::vector<float> values;
    for (FeatureId j = 0; j < 30; ++j) {
      columns.push_back(j);
      values.push_back(static_cast<float>(random.normal()));
    }
    p.X.append_row(columns, values);
    p.labels.append(set);
  }
  const OneVsRestOptions options{.loss = PointLossKind::hinge, .C = 1, .tolerance = 1e-3};
  const auto train_within = [&](double seconds) {
    RunControl control(nullptr, seconds, &testing_clock::counted_seconds);
    const OneVsRestFit fit =
        train_one_vs_rest(p.X, p.labels, p.num_labels, options, Executor::serial(), control);
    return std::pair(fit.stop, control.seconds());
  };
  const auto [stop, needed] = train_within(1e6);
  EXPECT_EQ(stop, Stop::converged);
  EXPECT_EQ(train_within(1.5 * needed).first, Stop::converged);
  EXPECT_EQ(train_within(0.5 * needed).first, Stop::time_limit);
}

/// The weights with which a label says no to every row.
Eigen::VectorXd no_weights(const Problem& problem) {
  Eigen::VectorXd w = Eigen::VectorXd::Zero(problem.X.num_columns());
  w[w.size() - 1] = -1.0;  // the intercept
  return w;
}

TEST_P(OneVsRest, without_time_every_label_says_no) {
  const Problem p = problem();
  Executor executor(1);
  RunControl control(nullptr, 0.0);
  const OneVsRestFit fit =
      train_one_vs_rest(p.X, p.labels, p.num_labels, {.loss = loss()}, executor, control);
  EXPECT_EQ(fit.stop, Stop::time_limit);
  EXPECT_GT(fit.relative_gap(), 0);
  for (std::uint32_t l = 0; l < p.num_labels; ++l) {
    const Eigen::VectorXd w = column(fit.weights, l);
    const Eigen::VectorXd zero = Eigen::VectorXd::Zero(w.size());
    const auto value = [&](const Eigen::VectorXd& weights) {
      return objective(p, l, weights, loss(), 1.0);
    };
    EXPECT_NEAR(fit.labels[l].primal, value(w), 1e-6 * value(w));
    EXPECT_LE(value(w), std::min(value(zero), value(no_weights(p))) * (1 + 1e-6));
  }
}

TEST(OneVsRestLimit, no_label_that_was_cut_short_is_worse_than_a_constant_no) {
  const Problem p = random_problem(7, {.rows = 3000, .columns = 60, .labels = 40});
  const OneVsRestFit fit =
      train(p, {.loss = PointLossKind::hinge, .C = 100, .tolerance = 1e-9, .max_passes = 1});
  const Eigen::VectorXd no = no_weights(p);
  int constant = 0;
  for (std::uint32_t l = 0; l < p.num_labels; ++l) {
    const double best = objective(p, l, no, PointLossKind::hinge, 100);
    EXPECT_LE(fit.labels[l].primal, best * (1 + 1e-9));
    EXPECT_GE(fit.labels[l].primal, fit.labels[l].dual);
    constant += column(fit.weights, l).head(no.size() - 1).norm() == 0;
  }
  EXPECT_GT(constant, 0);
}

TEST(OneVsRestInput, no_rows_give_zero_weights) {
  Problem p;
  p.X = CsrMatrix(4);
  p.num_labels = 2;
  for (const auto loss :
       {PointLossKind::hinge, PointLossKind::squared_hinge, PointLossKind::logistic}) {
    const OneVsRestFit fit = train(p, {.loss = loss});
    EXPECT_EQ(fit.stop, Stop::converged);
    EXPECT_EQ(fit.primal, 0.0);
    EXPECT_EQ(fit.weights.num_features(), 4U);
    EXPECT_EQ(fit.weights.num_nodes(), 2U);
  }
}

template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(OneVsRestInput, what_does_not_fit_throws_with_its_name) {
  const Problem p = random_problem(1, {20, 3, 2});
  const auto message = [&p](const OneVsRestExtras& extras) {
    return message_of([&] { train(p, {}, extras); });
  };
  using testing::HasSubstr;
  const std::vector<double> few(3, 1.0);
  EXPECT_THAT(message({.row_weights = few}), HasSubstr("3 row weights, but must be"));
  std::vector<double> negative(p.X.num_rows(), 1.0);
  negative[4] = -2;
  EXPECT_THAT(message({.row_weights = negative}),
              HasSubstr("weight of row 4 is -2, but must be >= 0"));
  const WeightMatrix narrow = WeightMatrix::dense(2, 2);
  EXPECT_THAT(message({.start_weights = &narrow}),
              HasSubstr("start weights are 2 x 2, but must be 4 x 2"));
  const std::vector<LabelDuals> single(1);
  EXPECT_THAT(message({.start_duals = single}), HasSubstr("1 sets of dual variables"));
  const std::vector<LabelDuals> outside{{}, {{100}, {1.0}}};
  EXPECT_THAT(message({.start_duals = outside}), HasSubstr("dual variables of label 1"));
}

TEST(OneVsRestInput, labels_that_do_not_fit_throw) {
  const Problem p = random_problem(1, {20, 3, 2});
  Problem fewer = p;
  fewer.labels = LabelSets();
  EXPECT_THAT(message_of([&] { train(fewer, {}); }), testing::HasSubstr("0 label sets"));
  Problem higher = p;
  higher.num_labels = 1;
  EXPECT_THAT(message_of([&] { train(higher, {}); }), testing::HasSubstr("is 1, but must be < 1"));
}

TEST(OneVsRestBlocks, labels_have_the_same_bits_whatever_other_blocks_are_trained) {
  const Problem p = random_problem(4, {.rows = 200, .columns = 12, .labels = 40});
  const auto blocks = label_blocks(p.labels, p.num_labels);
  ASSERT_GT(blocks.size(), 3u);
  for (const PointLossKind loss :
       {PointLossKind::hinge, PointLossKind::squared_hinge, PointLossKind::logistic}) {
    const OneVsRestOptions options{.loss = loss};
    const auto fit_blocks = [&](BlockRange range) {
      RunControl control;
      return train_label_blocks(p.X, p.labels, p.num_labels, options, range, Executor::serial(),
                                control);
    };
    const std::vector<LabelFit> all = fit_blocks({});
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const std::vector<LabelFit> some = fit_blocks({b, b + 1});
      for (std::uint32_t label = 0; label < p.num_labels; ++label) {
        if (std::ranges::find(blocks[b], label) == blocks[b].end()) {
          EXPECT_TRUE(some[label].weights.features.empty());
          continue;
        }
        EXPECT_EQ(some[label].weights.features, all[label].weights.features);
        EXPECT_EQ(some[label].weights.values, all[label].weights.values);
        EXPECT_EQ(some[label].fit.primal, all[label].fit.primal);
        EXPECT_EQ(some[label].fit.dual, all[label].fit.dual);
        EXPECT_EQ(some[label].fit.passes, all[label].fit.passes);
      }
    }
  }
}

/// Short texts of many labels, each of which has rows.
Problem many_labels(double word_exponent) {
  const ZipfTextOptions options{.num_rows = 3000,
                                .num_features = 6000,
                                .num_labels = 1700,
                                .mean_nonzeros = 12,
                                .label_exponent = 0.5,
                                .word_exponent = word_exponent};
  ZipfText text(options);
  Problem problem;
  problem.num_labels = 1700;
  problem.X.set_num_columns(6001);
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const auto row = text.row(i);
    std::vector<FeatureId> columns(row.features.columns.begin(), row.features.columns.end());
    std::vector<float> values(columns.size(), 1 / std::sqrt(static_cast<float>(columns.size())));
    columns.push_back(6000);
    values.push_back(1);
    problem.X.append_row(columns, values);
    std::vector<LabelId> own(row.labels.begin(), row.labels.end());
    if (i < 1700) own = {static_cast<LabelId>(i)};
    problem.labels.append(own);
  }
  return problem;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

TEST(OneVsRestNonzeros, of_many_labels_are_measured) {
  for (const double word_exponent : {0.5, 1.2}) {
    const Problem p = many_labels(word_exponent);
    const OneVsRestOptions options{.loss = PointLossKind::squared_hinge};
    RunControl control;
    const std::vector<double> found =
        measured_nonzeros(p.X, p.labels, p.num_labels, options, control);
    const OneVsRestFit fit =
        train_one_vs_rest(p.X, p.labels, p.num_labels, options, Executor::serial(), control);
    const auto nonzeros = static_cast<double>(fit.weights.num_nonzeros());
    EXPECT_NEAR(sum(found) / nonzeros, 1, 0.2);
    for (const double count : found) {
      EXPECT_GE(count, 0);
      EXPECT_LE(count, 6001);
    }
  }
}

TEST(OneVsRestNonzeros, are_those_expected_of_few_labels_and_where_training_must_end) {
  Problem p = many_labels(1);
  const OneVsRestOptions options{.loss = PointLossKind::squared_hinge};
  const auto expected = [&] {
    return expected_nonzeros(p.X, p.labels, p.num_labels, options.loss, options.C);
  };
  RunControl interrupted, control;
  interrupted.interrupt();
  EXPECT_EQ(measured_nonzeros(p.X, p.labels, p.num_labels, options, interrupted), expected());
  EXPECT_NE(measured_nonzeros(p.X, p.labels, p.num_labels, options, control), expected());
  p.labels = LabelSets();
  for (std::size_t i = 0; i < p.X.num_rows(); ++i) {
    p.labels.append(std::vector<LabelId>{static_cast<LabelId>(i % 10)});
  }
  EXPECT_EQ(measured_nonzeros(p.X, p.labels, p.num_labels, options, control), expected());
  p.num_labels = 10;
  EXPECT_EQ(measured_nonzeros(p.X, p.labels, p.num_labels, options, control), expected());
}

/// A few labels of a training whose weights without zeros would not fit into memory.
OneVsRestExtras of_very_many_labels() {
  OneVsRestExtras extras;
  extras.num_labels_of_all = 1'000'000'000;
  return extras;
}

std::int64_t num_nonzeros(const OneVsRestFit& fit, std::uint32_t num_labels) {
  std::int64_t count = 0;
  for (std::uint32_t l = 0; l < num_labels; ++l) {
    const Eigen::VectorXd w = column(fit.weights, l);
    count += std::count_if(w.begin(), w.end(), [](double value) { return value != 0; });
  }
  return count;
}

TEST(OneVsRestNonzeros, small_weights_are_dropped_within_the_tolerance) {
  Problem p = many_labels(1);
  Problem few;
  few.X = p.X;
  few.num_labels = 20;
  for (std::size_t i = 0; i < p.X.num_rows(); ++i) {
    few.labels.append(std::vector<LabelId>{static_cast<LabelId>(p.labels[i][0] % 20)});
  }
  for (const bool is_free : {false, true}) {
    const OneVsRestOptions options{.loss = PointLossKind::logistic, .C = 10, .tolerance = 1e-2};
    OneVsRestExtras all, some = of_very_many_labels();
    all.free_intercept = some.free_intercept = is_free;
    const OneVsRestFit full = train(few, options, all), dropped = train(few, options, some);
    EXPECT_LT(10 * num_nonzeros(dropped, 20), 6 * num_nonzeros(full, 20));
    for (std::uint32_t l = 0; l < 20; ++l) {
      EXPECT_EQ(dropped.labels[l].stop, Stop::converged);
      EXPECT_LE(dropped.labels[l].relative_gap(), options.tolerance);
      EXPECT_EQ(dropped.labels[l].dual, full.labels[l].dual);
      if (is_free) continue;
      const double expected =
          objective(few, l, column(dropped.weights, l), options.loss, options.C);
      EXPECT_NEAR(dropped.labels[l].primal, expected, 2e-6 * expected);
    }
    EXPECT_TRUE(same_bits(dropped, train(few, options, some, 5)));
  }
}

TEST(OneVsRestNonzeros, no_weight_is_dropped_where_training_ended_early) {
  const Problem p = random_problem(2, {120, 300, 7, 0.05});
  const OneVsRestOptions options{.loss = PointLossKind::logistic, .C = 10, .max_passes = 3};
  const OneVsRestFit full = train(p, options);
  EXPECT_EQ(full.stop, Stop::pass_limit);
  EXPECT_TRUE(same_bits(full, train(p, options, of_very_many_labels())));
}

TEST(OneVsRestNonzeros, only_logistic_loss_and_large_weights_drop_any) {
  using detail::drops_small_weights;
  EXPECT_TRUE(drops_small_weights(PointLossKind::logistic, 100'000, 2'501));
  EXPECT_FALSE(drops_small_weights(PointLossKind::logistic, 100'000, 2'499));
  EXPECT_FALSE(drops_small_weights(PointLossKind::hinge, 100'000, 100'000));
  EXPECT_FALSE(drops_small_weights(PointLossKind::squared_hinge, 100'000, 100'000));
}

TEST(OneVsRestInput, options_out_of_range_throw) {
  const Problem p = random_problem(1, {20, 3, 2});
  EXPECT_THROW(train(p, {.C = 0}), InvalidOption);
  EXPECT_THROW(train(p, {.tolerance = -1}), InvalidOption);
}

}  // namespace
}  // namespace margrove
