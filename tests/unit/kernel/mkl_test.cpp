#include "kernel/mkl.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernel/beta_step.hpp"
#include "kernel_networks.hpp"
#include "margrove/errors.hpp"
#include "testing.hpp"

namespace margrove {
namespace {

using namespace testing_kernel;
using ::testing::HasSubstr;

struct Problem {
  Rows rows;
  std::vector<KernelSpec> specs;
  std::vector<GramMatrix> grams;
  std::vector<const SymmetricMatrix*> kernels;
  ClassLabels labels;
};

/// Seven kernels on all and on some columns.
Problem problem_of(std::size_t num_rows, std::uint32_t num_classes, std::uint64_t seed) {
  Problem problem;
  problem.rows = random_rows(num_rows, 6, num_classes, seed);
  problem.specs = {gaussian(0.3),          gaussian(1),   gaussian(3),
                   polynomial(1),          polynomial(2), polynomial(1, {{0, 1}}),
                   polynomial(2, {{3, 5}})};
  Executor executor(1);
  RunControl control;
  problem.grams = gram_matrices(problem.specs, problem.rows.X, executor, control);
  problem.kernels = matrices(problem.grams);
  problem.labels = {problem.rows.class_of, num_classes};
  return problem;
}

MklControl precise(double gap = 1e-7) {
  MklControl options;
  options.svm.C = 2;
  options.svm.tolerance = gap;
  options.gap_tolerance = gap;
  options.change_tolerance = 1e-9;
  options.max_rounds = 3000;
  return options;
}

MklFit fit(const Problem& problem, const SumProductNetwork& network, double p, double lambda,
           const MklControl& options, int threads = 1, ProgressCallback callback = {}) {
  Executor executor(threads);
  RunControl control(std::move(callback));
  const auto paths = network.paths();
  const std::vector<double> exponents(network.num_products(), p);
  return fit_network(problem.kernels, paths, exponents, lambda, problem.labels, options, executor,
                     control);
}

MklFit fit_norm(const Problem& problem, double p, const MklControl& options) {
  Executor executor(1);
  RunControl control;
  return fit_lp(problem.kernels, p, problem.labels, options, executor, control);
}

/// sum_c u'K_m u for single kernels.
std::vector<double> forms_of(const Problem& problem, const MklFit& result) {
  std::vector<std::vector<std::uint32_t>> single;
  for (std::uint32_t k = 0; k < problem.kernels.size(); ++k) single.push_back({k});
  const PathKernels kernels(problem.kernels, single);
  std::vector<std::span<const double>> u;
  for (const auto& classifier : result.classifiers) u.emplace_back(classifier.u);
  std::vector<double> forms(single.size());
  Executor executor(1);
  kernels.quadratic_forms(u, std::vector<bool>(single.size(), true), executor, forms);
  return forms;
}

TEST(Mkl, objective_never_rises_and_the_bound_stays_below) {
  for (const std::uint32_t num_classes : {2U, 3U}) {
    const auto problem = problem_of(90, num_classes, 3);
    const auto figure = figure1_network(problem.specs);
    const auto cubes = polynomial_network(std::span(problem.specs).first(7), 2);
    for (const auto* network : {&figure, &cubes}) {
      for (const double p : {0.5, 1.0, 1.5, 2.0}) {
        for (const bool stretch : {false, true}) {
          SCOPED_TRACE(::testing::Message() << num_classes << " classes, p " << p);
          auto options = precise(1e-4);
          options.max_rounds = 40;
          options.over_relaxation = stretch;
          std::vector<double> objectives;
          const auto result =
              fit(problem, *network, p, 0.5, options, 1, [&](const Progress& progress) {
                objectives.push_back(progress.objective);
                return true;
              });
          ASSERT_GE(objectives.size(), 2U);
          for (std::size_t k = 1; k < objectives.size(); ++k) {
            EXPECT_LE(objectives[k], objectives[k - 1] * (1 + 2e-7));
          }
          // The kernel is rounded to float32, so that a value is known to about 1e-7 only.
          EXPECT_LE(result.primal, objectives.back() * (1 + 2e-7));
          if (p >= 1) {
            EXPECT_LE(result.dual, result.primal);
          } else {
            EXPECT_TRUE(std::isnan(result.dual));
          }
        }
      }
    }
  }
}

TEST(Mkl, gap_closes_for_every_p_of_at_least_1_and_every_shape) {
  const auto problem = problem_of(80, 2, 5);
  const std::vector<KernelGroup> groups{
      {"gaussian", {problem.specs[0], problem.specs[1], problem.specs[2]}},
      {"polynomial", {problem.specs[3], problem.specs[4]}},
      {"columns", {problem.specs[5], problem.specs[6]}}};
  const std::vector<SumProductNetwork> networks{
      one_layer_network(problem.specs), group_network(groups), figure1_network(problem.specs),
      polynomial_network(problem.specs, 2)};
  for (std::size_t k = 0; k < networks.size(); ++k) {
    for (const double p : {1.0, 1.3, 2.0}) {
      SCOPED_TRACE(::testing::Message() << "shape " << k << ", p " << p);
      const auto result = fit(problem, networks[k], p, 0.5, precise(1e-5));
      EXPECT_EQ(result.stop, Stop::converged);
      EXPECT_LE(result.relative_gap, 1e-5);
      EXPECT_GE(result.relative_gap, -1e-9);
    }
  }
}

TEST(Mkl, stretched_and_plain_alternation_reach_the_same_objective) {
  const auto problem = problem_of(80, 3, 6);
  for (const double p : {1.0, 2.0}) {
    auto options = precise(1e-6);
    const auto stretched = fit(problem, figure1_network(problem.specs), p, 0.5, options);
    options.over_relaxation = false;
    const auto plain = fit(problem, figure1_network(problem.specs), p, 0.5, options);
    EXPECT_NEAR(stretched.primal, plain.primal, 2e-6 * plain.primal);
    EXPECT_LE(stretched.rounds, plain.rounds);
  }
}

TEST(Mkl, one_layer_satisfies_the_closed_form_and_the_zero_condition) {
  const auto problem = problem_of(100, 2, 7);
  const double lambda = 2;
  const auto result = fit(problem, one_layer_network(problem.specs), 1.0, lambda, precise());
  const auto forms = forms_of(problem, result);
  int zeros = 0;
  for (std::size_t k = 0; k < forms.size(); ++k) {
    const double beta = result.weights[k];
    if (beta > 0) {  // beta = (||w||^2 / 2 lambda)^(1/2) with ||w||^2 = beta^2 q
      EXPECT_NEAR(beta, std::sqrt(beta * beta * forms[k] / (2 * lambda)), 3e-3 * beta + 1e-6) << k;
    } else {  // zero is optimal iff q / 2 <= lambda
      EXPECT_LE(forms[k] / 2, lambda * (1 + 1e-3)) << k;
      ++zeros;
    }
  }
  EXPECT_GT(zeros, 0);
  EXPECT_LT(zeros, 7);
}

TEST(Mkl, one_layer_with_p_1_is_simple_mkl_at_the_matching_lambda) {
  for (const std::uint32_t num_classes : {2U, 3U}) {
    const auto problem = problem_of(90, num_classes, 8);
    const auto simple = fit_norm(problem, 1.0, precise());
    const auto forms = forms_of(problem, simple);
    double S = 0;  // sum ||w_m||, ||w_m|| = d_m sqrt(q_m)
    for (std::size_t k = 0; k < forms.size(); ++k) S += simple.weights[k] * std::sqrt(forms[k]);
    const auto network = fit(problem, one_layer_network(problem.specs), 1.0, S * S / 2, precise());
    // sqrt(2 lambda) sum ||w|| = S^2 there, 1/2 S^2 in SimpleMKL: the same kernel, and objectives
    // that differ by S^2 / 2.
    EXPECT_NEAR(network.primal - S * S / 2, simple.primal, 1e-5 * simple.primal);
    for (std::size_t k = 0; k < forms.size(); ++k) {
      EXPECT_NEAR(network.weights[k], simple.weights[k], 2e-3);
    }
  }
}

TEST(Mkl, lp_satisfies_its_fixed_point) {
  const auto problem = problem_of(90, 3, 8);
  for (const double p : {1.2, 2.0, 4.0}) {
    const auto result = fit_norm(problem, p, precise());
    EXPECT_LE(result.relative_gap, 1e-7);
    const auto forms = forms_of(problem, result);
    double norm = 0;
    double sum = 0;
    std::vector<double> lengths;
    for (std::size_t k = 0; k < forms.size(); ++k) {
      lengths.push_back(result.weights[k] * std::sqrt(forms[k]));
      sum += std::pow(lengths[k], 2 * p / (p + 1));
      norm += std::pow(result.weights[k], p);
    }
    EXPECT_NEAR(norm, 1, 1e-9);
    for (std::size_t k = 0; k < forms.size(); ++k) {
      EXPECT_NEAR(result.weights[k], std::pow(lengths[k], 2 / (p + 1)) / std::pow(sum, 1 / p),
                  1e-3);
    }
  }
}

TEST(Mkl, large_p_tends_to_the_average_kernel) {
  const auto problem = problem_of(60, 2, 4);
  const auto result = fit_norm(problem, 1000, precise());
  for (const double each : result.weights) EXPECT_NEAR(each, 1, 0.02);
}

TEST(Mkl, dropped_kernels_come_back_when_the_optimum_wants_them) {
  const auto problem = problem_of(90, 2, 9);
  auto options = precise(1e-6);
  const auto careful = fit(problem, one_layer_network(problem.specs), 1.0, 1.0, options);
  // Everything below half of the total weight is dropped at once where that lowers the objective.
  options.prune_tolerance = 0.5;
  const auto hasty = fit(problem, one_layer_network(problem.specs), 1.0, 1.0, options);
  EXPECT_NEAR(hasty.primal, careful.primal, 2e-6 * careful.primal);
  EXPECT_LE(hasty.relative_gap, 1e-5);
}

TEST(Mkl, a_group_of_noise_columns_gets_no_weight) {
  // Of three classes only two are kept: the columns that tell the third are noise.
  const auto three = random_rows(135, 6, 3, 2);
  std::vector<std::uint32_t> kept;
  Problem problem;
  for (std::uint32_t i = 0; i < 135; ++i) {
    if (three.class_of[i] == 2) continue;
    kept.push_back(i);
    problem.rows.class_of.push_back(three.class_of[i]);
  }
  problem.rows.X = select_rows(three.X, kept);
  problem.labels = {problem.rows.class_of, 2};
  const std::vector<KernelGroup> groups{
      {"signal", {polynomial(1, {{0, 1}}), polynomial(1, {{1, 2}})}},
      {"noise", {polynomial(1, {{2, 3}}), polynomial(1, {{5, 6}})}}};
  const auto network = group_network(groups);
  problem.specs = {network.kernels().begin(), network.kernels().end()};
  Executor executor(1);
  RunControl control;
  problem.grams = gram_matrices(problem.specs, problem.rows.X, executor, control);
  problem.kernels = matrices(problem.grams);
  auto options = precise(1e-5);
  options.svm.C = 0.02;  // small: the classifiers average, and noise averages out
  const auto result = fit(problem, network, 1.0, 0.1, options);
  EXPECT_LE(result.relative_gap, 1e-5);
  for (std::size_t v = 0; v < network.num_products(); ++v) {
    const auto& node = network.nodes()[network.products()[v]];
    if (node.name == "signal") {
      EXPECT_GT(result.weights[v], 0.01);
    } else if (node.name == "noise") {
      EXPECT_EQ(result.weights[v], 0);
    }
  }
}

TEST(Mkl, same_bits_on_any_number_of_threads) {
  const auto problem = problem_of(150, 3, 1);
  const auto network = figure1_network(problem.specs);
  const auto one = fit(problem, network, 1.0, 1.0, precise(1e-3), 1);
  for (const int threads : {2, 5}) {
    const auto many = fit(problem, network, 1.0, 1.0, precise(1e-3), threads);
    EXPECT_EQ(one.weights, many.weights);
    EXPECT_EQ(one.primal, many.primal);
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(one.classifiers[c].u, many.classifiers[c].u);
  }
}

TEST(Mkl, stops_in_time_and_says_so) {
  const auto problem = problem_of(90, 2, 1);
  Executor executor(1);
  int calls = 0;
  RunControl control([&](const Progress& progress) {
    EXPECT_EQ(progress.stage, "mkl");
    return ++calls < 3;
  });
  const auto network = one_layer_network(problem.specs);
  const auto paths = network.paths();
  const std::vector<double> p(7, 1.0);
  const auto result =
      fit_network(problem.kernels, paths, p, 1.0, problem.labels, precise(1e-9), executor, control);
  EXPECT_EQ(result.stop, Stop::interrupted);
  EXPECT_EQ(result.classifiers.size(), 1U);
  auto options = precise(1e-9);
  options.max_rounds = 2;
  EXPECT_EQ(fit(problem, network, 1.0, 1.0, options).stop, Stop::pass_limit);
}

TEST(Mkl, a_round_that_is_cut_short_is_no_convergence) {
  const auto problem = problem_of(90, 2, 1);
  Executor executor(1);
  for (const int round : {1, 2, 3}) {
    for (const double p : {1.0, 2.0, 3.0}) {
      RunControl* running = nullptr;
      RunControl control([&](const Progress& progress) {
        if (progress.done == round) running->interrupt();  // which the next question tells
        return true;
      });
      running = &control;
      const auto result =
          fit_lp(problem.kernels, p, problem.labels, precise(1e-12), executor, control);
      EXPECT_EQ(result.stop, Stop::interrupted) << "round " << round << ", p " << p;
    }
  }
}

TEST(Mkl, average_is_the_machine_of_the_mean_kernel) {
  const auto problem = problem_of(70, 2, 1);
  Executor executor(1);
  RunControl control;
  const auto result =
      fit_average(problem.kernels, problem.labels, {.C = 2, .tolerance = 1e-6}, executor, control);
  std::vector<float> K(70 * 70, 0.0F);
  for (std::size_t i = 0; i < K.size(); ++i) {
    double sum = 0;
    for (const auto* each : problem.kernels) sum += each->at(i / 70, i % 70);
    K[i] = static_cast<float>(sum / 7);
  }
  const auto classifier =
      solve_svm_dual(K, signs(problem.rows.class_of), {.C = 2, .tolerance = 1e-6}, control);
  EXPECT_NEAR(result.primal, classifier.primal, 1e-5 * classifier.primal);
}

TEST(Mkl, wrong_options_throw) {
  const auto problem = problem_of(20, 2, 1);
  const auto message = [&](double p, double lambda) {
    try {
      fit(problem, one_layer_network(problem.specs), p, lambda, precise());
    } catch (const InvalidOption& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  EXPECT_THAT(message(0, 1), HasSubstr("p[0] is 0"));
  EXPECT_THAT(message(1, 0), HasSubstr("lambda is 0"));
  EXPECT_THROW(fit_norm(problem, 0.5, precise()), InvalidOption);
}

}  // namespace
}  // namespace margrove
