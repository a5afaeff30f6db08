#include "hierarchy/path_operator.hpp"

#include <algorithm>

#include "hierarchy/weight_paths.hpp"

namespace margrove::detail {
namespace {
constexpr NodeId kNoParent = ~NodeId{0};
}

PathOperator::PathOperator(const LabelGraph& graph)
    : graph_(&graph), main_parent_(graph.num_nodes(), kNoParent) {
  others_.pointers.reserve(graph.num_nodes() + std::size_t{1});
  std::vector<std::size_t> num_ancestors(graph.num_nodes(), 1);
  std::vector<NodeId> stamp(graph.num_nodes(), kNoParent);
  std::vector<NodeId> stack;
  for (const NodeId n : graph.topological_order()) {
    const auto parents = graph.parents(n);
    if (!parents.empty()) {
      main_parent_[n] = *std::max_element(parents.begin(), parents.end(), [&](NodeId a, NodeId b) {
        return num_ancestors[a] < num_ancestors[b];
      });
      num_ancestors[n] += num_ancestors[main_parent_[n]];
    }
    if (parents.size() > 1) {
      const auto visit_above = [&](NodeId from, auto&& found) {
        stack.assign(1, from);
        while (!stack.empty()) {
          const NodeId m = stack.back();
          stack.pop_back();
          if (stamp[m] == n) continue;
          stamp[m] = n;
          found(m);
          for (const NodeId p : graph.parents(m)) stack.push_back(p);
        }
      };
      visit_above(main_parent_[n], [](NodeId) {});
      for (const NodeId p : parents) visit_above(p, [&](NodeId m) { others_.items.push_back(m); });
    }
    others_.end_row();
    const auto others = others_[others_.size() - 1];
    std::ranges::sort(others);
    num_ancestors[n] += others.size();
  }
}

void PathOperator::path_sums(std::span<const double> a, std::span<double> sums,
                             std::vector<double>& scratch) const {
  scratch.resize(graph_->num_nodes());
  const auto order = graph_->topological_order();
  for (std::size_t place = 0; place < order.size(); ++place) {
    const NodeId n = order[place];
    double sum = a[n];
    if (main_parent_[n] != kNoParent) sum += scratch[main_parent_[n]];
    for (const NodeId m : others_[place]) sum += a[m];
    scratch[n] = sum;
  }
  for (std::size_t k = 0; k < sums.size(); ++k) sums[k] = scratch[graph_->leaves()[k]];
}

void PathOperator::leaf_totals(std::span<const double> weights, std::span<double> totals) const {
  // Each node passes its total on to its main parent, which passes it on to its own ancestors, and
  // adds it directly to the totals of its other ancestors, which must not pass it on.
  std::fill(totals.begin(), totals.end(), 0.0);
  std::vector<double> passed(graph_->num_nodes(), 0.0);
  for (std::size_t k = 0; k < weights.size(); ++k) passed[graph_->leaves()[k]] = weights[k];
  const auto order = graph_->topological_order();
  for (std::size_t place = order.size(); place-- > 0;) {
    const NodeId n = order[place];
    if (passed[n] == 0.0) continue;
    totals[n] += passed[n];
    if (main_parent_[n] != kNoParent) passed[main_parent_[n]] += passed[n];
    for (const NodeId m : others_[place]) totals[m] += passed[n];
  }
}

}  // namespace margrove::detail
