#pragma once
// Networks of several layers.

#include <optional>
#include <span>
#include <vector>

#include "kernel/network.hpp"
#include "margrove/errors.hpp"

namespace margrove::testing_kernel {

/// sum_{d=1}^{degree} beta_d (sum_k beta_k K_k)^d with entry-wise powers.
inline SumProductNetwork polynomial_network(std::span<const KernelSpec> kernels, int degree,
                                            std::optional<double> p = {}) {
  NetworkBuilder builder;
  std::vector<NetworkBuilder::Node> products;
  for (const auto& spec : kernels) {
    const auto kernel = builder.kernel(spec);
    products.push_back(builder.product({kernel}, {}, p));
  }
  const auto sum = builder.sum(products);
  std::vector<NetworkBuilder::Node> powers;
  for (int d = 1; d <= degree; ++d) {
    powers.push_back(
        builder.product(std::vector<NetworkBuilder::Node>(d, sum), concat("power", d), p));
  }
  builder.sum(powers);
  return builder.build();
}

/// Figure 1 of SPN: b8 (b1 K1 + b2 K2) + b9 (b3 K3 + b4 K4) o (b5 K5 + b6 K6 + b7 K7), of seven
/// kernels.
inline SumProductNetwork figure1_network(std::span<const KernelSpec> kernels,
                                         std::optional<double> p = {}) {
  NetworkBuilder builder;
  std::vector<NetworkBuilder::Node> products;
  for (std::size_t k = 0; k < kernels.size(); ++k) {
    const auto kernel = builder.kernel(kernels[k]);
    products.push_back(builder.product({kernel}, concat("b", k + 1), p));
  }
  const auto sum12 = builder.sum({products[0], products[1]});
  const auto sum34 = builder.sum({products[2], products[3]});
  const auto sum567 = builder.sum({products[4], products[5], products[6]});
  const auto b8 = builder.product({sum12}, "b8", p);
  const auto b9 = builder.product({sum34, sum567}, "b9", p);
  builder.sum({b8, b9});
  return builder.build();
}

}  // namespace margrove::testing_kernel
