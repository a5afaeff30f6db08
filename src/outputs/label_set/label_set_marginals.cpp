#include "outputs/label_set/label_set_marginals.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numerics/log_number.hpp"

namespace margrove {
namespace {

/// Of the children of one node, with z_c the logarithm of the sum over the sets below and with c.
struct Children {
  double any;       // sum_c log(1 + exp z_c): any of them, or none
  double not_none;  // log(exp(any) - 1)
};

Children sum_children(std::span<const NodeId> children, const std::vector<double>& z) {
  double any = 0.0, largest = -std::numeric_limits<double>::infinity();
  for (const NodeId c : children) {
    any += softplus(z[c]);
    largest = std::max(largest, z[c]);
  }
  if (largest > -40.0) {
    return {any, any > 30.0 ? any + std::log1p(-std::exp(-any)) : std::log(std::expm1(any))};
  }
  double sum = 0.0;  // two children at once have less than exp(-40) of it
  for (const NodeId c : children) sum += std::exp(z[c] - largest);
  return {any, largest + std::log(sum)};
}

}  // namespace

double label_set_marginals(const LabelGraph& tree, std::span<const double> scores,
                           std::vector<double>& probabilities) {
  const std::span<const NodeId> order = tree.topological_order();
  std::vector<double> z(tree.num_nodes());
  std::vector<Children> below(tree.num_nodes());
  for (auto n = order.rbegin(); n != order.rend(); ++n) {
    below[*n] = {};
    z[*n] = scores[*n];
    if (tree.is_leaf(*n)) continue;
    below[*n] = sum_children(tree.children(*n), z);
    z[*n] += below[*n].not_none;
  }
  const Children roots = sum_children(tree.roots(), z);
  probabilities.resize(tree.num_nodes());
  for (const NodeId n : order) {
    const bool is_root = tree.is_root(n);
    const Children& siblings = is_root ? roots : below[tree.parents(n).front()];
    const double above = is_root ? 1.0 : probabilities[tree.parents(n).front()];
    // exp z_n prod_{others} (1 + exp z_c) / (prod_c (1 + exp z_c) - 1)
    probabilities[n] = above * std::exp(z[n] - softplus(z[n]) + siblings.any - siblings.not_none);
  }
  return roots.not_none;
}

}  // namespace margrove
