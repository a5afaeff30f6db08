#pragma once
// Small random problems below a label graph, and the optimum of the structured hinge by code that
// the solvers of the library do not use.

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"

namespace margrove::testing {

/// A random graph. Parents have lower numbers; with probability `extra` a node has a second parent.
inline LabelGraph random_graph(std::uint32_t num_nodes, double extra, Random& random) {
  std::vector<LabelEdge> edges;
  for (NodeId n = 1; n < num_nodes; ++n) {
    const auto parent = static_cast<NodeId>(random.below(n));
    edges.push_back({parent, n});
    const auto other = static_cast<NodeId>(random.below(n));
    if (other != parent && random.uniform() < extra) edges.push_back({other, n});
  }
  return LabelGraph::build(num_nodes, edges);
}

struct TinyProblem {
  LabelGraph graph;
  CsrMatrix X;
  std::vector<NodeId> leaf_of_row;
  std::vector<double> alpha;
};

inline TinyProblem tiny_problem(std::uint32_t num_nodes, double extra, std::size_t rows,
                                std::uint32_t features, std::uint64_t seed) {
  Random random(seed);
  TinyProblem p{random_graph(num_nodes, extra, random), CsrMatrix(features), {}, {}};
  const auto leaves = p.graph.leaves();
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<FeatureId> columns;
    std::vector<float> values;
    for (FeatureId j = 0; j < features; ++j) {
      if (random.uniform() < 0.4) continue;
      columns.push_back(j);
      values.push_back(static_cast<float>(random.normal()));
    }
    p.X.append_row(columns, values);
    p.leaf_of_row.push_back(leaves[random.below(leaves.size())]);
  }
  for (NodeId n = 0; n < num_nodes; ++n) p.alpha.push_back(0.1 + random.uniform());
  return p;
}

/// The sum of the weights over y △ y', by set operations.
inline double brute_distance(const LabelGraph& graph, std::span<const double> weights, NodeId a,
                             NodeId b) {
  const auto y = graph.ancestors(a), z = graph.ancestors(b);
  std::vector<NodeId> only;
  std::set_symmetric_difference(y.begin(), y.end(), z.begin(), z.end(), std::back_inserter(only));
  double sum = 0.0;
  for (const NodeId n : only) sum += weights[n];
  return sum;
}

/// One to three random leaves per row.
inline LabelSets random_leaf_sets(const TinyProblem& p, std::uint64_t seed) {
  Random random(seed, 5);
  LabelSets sets;
  for (std::size_t i = 0; i < p.leaf_of_row.size(); ++i) {
    std::vector<LabelId> row;
    for (std::uint64_t k = 0; k <= random.below(3); ++k) {
      row.push_back(p.graph.leaves()[random.below(p.graph.leaves().size())]);
    }
    sets.append(row);
  }
  return sets;
}

/// Every union of A(l) over a non-empty set of leaves.
inline std::vector<std::vector<NodeId>> all_label_sets(const LabelGraph& graph) {
  std::vector<std::vector<NodeId>> result;
  const auto leaves = graph.leaves();
  for (std::size_t mask = 1; mask < (std::size_t{1} << leaves.size()); ++mask) {
    std::set<NodeId> y;
    for (std::size_t k = 0; k < leaves.size(); ++k) {
      if ((mask >> k & 1U) == 0) continue;
      for (const NodeId n : graph.ancestors(leaves[k])) y.insert(n);
    }
    result.emplace_back(y.begin(), y.end());
  }
  return result;
}

/// Euclidean projection onto {a >= 0, sum a = total}.
inline void project_to_simplex(std::span<double> a, double total) {
  std::vector<double> sorted(a.begin(), a.end());
  std::sort(sorted.rbegin(), sorted.rend());
  double sum = 0.0, shift = 0.0;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    sum += sorted[k];
    const double candidate = (sum - total) / static_cast<double>(k + 1);
    if (sorted[k] - candidate >= 0) shift = candidate;
  }
  for (double& each : a) each = std::max(0.0, each - shift);
}

/// max_a sum a·offset - ||w(a)||^2 / 2 over a product of simplices, by accelerated projected
/// gradients on explicit features. difference[i][k] and offset[i][k] are those of the k-th
/// labelling of example i; one is the true one, with zeros. Returns the optimum, which dual and
/// primal share.
inline double reference_optimum(const std::vector<std::vector<std::vector<double>>>& difference,
                                const std::vector<std::vector<double>>& offset,
                                std::span<const double> budgets, int iterations = 20000) {
  const std::size_t n = difference.size(), d = difference[0][0].size();
  double lipschitz = 0.0;  // trace bound
  for (const auto& example : difference) {
    for (const auto& phi : example) {
      for (const double v : phi) lipschitz += v * v;
    }
  }
  std::vector<std::vector<double>> a = offset, momentum;
  for (std::size_t i = 0; i < n; ++i) {
    std::fill(a[i].begin(), a[i].end(), budgets[i] / static_cast<double>(a[i].size()));
  }
  momentum = a;
  const auto weights = [&](const std::vector<std::vector<double>>& duals) {
    std::vector<double> w(d, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < duals[i].size(); ++k) {
        for (std::size_t j = 0; j < d; ++j) w[j] -= duals[i][k] * difference[i][k][j];
      }
    }
    return w;
  };
  const auto objective = [&](const std::vector<std::vector<double>>& duals) {
    double value = 0.0;
    const std::vector<double> w = weights(duals);
    for (const double v : w) value -= 0.5 * v * v;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < duals[i].size(); ++k) value += duals[i][k] * offset[i][k];
    }
    return value;
  };
  double t = 1.0, best = objective(a), milestone = -1.0;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    const std::vector<double> w = weights(momentum);
    std::vector<std::vector<double>> next = momentum;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < next[i].size(); ++k) {
        double gradient = offset[i][k];
        for (std::size_t j = 0; j < d; ++j) gradient += w[j] * difference[i][k][j];
        next[i][k] += gradient / lipschitz;
      }
      project_to_simplex(next[i], budgets[i]);
    }
    const double value = objective(next);
    const double t_next = value < best ? 1.0 : 0.5 * (1 + std::sqrt(1 + 4 * t * t));  // restart
    const double beta = value < best ? 0.0 : (t - 1) / t_next;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < next[i].size(); ++k) {
        momentum[i][k] = next[i][k] + beta * (next[i][k] - a[i][k]);
      }
    }
    best = std::max(best, value);
    if (iteration % 500 == 499) {
      if (best - milestone <= 1e-11 * std::abs(best)) break;
      milestone = best;
    }
    a = next;
    t = t_next;
  }
  return best;
}

/// The optimum of the structured SVM with explicit features; feature j of node n is at
/// n * columns + j. labellings[i]: the label sets that row i can have; truth[i] is one of them.
template <class Loss, class Slope>
double reference_set_optimum(const TinyProblem& p,
                             const std::vector<std::vector<NodeId>>& labellings,
                             const std::vector<std::vector<NodeId>>& truth,
                             std::span<const double> budgets, const Loss& loss,
                             const Slope& slope) {
  const std::size_t d = p.X.num_columns();
  std::vector<std::vector<std::vector<double>>> difference;
  std::vector<std::vector<double>> offset;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    difference.emplace_back();
    offset.emplace_back();
    for (const auto& y : labellings) {
      std::vector<double> phi(d * p.graph.num_nodes(), 0.0);
      const double factor = y == truth[i] ? 0.0 : slope(y, truth[i]);
      const auto add = [&](const std::vector<NodeId>& nodes, double sign) {
        const SparseRow x = p.X.row(i);
        for (const NodeId n : nodes) {
          for (std::size_t k = 0; k < x.size(); ++k) {
            phi[n * d + x.columns[k]] +=
                sign * factor * std::sqrt(p.alpha[n]) * static_cast<double>(x.values[k]);
          }
        }
      };
      add(y, 1.0);
      add(truth[i], -1.0);
      difference.back().push_back(phi);
      offset.back().push_back(y == truth[i] ? 0.0 : loss(y, truth[i]));
    }
  }
  return reference_optimum(difference, offset, budgets);
}

/// The same for paths; loss and slope are functions of (leaf, true leaf).
template <class Loss, class Slope>
double reference_path_optimum(const TinyProblem& p, std::span<const double> budgets,
                              const Loss& loss, const Slope& slope) {
  std::vector<std::vector<NodeId>> labellings, truth;
  const auto leaf_of = [&](const std::vector<NodeId>& y) {
    return *std::find_if(y.begin(), y.end(), [&](NodeId n) { return p.graph.is_leaf(n); });
  };
  for (const NodeId leaf : p.graph.leaves()) labellings.push_back(p.graph.ancestors(leaf));
  for (const NodeId leaf : p.leaf_of_row) truth.push_back(p.graph.ancestors(leaf));
  const auto by_leaf = [&](const auto& f) {
    return [&](const std::vector<NodeId>& y, const std::vector<NodeId>& z) {
      return f(leaf_of(y), leaf_of(z));
    };
  };
  return reference_set_optimum(p, labellings, truth, budgets, by_leaf(loss), by_leaf(slope));
}

}  // namespace margrove::testing
