#include "kernel/network.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "margrove/errors.hpp"

namespace margrove {
namespace {

/// A path below a node: products as (layer, product) and kernels, both ascending with repeats.
/// Layers count from the node.
struct PartialPath {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> products;
  std::vector<std::uint32_t> kernels;
  auto operator<=>(const PartialPath&) const = default;
};
using PartialPaths = std::map<PartialPath, double>;  // to the number of occurrences

PartialPath joined(const PartialPath& a, const PartialPath& b) {
  PartialPath path = a;
  path.products.insert(path.products.end(), b.products.begin(), b.products.end());
  path.kernels.insert(path.kernels.end(), b.kernels.begin(), b.kernels.end());
  std::sort(path.products.begin(), path.products.end());
  std::sort(path.kernels.begin(), path.kernels.end());
  return path;
}

/// Every path of the one with every path of the other.
PartialPaths products_of(const PartialPaths& left, const PartialPaths& right) {
  PartialPaths products;
  for (const auto& [a, a_count] : left) {
    for (const auto& [b, b_count] : right) products[joined(a, b)] += a_count * b_count;
  }
  return products;
}

NetworkPath finished(const PartialPath& partial, double count) {
  NetworkPath path;
  path.kernels = partial.kernels;
  path.count = count;
  path.num_layers = partial.products.back().first + 1;
  std::vector<double> in_layer(path.num_layers, 0.0);
  for (const auto& [layer, product] : partial.products) in_layer[layer] += 1;
  std::map<std::uint32_t, double> exponents;
  for (const auto& [layer, product] : partial.products) {
    exponents[product] += 1.0 / (path.num_layers * in_layer[layer]);
  }
  for (const auto& [product, exponent] : exponents) path.factors.push_back({product, exponent});
  return path;
}

}  // namespace

NetworkBuilder::Node NetworkBuilder::add(SumProductNetwork::Node node) {
  network_.nodes_.push_back(std::move(node));
  return network_.root();
}

NetworkBuilder::Node NetworkBuilder::kernel(KernelSpec spec) {
  const std::size_t index = network_.kernels_.size();
  if (spec.name.empty()) spec.name = concat("kernel", index + 1);
  network_.kernels_.push_back(spec);
  return add({Kind::kernel, std::move(spec.name), {}, {}, static_cast<std::uint32_t>(index)});
}

NetworkBuilder::Node NetworkBuilder::product(std::vector<Node> children, std::string name,
                                             std::optional<double> p) {
  const std::size_t number = network_.nodes_.size(), index = network_.products_.size();
  if (name.empty()) name = concat("product", number + 1);
  network_.products_.push_back(static_cast<std::uint32_t>(number));
  return add(
      {Kind::product, std::move(name), std::move(children), p, static_cast<std::uint32_t>(index)});
}

NetworkBuilder::Node NetworkBuilder::sum(std::vector<Node> children, std::string name) {
  for (Node& child : children) {
    const auto nodes = network_.nodes();
    if (child < nodes.size() && nodes[child].kind == Kind::kernel) child = product({child});
  }
  if (name.empty()) name = concat("sum", network_.nodes_.size() + 1);
  return add({Kind::sum, std::move(name), std::move(children), {}, 0});
}

SumProductNetwork NetworkBuilder::build() const {
  const auto nodes = network_.nodes();
  require(!nodes.empty(), "network: has no nodes, but must have a sum at its root");
  std::set<std::string> names;
  std::vector<bool> has_parent(nodes.size(), false);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const auto& [kind, name, children, p, index] = nodes[n];
    require(names.insert(name).second, "network: two nodes are called '", name,
            "', but names must differ");
    require(kind == Kind::kernel || !children.empty(), "network: node '", name,
            "' has no children, but only kernels may be leaves");
    require(!p || (*p > 0 && std::isfinite(*p)), "network: p of node '", name, "' is ",
            p.value_or(0), ", but must be > 0");
    for (const Node child : children) {
      require(child < n, "network: child ", child, " of node '", name,
              "' does not exist yet, but children must be made before their parents");
      has_parent[child] = true;
      const auto& below = nodes[child];
      require(kind != Kind::sum || below.kind == Kind::product, "network: sum '", name,
              "' has the sum '", below.name,
              "' as a child, but layers must alternate: put a product between them");
      require(kind != Kind::product || below.kind != Kind::product, "network: product '", name,
              "' has the product '", below.name,
              "' as a child, but layers must alternate: put a sum between them");
    }
  }
  const std::string& root = nodes.back().name;
  require(nodes.back().kind == Kind::sum, "network: the root '", root,
          "' is not a sum, but must be");
  for (std::size_t n = 0; n + 1 < nodes.size(); ++n) {
    require(has_parent[n], "network: node '", nodes[n].name, "' has no parent, but only the root '",
            root, "' may have none");
  }
  return network_;
}

double SumProductNetwork::num_paths() const {
  std::vector<double> below(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    double count = nodes_[n].kind == Kind::sum ? 0.0 : 1.0;
    for (const std::uint32_t child : nodes_[n].children) {
      count = nodes_[n].kind == Kind::sum ? count + below[child] : count * below[child];
    }
    below[n] = count;
  }
  return below[root()];
}

std::vector<NetworkPath> SumProductNetwork::paths(double limit) const {
  const double total = num_paths();
  require(total <= limit, "network: has ", total, " paths, but must have at most ", limit,
          "; share less or raise the limit");
  std::vector<PartialPaths> below(nodes_.size());
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    if (node.kind == Kind::kernel) {
      below[n][PartialPath{{}, {node.index}}] = 1;
    } else if (node.kind == Kind::sum) {
      for (const std::uint32_t child : node.children) {
        for (const auto& [path, count] : below[child]) below[n][path] += count;
      }
    } else {
      PartialPaths paths{{PartialPath{}, 1.0}};
      for (const std::uint32_t child : node.children) paths = products_of(paths, below[child]);
      for (const auto& [path, count] : paths) {
        PartialPath with_node = path;
        for (auto& [layer, product] : with_node.products) ++layer;
        with_node.products.insert(with_node.products.begin(), {0, node.index});
        below[n][with_node] += count;
      }
    }
  }
  std::vector<NetworkPath> result;
  result.reserve(below[root()].size());
  for (const auto& [path, count] : below[root()]) result.push_back(finished(path, count));
  return result;
}

double path_weight(const NetworkPath& path, std::span<const double> beta) {
  double log_weight = 0;
  for (const auto& [product, exponent] : path.factors) {
    if (beta[product] <= 0) return 0;
    log_weight += exponent * std::log(beta[product]);
  }
  return std::exp(log_weight);
}

namespace {

/// sum_k beta_k K_k.
NetworkBuilder::Node weighted_sum(NetworkBuilder& builder, std::span<const KernelSpec> kernels,
                                  std::optional<double> p) {
  std::vector<NetworkBuilder::Node> products;
  for (const auto& spec : kernels) {
    products.push_back(builder.product({builder.kernel(spec)}, {}, p));
  }
  return builder.sum(std::move(products));
}

}  // namespace

SumProductNetwork one_layer_network(std::span<const KernelSpec> kernels, std::optional<double> p) {
  NetworkBuilder builder;
  weighted_sum(builder, kernels, p);
  return builder.build();
}

SumProductNetwork group_network(std::span<const KernelGroup> groups, std::optional<double> p) {
  NetworkBuilder builder;
  std::vector<NetworkBuilder::Node> top;
  for (const auto& [name, kernels] : groups) {
    top.push_back(builder.product({weighted_sum(builder, kernels, p)}, name, p));
  }
  builder.sum(std::move(top));
  return builder.build();
}

}  // namespace margrove
