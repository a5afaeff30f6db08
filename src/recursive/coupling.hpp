#pragma once
// The regularisers of the alternation over nodes (alternating.cpp). A coupling holds the weights
// and says, for the other weights as they are,
//
//   strength(t), mean(t)   that target t minimises S_t/2 |w_t - m_t|^2 + C sum_i loss,
//   groups()               targets that do not depend on each other, so that they are solved at
//   once, update_free_nodes()    the minimum over the nodes without loss, in closed form,
//   regulariser()          its value,
//   node_part()            what a node's weights add on the paths through it.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "base/closing_time.hpp"
#include "hierarchy/graph_operations.hpp"
#include "margrove/errors.hpp"
#include "recursive/node_precision.hpp"
#include "recursive/recursive.hpp"

namespace margrove::detail {

constexpr std::size_t kColumnGrain = 256;  // columns that one task updates in closed form
constexpr std::size_t kTargetGrain = 64;   // targets whose distances to their means one task sums
constexpr int kFreeSweeps = 3;             // Gauss-Seidel sweeps over the nodes without loss
constexpr std::uint32_t kNoTarget = 0xffffffffU;

/// One dense vector per node, float32.
class NodeVectors {
 public:
  NodeVectors(std::size_t num_nodes, std::size_t dim) : dim_(dim), values_(num_nodes * dim, 0.0F) {}
  std::span<float> operator[](std::size_t n) { return std::span(values_).subspan(n * dim_, dim_); }
  std::span<const float> operator[](std::size_t n) const {
    return std::span(values_).subspan(n * dim_, dim_);
  }
  std::size_t dim() const { return dim_; }

 private:
  std::size_t dim_;
  std::vector<float> values_;
};

inline double squared(std::span<const float> v) {
  double sum = 0;
  for (const float x : v) sum += static_cast<double>(x) * x;
  return sum;
}

/// w_l = own part + sum of v_m over the inner nodes of A(l).
class AdditiveCoupling {
 public:
  AdditiveCoupling(const AdditiveProblem& problem, std::size_t dim)
      : graph_(*problem.graph),
        alpha_(problem.alpha),
        targets_(problem.targets),
        ancestors_(ancestor_sets(graph_, targets_)),
        below_(graph_.num_nodes()),
        is_moved_(graph_.num_nodes(), 0),
        inner_(graph_.num_nodes(), dim),
        target_(targets_.size(), dim) {
    group_.resize(targets_.size());
    std::iota(group_.begin(), group_.end(), 0U);
    for (std::uint32_t t = 0; t < targets_.size(); ++t) {
      require(graph_.is_leaf(targets_[t]) && alpha_[targets_[t]] > 0, "alternating: target ",
              targets_[t], " must be a leaf with a weight > 0");
      for (const NodeId m : ancestors_[targets_[t]]) {
        if (m != targets_[t] && alpha_[m] > 0) below_[m].push_back(t);
      }
    }
  }

  /// Targets are not coupled directly: one group.
  std::vector<std::span<const std::uint32_t>> groups() const { return {group_}; }
  double strength(std::uint32_t t) const { return 1.0 / alpha_[targets_[t]]; }
  void mean(std::uint32_t t, std::span<double> m) const { mean_of(t, 0, m); }
  std::span<float> weights(std::uint32_t t) { return target_[t]; }

  /// With the w_l held, v_m (1/alpha_m + sum_{l below} 1/alpha_l) = sum_{l below} r_l / alpha_l +
  /// ... where r_l is the leaf's own part: eq. 6 of HR in path-additive form.
  /// Stops between two nodes where the control says so.
  void update_free_nodes(Executor& executor, RunControl& control) {
    const auto order = graph_.topological_order();
    executor.for_ranges(inner_.dim(), kColumnGrain, [&](std::size_t begin, std::size_t end, int) {
      const std::size_t width = end - begin;
      std::vector<double> own(targets_.size() * width);
      for (std::uint32_t t = 0; t < targets_.size(); ++t) {
        if (!control.proceed()) return;
        for (std::size_t j = 0; j < width; ++j) own[t * width + j] = target_[t][begin + j];
        for (const NodeId n : ancestors_[targets_[t]]) {
          if (is_moved_[n] == 0) continue;
          for (std::size_t j = 0; j < width; ++j) own[t * width + j] -= inner_[n][begin + j];
        }
      }
      std::vector<double> step(width);
      for (int sweep = 0; sweep < kFreeSweeps; ++sweep) {
        for (auto m = order.rbegin(); m != order.rend() && control.proceed(); ++m) {
          update_inner(*m, begin, own, step);
        }
      }
    });
    for (NodeId n = 0; n < graph_.num_nodes(); ++n) {
      const auto v = inner_[n];
      is_moved_[n] = std::any_of(v.begin(), v.end(), [](float x) { return x != 0; }) ? 1 : 0;
    }
  }

  /// NaN if there is no time for it. The classifiers of all inner nodes exceed the caches where
  /// there are many, so that all targets of a task see the same columns before the next ones.
  double regulariser(Executor& executor, ClosingTime& closing) const {
    double value = executor.ordered_sum(graph_.num_nodes(), [&](std::size_t m, int) {
      return below_[m].empty() ? 0.0 : 0.5 * squared(inner_[m]) / alpha_[m];
    });
    std::vector<double> squares(targets_.size(), 0.0);
    std::atomic<bool> is_complete = true;
    executor.for_ranges(targets_.size(), kTargetGrain,
                        [&](std::size_t first, std::size_t last, int) {
                          std::vector<double> m(std::min(kColumnGrain, inner_.dim()));
                          for (std::size_t begin = 0; begin < inner_.dim(); begin += kColumnGrain) {
                            if (!closing.proceed()) is_complete = false;
                            if (!is_complete) return;
                            m.resize(std::min(kColumnGrain, inner_.dim() - begin));
                            for (std::size_t t = first; t < last; ++t) {
                              mean_of(static_cast<std::uint32_t>(t), begin, m);
                              const auto w = target_[t].subspan(begin, m.size());
                              for (std::size_t j = 0; j < m.size(); ++j)
                                squares[t] += std::pow(w[j] - m[j], 2);
                            }
                          }
                        });
    if (!is_complete) return std::numeric_limits<double>::quiet_NaN();
    double of_targets = 0;
    for (std::uint32_t t = 0; t < squares.size(); ++t) {
      of_targets += 0.5 * squares[t] * strength(t);
    }
    return value + of_targets;
  }

  /// The part of v_n from column `begin` on; false if all of v_n is zero.
  bool node_part(NodeId n, std::uint32_t target, std::size_t begin, std::span<double> v) const {
    if (target != kNoTarget) {
      mean_of(target, begin, v);
      const auto w = target_[target].subspan(begin, v.size());
      for (std::size_t j = 0; j < v.size(); ++j) v[j] = w[j] - v[j];
      return true;
    }
    if (is_moved_[n] == 0) return false;
    std::ranges::copy(inner_[n].subspan(begin, v.size()), v.begin());
    return true;
  }

 private:
  /// The part of the mean from column `begin` on.
  void mean_of(std::uint32_t t, std::size_t begin, std::span<double> m) const {
    std::fill(m.begin(), m.end(), 0.0);
    for (const NodeId n : ancestors_[targets_[t]]) {
      if (is_moved_[n] == 0) continue;
      const auto v = inner_[n].subspan(begin, m.size());
      for (std::size_t j = 0; j < m.size(); ++j) m[j] += v[j];
    }
  }

  void update_inner(NodeId m, std::size_t begin, std::vector<double>& own,
                    std::vector<double>& step) {
    if (below_[m].empty()) return;
    const std::size_t width = step.size();
    const auto v = inner_[m].subspan(begin, width);
    double curvature = 1.0 / alpha_[m];
    for (std::size_t j = 0; j < width; ++j) step[j] = -v[j] * curvature;
    for (const std::uint32_t t : below_[m]) {
      const double s = strength(t);
      curvature += s;
      for (std::size_t j = 0; j < width; ++j) step[j] += s * own[t * width + j];
    }
    for (std::size_t j = 0; j < width; ++j) {
      // What is stored is rounded; the leaves need the rounded step.
      const float before = v[j];
      v[j] = static_cast<float>(before + step[j] / curvature);
      step[j] = static_cast<double>(v[j]) - before;
    }
    for (const std::uint32_t t : below_[m]) {
      for (std::size_t j = 0; j < width; ++j) own[t * width + j] -= step[j];
    }
  }

  const LabelGraph& graph_;
  std::span<const double> alpha_;
  std::span<const NodeId> targets_;
  NodeLists ancestors_;
  std::vector<std::vector<std::uint32_t>> below_;  // inner node -> targets below
  std::vector<char> is_moved_;                     // inner nodes whose vector is not 0
  NodeVectors inner_, target_;
  std::vector<std::uint32_t> group_;
};

/// Every node is regularised towards the weighted mean of its neighbours and the anchor at zero.
class GraphCoupling {
 public:
  GraphCoupling(const SimilarityProblem& problem, std::size_t dim)
      : targets_(problem.targets),
        graph_(*problem.graph),
        neighbours_(graph_.num_nodes),
        strength_(graph_.anchors),
        is_target_(graph_.num_nodes, false),
        w_(graph_.num_nodes, dim) {
    check_similarity_graph(graph_);
    strength_.resize(graph_.num_nodes, 0.0);
    for (const auto& edge : graph_.edges) {
      neighbours_[edge.a].push_back({edge.b, edge.weight});
      neighbours_[edge.b].push_back({edge.a, edge.weight});
      strength_[edge.a] += edge.weight;
      strength_[edge.b] += edge.weight;
    }
    anchors_ = graph_.anchors;
    anchors_.resize(graph_.num_nodes, 0.0);
    for (NodeId n = 0; n < graph_.num_nodes; ++n) {
      if (strength_[n] == 0) strength_[n] = anchors_[n] = 1.0;
    }
    for (const NodeId n : targets_) is_target_[n] = true;
    colour_targets();
  }

  std::vector<std::span<const std::uint32_t>> groups() const {
    return {groups_.begin(), groups_.end()};
  }
  double strength(std::uint32_t t) const { return strength_[targets_[t]]; }
  void mean(std::uint32_t t, std::span<double> m) const { mean_of(targets_[t], 0, m); }
  std::span<float> weights(std::uint32_t t) { return w_[targets_[t]]; }

  void update_free_nodes(Executor& executor, RunControl& control) {
    executor.for_ranges(w_.dim(), kColumnGrain, [&](std::size_t begin, std::size_t end, int) {
      std::vector<double> m(end - begin);
      for (int sweep = 0; sweep < kFreeSweeps; ++sweep) {
        for (NodeId k = 0; k < graph_.num_nodes; ++k) {
          // Forward and backward in turn, so that long chains converge quickly.
          const NodeId n = sweep % 2 == 0 ? graph_.num_nodes - 1 - k : k;
          if (is_target_[n]) continue;
          if (!control.proceed()) return;
          mean_of(n, begin, m);
          for (std::size_t j = begin; j < end; ++j) w_[n][j] = static_cast<float>(m[j - begin]);
        }
      }
    });
  }

  double regulariser(Executor& executor, ClosingTime&) const {
    double value = executor.ordered_sum(graph_.edges.size(), [&](std::size_t e, int) {
      const auto& edge = graph_.edges[e];
      double sum = 0;
      for (std::size_t j = 0; j < w_.dim(); ++j) {
        sum += std::pow(static_cast<double>(w_[edge.a][j]) - w_[edge.b][j], 2);
      }
      return 0.5 * edge.weight * sum;
    });
    value += executor.ordered_sum(graph_.num_nodes, [&](std::size_t n, int) {
      return anchors_[n] > 0 ? 0.5 * anchors_[n] * squared(w_[n]) : 0.0;
    });
    return value;
  }

  bool node_part(NodeId n, std::uint32_t, std::size_t begin, std::span<double> v) const {
    std::ranges::copy(w_[n].subspan(begin, v.size()), v.begin());
    return true;
  }

 private:
  struct Neighbour {
    NodeId node;
    double weight;
  };

  void mean_of(NodeId n, std::size_t begin, std::span<double> m) const {
    std::fill(m.begin(), m.end(), 0.0);
    for (const Neighbour& neighbour : neighbours_[n]) {
      const auto w = w_[neighbour.node].subspan(begin, m.size());
      for (std::size_t j = 0; j < m.size(); ++j) m[j] += neighbour.weight * w[j];
    }
    for (double& value : m) value /= strength_[n];
  }

  void colour_targets() {
    std::vector<std::uint32_t> colour(graph_.num_nodes, kNoTarget);
    std::vector<bool> taken;
    for (std::uint32_t t = 0; t < targets_.size(); ++t) {
      taken.assign(groups_.size() + 1, false);
      for (const Neighbour& neighbour : neighbours_[targets_[t]]) {
        if (colour[neighbour.node] != kNoTarget) taken[colour[neighbour.node]] = true;
      }
      const auto free =
          static_cast<std::uint32_t>(std::find(taken.begin(), taken.end(), false) - taken.begin());
      colour[targets_[t]] = free;
      if (free == groups_.size()) groups_.emplace_back();
      groups_[free].push_back(t);
    }
  }

  std::span<const NodeId> targets_;
  const SimilarityGraph& graph_;
  std::vector<std::vector<Neighbour>> neighbours_;
  std::vector<double> strength_, anchors_;
  std::vector<bool> is_target_;
  std::vector<std::vector<std::uint32_t>> groups_;
  NodeVectors w_;
};

}  // namespace margrove::detail
