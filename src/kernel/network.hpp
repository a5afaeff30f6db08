#pragma once
// Sum-product networks of kernels [SPN, section 2].
//
// A network is a rooted directed acyclic graph of sum, product and kernel nodes in alternating
// layers: the root is a sum, children of sums are products, children of products are sums or
// kernels. Product nodes carry the weights beta_v >= 0 that are learned and the exponent p_v of
// their penalty. The combined kernel sums over the paths.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/kernel_function.hpp"

namespace margrove {

/// A factor of a path's weight g_m(beta) = prod_v beta_v^exponent_v, where exponent_v sums 1 / (N_m
/// N_ml) over the places at which v stands in layer l of the path; exponents sum to 1.
struct PathFactor {
  std::uint32_t product;  // index among the product nodes
  double exponent;
};
/// A path picks one child at each sum and all children at each product. Paths that hold the same
/// products in the same layers are one entry with their number.
struct NetworkPath {
  std::vector<std::uint32_t> kernels;  // ascending, repeated where multiplied with itself
  std::vector<PathFactor> factors;     // ascending by product
  std::uint32_t num_layers = 0;
  double count = 1;
};

/// Immutable. Nodes are in topological order, children before parents; the root is the last.
class SumProductNetwork {
 public:
  enum class Kind { sum, product, kernel };
  struct Node {
    Kind kind;
    std::string name;
    std::vector<std::uint32_t> children;
    std::optional<double> p;  // products
    std::uint32_t index = 0;  // among the products, or among the kernels
  };

  std::span<const Node> nodes() const { return nodes_; }
  std::uint32_t root() const { return static_cast<std::uint32_t>(nodes_.size() - 1); }
  std::span<const KernelSpec> kernels() const { return kernels_; }
  /// Node numbers of the product nodes.
  std::span<const std::uint32_t> products() const { return products_; }
  std::size_t num_products() const { return products_.size(); }

  /// The number of paths, each counted as often as it occurs; infinity beyond double's range.
  double num_paths() const;
  /// All paths. Throws InvalidInput if num_paths() is above `limit`. O(num_paths * path length).
  std::vector<NetworkPath> paths(double limit = 100'000) const;

 private:
  friend class NetworkBuilder;
  std::vector<Node> nodes_;
  std::vector<KernelSpec> kernels_;
  std::vector<std::uint32_t> products_;
};

/// Builds a network bottom-up:
///   NetworkBuilder b;
///   const auto colour = b.sum({b.product({b.kernel(k1)}), b.product({b.kernel(k2)})});
///   b.sum({b.product({colour}), b.product({colour, b.kernel(k3)})});
/// Nodes may have several parents. Every call returns the node's number; children come first, so a
/// cycle cannot be built.
class NetworkBuilder {
 public:
  using Node = std::uint32_t;
  Node kernel(KernelSpec spec);
  /// `p`: exponent of the node's penalty; without it the method's default. An empty name stands for
  /// "product<number>".
  Node product(std::vector<Node> children, std::string name = {}, std::optional<double> p = {});
  /// A kernel among the children stands for the product of that kernel alone.
  Node sum(std::vector<Node> children, std::string name = {});
  /// The network whose root is the last node made. Throws InvalidInput naming the node: a child
  /// that does not exist, a sum below a sum, a product below a product, a node without children,
  /// a root that is not a sum, more than one root, two nodes of one name, p <= 0.
  SumProductNetwork build() const;

 private:
  using Kind = SumProductNetwork::Kind;
  Node add(SumProductNetwork::Node node);
  SumProductNetwork network_;
};

/// g_m(beta), where beta has one value per product node. It is 0 if a factor is 0.
double path_weight(const NetworkPath& path, std::span<const double> beta);

/// Networks of common shapes. `p` is the exponent of all their product nodes.
///   one layer      sum_k beta_k K_k: plain multiple kernel learning
///   groups         sum_g beta_g sum_{k in g} beta_k K_k: composite kernels
struct KernelGroup {
  std::string name;
  std::vector<KernelSpec> kernels;
};
SumProductNetwork one_layer_network(std::span<const KernelSpec> kernels,
                                    std::optional<double> p = {});
SumProductNetwork group_network(std::span<const KernelGroup> groups, std::optional<double> p = {});

/// JSON text -> network; the format is docs/spn_mkl.md. `columns_of_view` names further column
/// ranges (data files given as views). Throws InvalidInput naming `source` and the place.
struct NamedView {
  std::string name;
  std::vector<ColumnRange> columns;
};
SumProductNetwork parse_network(const std::string& json, const std::string& source,
                                std::uint32_t num_columns, std::span<const NamedView> views = {});
SumProductNetwork read_network(const std::string& path, std::uint32_t num_columns,
                               std::span<const NamedView> views = {});
/// The network as JSON that parse_network() takes back to the same network.
std::string format_network(const SumProductNetwork& network);

}  // namespace margrove
