#include "hierarchy/node_system.hpp"

#include <algorithm>

#include "data/csr_operations.hpp"

namespace margrove::detail {
namespace {

constexpr std::uint32_t kNoPlace = ~std::uint32_t{0};
constexpr std::size_t kMaxListed = 50'000'000;   // sum of |A(l)|
constexpr double kMaxProducts = 1e9;             // sum of |A(l)|^2
constexpr std::size_t kMaxEntries = 50'000'000;  // of S, and of its factor

}  // namespace

NodeSystem::NodeSystem(const LabelGraph& graph)
    : leaves_(graph.leaves().begin(), graph.leaves().end()) {
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    if (!graph.is_leaf(n)) place_to_node_.push_back(n);
  }
  list_ancestors(graph);
  if (above_.items.empty() || above_.items.size() > kMaxListed) return;
  double products = 0;
  for (std::size_t l = 0; l < num_leaves(); ++l) {
    products += static_cast<double>(above(l).size()) * static_cast<double>(above(l).size());
  }
  if (products > kMaxProducts || !order_places()) return;
  number_edges(graph);
  column_.assign(num_inner(), 0.0);
  values_.assign(pattern_.items.size(), 0.0);
  fits_ = true;
}

void NodeSystem::list_ancestors(const LabelGraph& graph) {
  node_to_place_.assign(graph.num_nodes(), kNoPlace);
  for (std::uint32_t k = 0; k < num_inner(); ++k) node_to_place_[place_to_node_[k]] = k;
  std::vector<NodeId> stamp(graph.num_nodes(), kNoPlace), stack;
  for (const NodeId leaf : graph.leaves()) {
    stack.assign(1, leaf);
    while (!stack.empty()) {
      const NodeId n = stack.back();
      stack.pop_back();
      for (const NodeId p : graph.parents(n)) {
        if (stamp[p] == leaf) continue;
        stamp[p] = leaf;
        stack.push_back(p);
        above_.items.push_back(node_to_place_[p]);
      }
    }
    above_.end_row();
    std::ranges::sort(above_[above_.size() - 1]);
    if (above_.items.size() > kMaxListed) return;
  }
}

void NodeSystem::transpose() {
  below_.resize(above_.items.size());
  const auto entries = [&](const auto& visit) {
    for (std::uint32_t l = 0; l < num_leaves(); ++l) {
      for (std::uint32_t t = 0; t < above(l).size(); ++t) visit(above(l)[t], Entry{l, t});
    }
  };
  group_by_key(num_inner(), entries, below_pointers_,
               [&](std::size_t place, const Entry& entry) { below_[place] = entry; });
}

// Sets the pattern of S for the present places; false if it has too many entries.
bool NodeSystem::build_pattern() {
  transpose();
  pattern_ = {};
  std::vector<std::uint32_t> stamp(num_inner(), kNoPlace);
  for (std::uint32_t k = 0; k < num_inner(); ++k) {
    for (std::size_t e = below_pointers_[k]; e < below_pointers_[k + 1]; ++e) {
      for (const std::uint32_t i : above(below_[e].leaf).first(below_[e].position + 1)) {
        if (stamp[i] == k) continue;
        stamp[i] = k;
        pattern_.items.push_back(i);
      }
    }
    if (pattern_.items.size() > kMaxEntries) return false;
    pattern_.end_row();
    std::ranges::sort(pattern_[k]);
  }
  return true;
}

// Orders the places by approximate minimum degree; false if S or its factor is too large even so.
bool NodeSystem::order_places() {
  if (!build_pattern()) return false;
  const std::vector<std::uint32_t> moved = minimum_degree_positions(pattern_);
  const std::vector<NodeId> nodes = place_to_node_;
  for (std::uint32_t from = 0; from < num_inner(); ++from) {
    place_to_node_[moved[from]] = nodes[from];
    node_to_place_[nodes[from]] = moved[from];
  }
  for (std::uint32_t& place : above_.items) place = moved[place];
  for (std::size_t l = 0; l < num_leaves(); ++l) std::ranges::sort(above_[l]);
  return build_pattern() && factors_.analyze(pattern_, kMaxEntries);
}

void NodeSystem::number_edges(const LabelGraph& graph) {
  for (std::uint32_t l = 0; l < num_leaves(); ++l) {
    for (const NodeId p : graph.parents(graph.leaves()[l])) {
      leaf_edges_.items.push_back(static_cast<std::uint32_t>(edges_.size()));
      edges_.push_back({l, node_to_place_[p], true});
    }
    leaf_edges_.end_row();
  }
  const auto first_inner = edges_.size();
  for (const NodeId n : place_to_node_) {
    for (const NodeId p : graph.parents(n)) {
      edges_.push_back({node_to_place_[n], node_to_place_[p], false});
    }
  }
  upper_edges_.items.resize(edges_.size() - first_inner);
  const auto inner_edges = [&](const auto& visit) {
    for (std::size_t e = first_inner; e < edges_.size(); ++e) {
      visit(std::max(edges_[e].child, edges_[e].parent), static_cast<std::uint32_t>(e));
    }
  };
  group_by_key(num_inner(), inner_edges, upper_edges_.pointers,
               [&](std::size_t place, std::uint32_t e) { upper_edges_.items[place] = e; });
}

void NodeSystem::sum_above(std::span<const double> inner, std::span<double> sums) const {
  for (std::size_t l = 0; l < num_leaves(); ++l) {
    double sum = 0;
    for (const std::uint32_t k : above(l)) sum += inner[k];
    sums[l] = sum;
  }
}

void NodeSystem::add_below(std::span<const double> leaf, std::span<double> totals) const {
  for (std::size_t l = 0; l < num_leaves(); ++l) {
    for (const std::uint32_t k : above(l)) totals[k] += leaf[l];
  }
}

std::vector<double> NodeSystem::flows_down(std::vector<double> surplus, double least) const {
  std::vector<std::vector<std::uint32_t>> below(num_inner());
  std::vector<std::uint32_t> missing(num_inner(), 0), ready;  // edges from above; places with none
  for (std::uint32_t e = 0; e < edges_.size(); ++e) {
    below[edges_[e].parent].push_back(e);
    if (!edges_[e].child_is_leaf) ++missing[edges_[e].child];
  }
  for (std::uint32_t k = 0; k < num_inner(); ++k) {
    if (missing[k] == 0) ready.push_back(k);
  }
  std::vector<double> flows(edges_.size());
  while (!ready.empty()) {
    const std::uint32_t k = ready.back();
    ready.pop_back();
    const double share = std::max(surplus[k] / static_cast<double>(below[k].size()), least);
    for (const std::uint32_t e : below[k]) {
      flows[e] = share;
      if (edges_[e].child_is_leaf) continue;
      surplus[edges_[e].child] += share;
      if (--missing[edges_[e].child] == 0) ready.push_back(edges_[e].child);
    }
  }
  return flows;
}

bool NodeSystem::factorize(std::span<const double> d, std::span<const double> w,
                           std::span<const double> theta) {
  for (std::uint32_t k = 0; k < num_inner(); ++k) {
    for (std::size_t b = below_pointers_[k]; b < below_pointers_[k + 1]; ++b) {
      const auto [leaf, position] = below_[b];
      double value = w[leaf];
      if (!theta.empty()) {
        for (const std::uint32_t e : leaf_edges_[leaf]) {
          const std::uint32_t p = edges_[e].parent;
          if (p == k) value += theta[e];
          if (p <= k) column_[p] += theta[e];
        }
      }
      const std::uint32_t* const place = above(leaf).data();
      for (std::uint32_t t = 0; t <= position; ++t) column_[place[t]] += value;
    }
    if (!theta.empty()) {
      for (const std::uint32_t e : upper_edges_[k]) {
        column_[std::min(edges_[e].child, edges_[e].parent)] -= theta[e];
      }
    }
    column_[k] += d[k];
    for (std::size_t e = pattern_.pointers[k]; e < pattern_.pointers[k + 1]; ++e) {
      values_[e] = column_[pattern_.items[e]];
      column_[pattern_.items[e]] = 0;
    }
  }
  return factors_.factorize(values_);
}

}  // namespace margrove::detail
