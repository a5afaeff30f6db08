#include "kernel/network.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.hpp"
#include "kernel_networks.hpp"
#include "margrove/errors.hpp"
#include "testing.hpp"

namespace margrove {
namespace {

using namespace testing_kernel;
using ::testing::HasSubstr;

std::vector<KernelSpec> kernels(int count) {
  std::vector<KernelSpec> specs;
  for (int k = 1; k <= count; ++k) specs.push_back(gaussian(k));
  return specs;
}

std::map<std::string, double> exponents(const SumProductNetwork& network, const NetworkPath& path) {
  std::map<std::string, double> result;
  for (const auto& [product, exponent] : path.factors) {
    result[network.nodes()[network.products()[product]].name] = exponent;
  }
  return result;
}

const NetworkPath& path_with(const std::vector<NetworkPath>& paths,
                             const std::vector<std::uint32_t>& kernel_numbers) {
  for (const auto& path : paths) {
    if (path.kernels == kernel_numbers) return path;
  }
  throw InvalidInput("no such path");
}

TEST(Network, figure_1_has_the_exponents_of_the_paper) {
  const auto network = figure1_network(kernels(7));
  const auto paths = network.paths();
  EXPECT_EQ(paths.size(), 8U);  // 2 + 2 * 3
  EXPECT_EQ(network.num_paths(), 8);
  // The example path: kernels 4 and 6, g = b9^(1/2) b4^(1/4) b6^(1/4).
  EXPECT_EQ(exponents(network, path_with(paths, {3, 5})),
            (std::map<std::string, double>{{"b9", 0.5}, {"b4", 0.25}, {"b6", 0.25}}));
  EXPECT_EQ(exponents(network, path_with(paths, {0})),
            (std::map<std::string, double>{{"b8", 0.5}, {"b1", 0.5}}));
  const std::vector<double> beta{1, 1, 1, 16, 1, 81, 1, 1, 25};  // b1 ... b9
  EXPECT_NEAR(path_weight(path_with(paths, {3, 5}), beta), 5 * 2 * 3, 1e-12);
}

TEST(Network, exponents_of_every_path_sum_to_1) {
  for (const auto& network : {figure1_network(kernels(7)), polynomial_network(kernels(3), 4),
                              one_layer_network(kernels(5))}) {
    for (const auto& path : network.paths()) {
      double sum = 0;
      for (const auto& factor : path.factors) sum += factor.exponent;
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  }
}

TEST(Network, branches_of_unequal_depth_count_their_own_layers) {
  // root - v0 - { kernel a, sum - v1 - sum - v2 - kernel b }
  NetworkBuilder b;
  const auto v2 = b.product({b.kernel(gaussian(2, "b"))}, "v2");
  const auto v1 = b.product({b.sum({v2})}, "v1");
  const auto a = b.kernel(gaussian(1, "a"));
  b.sum({b.product({a, b.sum({v1})}, "v0")});
  const auto network = b.build();
  const auto paths = network.paths();
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_EQ(paths[0].num_layers, 3U);
  EXPECT_EQ(exponents(network, paths[0]),
            (std::map<std::string, double>{{"v0", 1. / 3}, {"v1", 1. / 3}, {"v2", 1. / 3}}));
}

TEST(Network, equal_paths_are_one_entry_with_their_number) {
  const auto network = polynomial_network(kernels(2), 2);  // (b1 K1 + b2 K2)^1 and ^2
  const auto paths = network.paths();
  EXPECT_EQ(network.num_paths(), 6);
  ASSERT_EQ(paths.size(), 5U);
  const auto& mixed = path_with(paths, {0, 1});
  EXPECT_EQ(mixed.count, 2);
  const auto& square = path_with(paths, {0, 0});
  EXPECT_EQ(square.count, 1);
  // b1 occurs twice among the two nodes of the second layer.
  ASSERT_EQ(square.factors.size(), 2U);
  EXPECT_EQ(square.factors[0].exponent, 0.5);
  EXPECT_EQ(square.factors[1].exponent, 0.5);
  EXPECT_EQ(mixed.factors.size(), 3U);
}

TEST(Network, a_product_node_in_two_layers_of_a_path_adds_its_exponents) {
  NetworkBuilder b;
  const auto v = b.product({b.kernel(gaussian(1, "a"))}, "v");
  const auto s = b.sum({v});
  const auto deep = b.product({s}, "deep");
  const auto top = b.product({s, b.sum({deep})}, "top");
  b.sum({top});
  const auto network = b.build();
  const auto paths = network.paths();
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_EQ(
      exponents(network, paths[0]),
      (std::map<std::string, double>{{"top", 1. / 3}, {"v", 1. / 6 + 1. / 3}, {"deep", 1. / 6}}));
}

TEST(Network, path_limit_counts_before_it_enumerates) {
  const auto network = polynomial_network(kernels(7), 40);
  EXPECT_GT(network.num_paths(), 1e30);
  try {
    network.paths();
    FAIL();
  } catch (const InvalidInput& error) {
    EXPECT_THAT(error.what(), HasSubstr("but must have at most 1"));
  }
  EXPECT_EQ(polynomial_network(kernels(2), 3).paths(14).size(), 9U);
  EXPECT_THROW(polynomial_network(kernels(2), 3).paths(13), InvalidInput);
}

TEST(Network, weight_is_zero_if_a_factor_is) {
  const auto network = figure1_network(kernels(7));
  const auto paths = network.paths();
  std::vector<double> beta(9, 1.0);
  beta[5] = 0;
  EXPECT_EQ(path_weight(path_with(paths, {3, 5}), beta), 0);
  EXPECT_EQ(path_weight(path_with(paths, {3, 4}), beta), 1);
}

/// ||w||^2 / g(beta) for vectors: [SPN, Lemma 1].
TEST(Lemma1, midpoints_never_lie_above_the_mean) {
  Random random(4);
  const auto paths = figure1_network(kernels(7)).paths();
  const auto cubes = polynomial_network(kernels(3), 3).paths();
  for (int trial = 0; trial < 4000; ++trial) {
    const auto& path =
        trial % 2 == 0 ? paths[random.below(paths.size())] : cubes[random.below(cubes.size())];
    const auto value = [&](const std::vector<double>& w, const std::vector<double>& beta) {
      double norm = 0;
      for (const double each : w) norm += each * each;
      return norm / path_weight(path, beta);
    };
    std::vector<double> w0, w1, w, b0, b1, b;
    for (int k = 0; k < 3; ++k) {
      w0.push_back(random.normal());
      w1.push_back(random.normal());
      w.push_back((w0[k] + w1[k]) / 2);
    }
    for (int v = 0; v < 9; ++v) {
      b0.push_back(std::exp(2 * random.normal()));
      b1.push_back(std::exp(2 * random.normal()));
      b.push_back((b0[v] + b1[v]) / 2);
    }
    EXPECT_LE(value(w, b), (value(w0, b0) + value(w1, b1)) / 2 * (1 + 1e-12));
  }
}

/// 1/g(beta) <= sum_v exponent_v / beta_v: [SPN, Lemma 2].
TEST(Lemma2, the_path_term_is_below_the_sum_over_its_nodes) {
  Random random(6);
  const auto paths = figure1_network(kernels(7)).paths();
  for (int trial = 0; trial < 4000; ++trial) {
    const auto& path = paths[random.below(paths.size())];
    std::vector<double> beta;
    for (int v = 0; v < 9; ++v) beta.push_back(std::exp(2 * random.normal()));
    double sum = 0;
    for (const auto& factor : path.factors) sum += factor.exponent / beta[factor.product];
    EXPECT_LE(1 / path_weight(path, beta), sum * (1 + 1e-12));
  }
}

template <class Build>
std::string message_of(const Build& build) {
  NetworkBuilder b;
  try {
    build(b);
    b.build();
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(NetworkBuilder, wrong_networks_throw_with_the_node) {
  using B = NetworkBuilder;
  const auto k = [](B& b) { return b.kernel(gaussian(1, "k")); };
  EXPECT_THAT(message_of([](B&) {}), HasSubstr("has no nodes"));
  EXPECT_THAT(message_of([&](B& b) { b.product({k(b)}, "top"); }),
              HasSubstr("root 'top' is not a sum"));
  EXPECT_THAT(message_of([&](B& b) { b.sum({b.sum({k(b)}, "inner")}, "outer"); }),
              HasSubstr("sum 'outer' has the sum 'inner' as a child"));
  EXPECT_THAT(message_of([&](B& b) { b.sum({b.product({b.product({k(b)}, "inner")}, "outer")}); }),
              HasSubstr("product 'outer' has the product 'inner' as a child"));
  EXPECT_THAT(message_of([&](B& b) { b.sum({b.product({}, "empty")}); }),
              HasSubstr("'empty' has no children"));
  EXPECT_THAT(message_of([&](B& b) {
                b.sum({b.product({k(b), 9}, "v")});
              }),
              HasSubstr("child 9 of node 'v' does not exist"));
  EXPECT_THAT(message_of([&](B& b) {
                b.sum({b.product({k(b)})}, "first");
                b.sum({b.product({b.kernel(gaussian(2, "other"))})}, "second");
              }),
              HasSubstr("node 'first' has no parent"));
  EXPECT_THAT(message_of([&](B& b) {
                b.sum({b.product({k(b)}, "v"), b.product({k(b)}, "w")});
              }),
              HasSubstr("two nodes are called 'k'"));
  EXPECT_THAT(message_of([&](B& b) { b.sum({b.product({k(b)}, "v", -1.0)}); }),
              HasSubstr("p of node 'v' is -1"));
}

TEST(NetworkBuilder, a_kernel_below_a_sum_gets_a_product_of_its_own) {
  NetworkBuilder b;
  b.sum({b.kernel(gaussian(1, "a")), b.kernel(gaussian(2, "b"))});
  const auto network = b.build();
  EXPECT_EQ(network.num_products(), 2U);
  EXPECT_EQ(network.paths().size(), 2U);
}

TEST(Shapes, groups_have_a_node_for_each_group_and_each_kernel) {
  const auto all = kernels(5);
  const std::vector<KernelGroup> groups{{"first", {all[0], all[1]}},
                                        {"second", {all[2], all[3], all[4]}}};
  const auto network = group_network(groups, 1.5);
  EXPECT_EQ(network.num_products(), 7U);
  for (const auto& path : network.paths()) {
    EXPECT_EQ(path.num_layers, 2U);
    ASSERT_EQ(path.factors.size(), 2U);
    EXPECT_EQ(path.factors[0].exponent, 0.5);
  }
  for (const auto v : network.products()) EXPECT_EQ(network.nodes()[v].p, 1.5);
}

}  // namespace
}  // namespace margrove
