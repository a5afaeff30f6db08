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

NetworkBuilder::Node NetworkBuilder::add(Entry entry) {
  entries_.push_back(std::move(entry));
  return static_cast<Node>(entries_.size() - 1);
}

NetworkBuilder::Node NetworkBuilder::kernel(KernelSpec spec) {
  std::string name = spec.name.empty() ? concat("kernel", kernels_.size() + 1) : spec.name;
  spec.name = name;
  kernels_.push_back(std::move(spec));
  return add({Kind::kernel, std::move(name), {}, {}, kernels_.size() - 1});
}

NetworkBuilder::Node NetworkBuilder::product(std::vector<Node> children, std::string name,
                                             std::optional<double> p) {
  if (name.empty()) name = concat("product", entries_.size() + 1);
  return add({Kind::product, std::move(name), std::move(children), p, 0});
}

NetworkBuilder::Node NetworkBuilder::sum(std::vector<Node> children, std::string name) {
  for (Node& child : children) {
    if (child < entries_.size() && entries_[child].kind == Kind::kernel) {
      child = product({child});
    }
  }
  if (name.empty()) name = concat("sum", entries_.size() + 1);
  return add({Kind::sum, std::move(name), std::move(children), {}, 0});
}

SumProductNetwork NetworkBuilder::build() const {
  require(!entries_.empty(), "network: has no nodes, but must have a sum at its root");
  std::set<std::string> names;
  std::vector<bool> has_parent(entries_.size(), false);
  for (std::size_t n = 0; n < entries_.size(); ++n) {
    const Entry& entry = entries_[n];
    require(names.insert(entry.name).second, "network: two nodes are called '", entry.name,
            "', but names must differ");
    require(entry.kind == Kind::kernel || !entry.children.empty(), "network: node '", entry.name,
            "' has no children, but only kernels may be leaves");
    require(!entry.p || (*entry.p > 0 && std::isfinite(*entry.p)), "network: p of node '",
            entry.name, "' is ", entry.p.value_or(0), ", but must be > 0");
    for (const Node child : entry.children) {
      require(child < n, "network: child ", child, " of node '", entry.name,
              "' does not exist yet, but children must be made before their parents");
      has_parent[child] = true;
      const Kind below = entries_[child].kind;
      require(entry.kind != Kind::sum || below == Kind::product, "network: sum '", entry.name,
              "' has the sum '", entries_[child].name,
              "' as a child, but layers must alternate: put a product between them");
      require(entry.kind != Kind::product || below != Kind::product, "network: product '",
              entry.name, "' has the product '", entries_[child].name,
              "' as a child, but layers must alternate: put a sum between them");
    }
  }
  require(entries_.back().kind == Kind::sum, "network: the root '", entries_.back().name,
          "' is not a sum, but must be");
  for (std::size_t n = 0; n + 1 < entries_.size(); ++n) {
    require(has_parent[n], "network: node '", entries_[n].name,
            "' has no parent, but only the root '", entries_.back().name, "' may have none");
  }
  SumProductNetwork network;
  network.kernels_ = kernels_;
  for (const Entry& entry : entries_) {
    SumProductNetwork::Node node;
    node.kind = static_cast<SumProductNetwork::Kind>(entry.kind);
    node.name = entry.name;
    node.children = entry.children;
    node.p = entry.p;
    node.index = static_cast<std::uint32_t>(entry.kernel);
    if (entry.kind == Kind::product) {
      node.index = static_cast<std::uint32_t>(network.products_.size());
      network.products_.push_back(static_cast<std::uint32_t>(network.nodes_.size()));
    }
    network.nodes_.push_back(std::move(node));
  }
  return network;
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
      for (const std::uint32_t child : node.children) {
        PartialPaths longer;
        for (const auto& [left, left_count] : paths) {
          for (const auto& [right, right_count] : below[child]) {
            longer[joined(left, right)] += left_count * right_count;
          }
        }
        paths = std::move(longer);
      }
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

SumProductNetwork one_layer_network(std::span<const KernelSpec> kernels, std::optional<double> p) {
  NetworkBuilder builder;
  std::vector<NetworkBuilder::Node> products;
  for (const auto& spec : kernels) {
    const auto kernel = builder.kernel(spec);
    products.push_back(builder.product({kernel}, {}, p));
  }
  builder.sum(products);
  return builder.build();
}

SumProductNetwork group_network(std::span<const KernelGroup> groups, std::optional<double> p) {
  NetworkBuilder builder;
  std::vector<NetworkBuilder::Node> top;
  for (const auto& group : groups) {
    std::vector<NetworkBuilder::Node> products;
    for (const auto& spec : group.kernels) {
      const auto kernel = builder.kernel(spec);
      products.push_back(builder.product({kernel}, {}, p));
    }
    const auto sum = builder.sum(products);
    top.push_back(builder.product({sum}, group.name, p));
  }
  builder.sum(top);
  return builder.build();
}

}  // namespace margrove
