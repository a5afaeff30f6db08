#include "kernel/beta_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/random.hpp"
#include "beta_references.hpp"
#include "kernel_networks.hpp"
#include "margrove/errors.hpp"
#include "num_cases.hpp"
#include "source_folder.hpp"
#include "testing.hpp"

namespace margrove {
namespace {

using namespace testing_kernel;
using ::testing::HasSubstr;

std::vector<KernelSpec> seven_kernels() {
  std::vector<KernelSpec> specs;
  for (int k = 1; k <= 7; ++k) specs.push_back(gaussian(k));
  return specs;
}

struct Case {
  std::vector<NetworkPath> paths;
  BetaProblem problem;
};

/// Figure 1's network, or the cube of a sum, with random norms.
Case random_case(std::uint64_t seed, bool polynomial_shape, double lowest_p, double highest_p) {
  Random random(seed);
  const auto specs = seven_kernels();
  const auto network =
      polynomial_shape ? polynomial_network(std::span(specs).first(3), 3) : figure1_network(specs);
  Case made{network.paths(), {}};
  made.problem.penalties = node_penalties(made.paths, network.num_products(), 0.3);
  for (std::size_t m = 0; m < made.paths.size(); ++m) {
    made.problem.path_terms.push_back(std::exp(2 * random.normal()));
  }
  for (std::size_t v = 0; v < network.num_products(); ++v) {
    made.problem.p.push_back(lowest_p + (highest_p - lowest_p) * random.uniform());
  }
  return made;
}

TEST(BetaStep, newton_and_projected_gradient_reach_the_same_value_for_p_of_at_least_1) {
  for (std::uint64_t seed = 0; seed < num_cases(40); ++seed) {
    SCOPED_TRACE(seed);
    auto made = random_case(seed, seed % 2 == 0, 1.0, 3.0);
    made.problem.paths = made.paths;
    const auto newton = beta_newton(made.problem, {});
    const auto gradient = beta_projected_gradient(made.problem);
    EXPECT_TRUE(newton.converged);
    EXPECT_LT(newton.iterations, 60);
    EXPECT_NEAR(newton.value, gradient.value, 1e-6 * newton.value);
    EXPECT_LE(newton.value, gradient.value * (1 + 1e-12));
  }
}

TEST(BetaStep, newton_and_cccp_reach_the_same_value_for_p_below_1) {
  for (std::uint64_t seed = 0; seed < num_cases(8); ++seed) {
    SCOPED_TRACE(seed);
    auto made = random_case(seed, seed % 2 == 0, 0.3, 1.5);
    made.problem.paths = made.paths;
    const auto newton = beta_newton(made.problem, {});
    const auto cccp = beta_cccp(made.problem);
    EXPECT_TRUE(newton.converged);
    EXPECT_NEAR(newton.value, cccp.value, 1e-6 * newton.value);
  }
}

TEST(BetaStep, every_solver_finds_the_minimum_of_a_generic_convex_solver) {
  std::ifstream file(testing::source_folder() / "tests/golden/beta_steps.json");
  const auto cases = nlohmann::json::parse(file);  // CVXPY with Clarabel
  ASSERT_GE(cases.size(), 27U);
  for (const auto& golden : cases) {
    SCOPED_TRACE(golden["name"]);
    std::vector<NetworkPath> paths;
    for (const auto& factors : golden["paths"]) {
      NetworkPath path;
      for (const auto& factor : factors) path.factors.push_back({factor[0], factor[1]});
      paths.push_back(std::move(path));
    }
    const BetaProblem problem{paths, golden["terms"].get<std::vector<double>>(),
                              golden["penalties"].get<std::vector<double>>(),
                              golden["p"].get<std::vector<double>>()};
    const double minimum = golden["minimum"];
    EXPECT_NEAR(beta_newton(problem, {}).value, minimum, 1e-7 * minimum);
    const bool is_convex =
        std::all_of(problem.p.begin(), problem.p.end(), [](double p) { return p >= 1; });
    const auto reference = is_convex ? beta_projected_gradient(problem) : beta_cccp(problem);
    EXPECT_NEAR(reference.value, minimum, 1e-6 * minimum);
  }
}

TEST(BetaStep, newton_reaches_the_same_minimum_from_far_away) {
  for (std::uint64_t seed = 0; seed < num_cases(20); ++seed) {
    auto made = random_case(seed, seed % 2 == 0, 0.3, 3.0);
    made.problem.paths = made.paths;
    const auto near = beta_newton(made.problem, {});
    for (const double start : {1e-8, 1e6}) {
      const std::vector<double> far(made.problem.p.size(), start);
      const auto result = beta_newton(made.problem, far);
      EXPECT_TRUE(result.converged);
      EXPECT_NEAR(result.value, near.value, 1e-9 * near.value) << "seed " << seed;
    }
  }
}

TEST(BetaStep, no_random_move_from_the_minimum_lowers_the_objective) {
  Random random(5);
  auto made = random_case(3, false, 0.5, 2.0);
  made.problem.paths = made.paths;
  const auto result = beta_newton(made.problem, {});
  for (int trial = 0; trial < 500; ++trial) {
    auto moved = result.beta;
    for (double& each : moved) each *= std::exp(0.1 * random.normal());
    EXPECT_GE(beta_objective(made.problem, moved), result.value * (1 - 1e-12));
  }
}

TEST(BetaStep, objective_is_convex_in_the_logarithms_for_every_p) {
  Random random(9);
  for (int trial = 0; trial < 2000; ++trial) {
    auto made = random_case(static_cast<std::uint64_t>(trial % 50), trial % 2 == 0, 0.1, 3.0);
    made.problem.paths = made.paths;
    std::vector<double> a, b, middle;
    for (std::size_t v = 0; v < made.problem.p.size(); ++v) {
      const double s = 2 * random.normal();
      const double t = 2 * random.normal();
      a.push_back(std::exp(s));
      b.push_back(std::exp(t));
      middle.push_back(std::exp((s + t) / 2));
    }
    const double mean = (beta_objective(made.problem, a) + beta_objective(made.problem, b)) / 2;
    EXPECT_LE(beta_objective(made.problem, middle), mean * (1 + 1e-12));
  }
}

TEST(BetaStep, one_layer_has_the_closed_form) {
  const auto specs = seven_kernels();
  const auto network = one_layer_network(specs);
  const auto paths = network.paths();
  for (const double p : {0.5, 1.0, 2.0}) {
    const double lambda = 0.7;
    BetaProblem problem{paths, {}, node_penalties(paths, 7, lambda), std::vector<double>(7, p)};
    std::vector<double> norms{4, 1, 0.5, 0, 2, 9, 1e-6};  // ||w_m||^2
    for (const auto& path : paths) problem.path_terms.push_back(norms[path.kernels[0]] / 2);
    const auto result = beta_newton(problem, {});
    const auto iterated = beta_projected_gradient(problem);
    for (std::size_t k = 0; k < 7; ++k) {
      EXPECT_NEAR(result.beta[k], std::pow(norms[k] / (2 * lambda * p), 1 / (p + 1)), 1e-12);
    }
    if (p >= 1) {
      EXPECT_NEAR(iterated.value, result.value, 1e-6 * result.value);
    }
  }
}

TEST(BetaStep, nodes_without_any_norm_get_weight_zero_and_disturb_nobody) {
  auto made = random_case(1, false, 1.0, 2.0);
  made.problem.paths = made.paths;
  // All paths through product b9 (the products with 3, 4 and 5, 6, 7) lose their norms.
  for (std::size_t m = 0; m < made.paths.size(); ++m) {
    if (made.paths[m].kernels.size() == 2) made.problem.path_terms[m] = 0;
  }
  const auto result = beta_newton(made.problem, {});
  EXPECT_TRUE(std::isfinite(result.value));
  int zeros = 0;
  for (const double each : result.beta) zeros += each == 0 ? 1 : 0;
  EXPECT_EQ(zeros, 6);  // b3 ... b7 and b9
  made.problem.path_terms.assign(made.paths.size(), 0.0);
  EXPECT_EQ(beta_newton(made.problem, {}).value, 0);
}

TEST(BetaStep, a_path_with_norm_but_zero_weight_costs_infinity) {
  auto made = random_case(1, false, 1.0, 2.0);
  made.problem.paths = made.paths;
  std::vector<double> beta(made.problem.p.size(), 1.0);
  EXPECT_TRUE(std::isfinite(beta_objective(made.problem, beta)));
  beta[0] = 0;
  EXPECT_EQ(beta_objective(made.problem, beta), std::numeric_limits<double>::infinity());
}

TEST(BetaStep, wrong_sizes_and_ranges_throw) {
  auto made = random_case(1, false, 1.0, 2.0);
  made.problem.paths = made.paths;
  const auto message = [](const BetaProblem& problem, std::span<const double> start = {}) {
    try {
      beta_newton(problem, start);
    } catch (const InvalidInput& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  auto wrong = made.problem;
  wrong.p[2] = 0;
  EXPECT_THAT(message(wrong), HasSubstr("p[2] is 0"));
  wrong = made.problem;
  wrong.penalties[1] = -1;
  EXPECT_THAT(message(wrong), HasSubstr("penalty 1 is -1"));
  wrong = made.problem;
  wrong.path_terms[0] = -1;
  EXPECT_THAT(message(wrong), HasSubstr("path term 0 is -1"));
  wrong.path_terms.pop_back();
  EXPECT_THAT(message(wrong), HasSubstr("path terms, but must be"));
  wrong = made.problem;
  wrong.p.pop_back();
  EXPECT_THAT(message(wrong), HasSubstr("exponents p, but must be"));
  const std::vector<double> start{1};
  EXPECT_THAT(message(made.problem, start), HasSubstr("start has 1 values"));
}

}  // namespace
}  // namespace margrove
