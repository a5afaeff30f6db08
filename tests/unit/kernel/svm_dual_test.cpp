#include "kernel/svm_dual.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "margrove/errors.hpp"
#include "testing.hpp"

namespace margrove {
namespace {

using namespace testing_kernel;
using ::testing::HasSubstr;

std::vector<float> gaussian_matrix(const Rows& rows, double width) {
  Executor executor(1);
  RunControl control;
  const std::vector<KernelSpec> specs{gaussian(width)};
  return full_matrix(gram_matrices(specs, rows.X, executor, control)[0].K);
}

SvmSolution solve(const std::vector<float>& K, const std::vector<std::int8_t>& y,
                  const SvmOptions& options, std::span<const double> start = {}) {
  RunControl control;
  return solve_svm_dual(K, y, options, control, start);
}

/// Dual coordinate pairs in fixed order until nothing moves: slow, and another algorithm.
double reference_dual(const std::vector<float>& K, const std::vector<std::int8_t>& y, double C) {
  const std::size_t n = y.size();
  std::vector<double> u(n, 0.0);
  std::vector<double> G(n);
  for (std::size_t i = 0; i < n; ++i) G[i] = -y[i];
  for (int pass = 0; pass < 20'000; ++pass) {
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double curvature =
            static_cast<double>(K[i * n + i]) + K[j * n + j] - 2 * K[i * n + j];
        double move = (G[j] - G[i]) / std::max(1e-12, curvature);
        const auto low = [&](std::size_t k) { return y[k] > 0 ? 0.0 : -C; };
        const auto high = [&](std::size_t k) { return y[k] > 0 ? C : 0.0; };
        move = std::clamp(move, std::max(low(i) - u[i], u[j] - high(j)),
                          std::min(high(i) - u[i], u[j] - low(j)));
        u[i] += move;
        u[j] -= move;
        for (std::size_t t = 0; t < n; ++t) {
          G[t] += move * (static_cast<double>(K[i * n + t]) - K[j * n + t]);
        }
        largest = std::max(largest, std::abs(move));
      }
    }
    if (largest < 1e-12 * C) break;
  }
  double dual = 0;
  for (std::size_t i = 0; i < n; ++i) dual += u[i] * (y[i] - G[i]) / 2;
  return dual;
}

TEST(SvmDual, two_points_have_the_closed_form) {
  // K = identity: alpha = min(C, 1), bias 0.
  const std::vector<float> K{1, 0, 0, 1};
  const std::vector<std::int8_t> y{1, -1};
  auto solution = solve(K, y, {.C = 10, .tolerance = 1e-9});
  EXPECT_NEAR(solution.u[0], 1.0, 1e-9);
  EXPECT_NEAR(solution.u[1], -1.0, 1e-9);
  EXPECT_NEAR(solution.bias, 0.0, 1e-9);
  EXPECT_NEAR(solution.dual, 1.0, 1e-9);
  solution = solve(K, y, {.C = 0.25, .tolerance = 1e-9});
  EXPECT_EQ(solution.u[0], 0.25);
  EXPECT_NEAR(solution.primal, solution.dual, 1e-9);
}

TEST(SvmDual, reaches_the_value_of_plain_pair_descent) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto rows = random_rows(40, 5, 2, seed);
    const auto K = gaussian_matrix(rows, 1.0);
    const auto y = signs(rows.class_of);
    for (const double C : {0.1, 1.0, 100.0}) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << " C " << C);
      const auto solution = solve(K, y, {.C = C, .tolerance = 1e-8});
      EXPECT_NEAR(solution.dual, reference_dual(K, y, C), 1e-6 * solution.primal);
      EXPECT_LE(solution.primal - solution.dual, 1e-6 * solution.primal);
    }
  }
}

TEST(SvmDual, solution_is_feasible_and_satisfies_the_optimality_conditions) {
  const auto rows = random_rows(300, 8, 2, 7);
  const auto K = gaussian_matrix(rows, 0.7);
  const auto y = signs(rows.class_of);
  const SvmOptions options{.C = 2, .tolerance = 1e-4};
  const auto solution = solve(K, y, options);
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double alpha = y[i] * solution.u[i];
    sum += solution.u[i];
    ASSERT_GE(alpha, 0);
    ASSERT_LE(alpha, options.C);
    double score = solution.bias;
    for (std::size_t j = 0; j < y.size(); ++j) {
      score += solution.u[j] * static_cast<double>(K[i * y.size() + j]);
    }
    if (alpha == 0) {
      EXPECT_GE(y[i] * score, 1 - 1e-3) << i;
    } else if (alpha == options.C) {
      EXPECT_LE(y[i] * score, 1 + 1e-3) << i;
    } else {
      EXPECT_NEAR(y[i] * score, 1, 1e-3) << i;
    }
  }
  EXPECT_NEAR(sum, 0, 1e-9);
}

TEST(SvmDual, shrinking_does_not_change_the_optimum) {
  const auto rows = random_rows(700, 6, 2, 11);
  const auto K = gaussian_matrix(rows, 0.5);
  const auto y = signs(rows.class_of);
  const auto with = solve(K, y, {.C = 20, .tolerance = 1e-6, .shrinking = true});
  const auto without = solve(K, y, {.C = 20, .tolerance = 1e-6, .shrinking = false});
  EXPECT_GT(with.iterations, 700);  // so that shrinking took place
  EXPECT_NEAR(with.dual, without.dual, 1e-6 * with.primal);
  EXPECT_NEAR(with.bias, without.bias, 1e-4);
}

TEST(SvmDual, warm_start_at_the_solution_takes_no_step) {
  const auto rows = random_rows(200, 6, 2, 5);
  const auto K = gaussian_matrix(rows, 1.0);
  const auto y = signs(rows.class_of);
  const SvmOptions options{.C = 3, .tolerance = 1e-5};
  const auto cold = solve(K, y, options);
  const auto warm = solve(K, y, options, cold.u);
  EXPECT_GT(cold.iterations, 0);
  EXPECT_LE(warm.iterations, 2);  // the gradient is summed anew: rounding may ask for a step
  EXPECT_NEAR(warm.dual, cold.dual, 1e-9 * cold.dual);
}

TEST(SvmDual, one_class_only_gives_its_sign) {
  const std::vector<float> K{1, 0.5F, 0.5F, 1};
  const std::vector<std::int8_t> y{-1, -1};
  const auto solution = solve(K, y, {});
  EXPECT_EQ(solution.u, std::vector<double>({0, 0}));
  EXPECT_EQ(solution.bias, -1);
  EXPECT_EQ(solution.primal, 0);
}

TEST(SvmDual, coinciding_rows_of_opposite_classes_end_at_the_bound) {
  const std::vector<float> K{1, 1, 1, 1};
  const auto solution = solve(K, {1, -1}, {.C = 5});
  EXPECT_EQ(solution.u[0], 5);
  EXPECT_EQ(solution.u[1], -5);
  EXPECT_NEAR(solution.primal, 10, 1e-9);
}

TEST(SvmDual, one_vs_rest_has_the_same_bits_on_any_number_of_threads) {
  const auto rows = random_rows(240, 9, 3, 3);
  const auto K = gaussian_matrix(rows, 1.0);
  std::vector<std::vector<double>> results;
  for (const int threads : {1, 2, 5}) {
    Executor executor(threads);
    RunControl control;
    std::vector<double> all;
    for (const auto& classifier : solve_one_vs_rest(K, rows.class_of, 3, {}, executor, control)) {
      all.insert(all.end(), classifier.u.begin(), classifier.u.end());
    }
    results.push_back(std::move(all));
  }
  EXPECT_EQ(results[0].size(), 720U);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(SvmDual, two_classes_make_one_machine_for_the_second) {
  const auto rows = random_rows(50, 4, 2, 3);
  const auto K = gaussian_matrix(rows, 1.0);
  Executor executor(1);
  RunControl control;
  const auto classifiers = solve_one_vs_rest(K, rows.class_of, 2, {}, executor, control);
  ASSERT_EQ(classifiers.size(), 1U);
  EXPECT_EQ(classifiers[0].u, solve(K, signs(rows.class_of, 1), {}).u);
}

TEST(SvmDual, stops_when_the_control_says_so) {
  const auto rows = random_rows(2000, 4, 2, 3);
  const auto K = gaussian_matrix(rows, 0.3);
  RunControl control([](const Progress&) { return true; }, 0.0);
  const auto solution =
      solve_svm_dual(K, signs(rows.class_of), {.C = 1000, .tolerance = 1e-9}, control);
  EXPECT_EQ(solution.stop, Stop::time_limit);
  EXPECT_GE(solution.primal, solution.dual);
  const auto limited = solve(K, signs(rows.class_of), {.max_iterations = 3});
  EXPECT_EQ(limited.stop, Stop::pass_limit);
  EXPECT_EQ(limited.iterations, 3);
}

TEST(SvmDual, stalls_where_no_number_of_steps_would_reach_the_optimum) {
  const auto rows = random_rows(60, 3, 2, 3);
  auto K = gaussian_matrix(rows, 1.0);
  auto y = signs(rows.class_of);
  // The same row with both signs: its loss is never zero, and its dual variables rise up to C.
  for (std::size_t k = 0; k < 60; ++k) K[60 + k] = K[k];
  for (std::size_t k = 0; k < 60; ++k) K[k * 60 + 1] = K[k * 60];
  y[0] = 1;
  y[1] = -1;
  const SvmOptions options{.C = 1e300, .tolerance = 1e-9};
  const auto stalled = solve(K, y, options);
  EXPECT_EQ(stalled.stop, Stop::stalled);
  EXPECT_LT(stalled.iterations, options.max_iterations / 20);
  EXPECT_GT(stalled.primal, 2 * stalled.dual);
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

TEST(SvmDual, wrong_input_throws_with_the_place) {
  const std::vector<float> K{1, 0, 0, 1};
  EXPECT_THAT(message_of([&] { solve(K, {1, 0}, {}); }), HasSubstr("y[1] is 0"));
  EXPECT_THAT(message_of([&] { solve(K, {1, 1, -1}, {}); }), HasSubstr("K has 4 entries"));
  EXPECT_THAT(message_of([&] { solve({}, {}, {}); }), HasSubstr("examples is 0"));
  EXPECT_THAT(message_of([&] { solve(K, {1, -1}, {.C = 0}); }), HasSubstr("option C is 0"));
  const std::vector<double> short_start{0};
  EXPECT_THAT(message_of([&] {
                solve(K, {1, -1}, {}, short_start);
              }),
              HasSubstr("start has 1 values"));
  const std::vector<double> outside{-1, 1};
  EXPECT_THAT(message_of([&] { solve(K, {1, -1}, {}, outside); }), HasSubstr("start[0] is -1"));
  const std::vector<double> unbalanced{1, 0};
  EXPECT_THAT(message_of([&] { solve(K, {1, -1}, {}, unbalanced); }), HasSubstr("sums to 1"));
  Executor executor(1);
  RunControl control;
  const std::vector<std::uint32_t> classes{0, 3};
  EXPECT_THAT(message_of([&] { solve_one_vs_rest(K, classes, 2, {}, executor, control); }),
              HasSubstr("class_of[1] is 3"));
  EXPECT_THAT(message_of([&] { solve_one_vs_rest(K, classes, 1, {}, executor, control); }),
              HasSubstr("classes is 1"));
}

}  // namespace
}  // namespace margrove
