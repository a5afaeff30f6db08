#pragma once
// Small problems of recursive regularisation, and their optimum by an independent method.

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "data/csr_operations.hpp"
#include "hierarchy/graph_operations.hpp"
#include "linear/binary_linear.hpp"
#include "linear/point_loss.hpp"
#include "recursive/recursive.hpp"

namespace margrove::testing_support {

struct Instance {
  CsrMatrix X;
  LabelSets labels;
  LabelGraph graph;
  std::vector<NodeId> targets;
  std::vector<double> alpha;
  AdditiveProblem problem() const {
    AdditiveProblem p;
    p.X = X.view();
    p.labels = &labels;
    p.graph = &graph;
    p.alpha = alpha;
    p.targets = targets;
    return p;
  }
};

inline Instance random_instance(std::uint64_t seed, LabelGraph graph, std::size_t rows,
                                bool multi_label) {
  Random random(seed);
  Instance made;
  made.graph = std::move(graph);
  made.targets.assign(made.graph.leaves().begin(), made.graph.leaves().end());
  for (NodeId n = 0; n < made.graph.num_nodes(); ++n) {
    made.alpha.push_back(0.5 + random.uniform());
  }
  made.X = CsrMatrix(7);
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<FeatureId> columns;
    std::vector<float> values;
    for (FeatureId j = 0; j < 6; ++j) {
      if (random.uniform() < 0.6) {
        columns.push_back(j);
        values.push_back(static_cast<float>(random.normal()));
      }
    }
    columns.push_back(6);
    values.push_back(1.0F);
    made.X.append_row(columns, values);
    std::vector<LabelId> set{made.targets[random.below(made.targets.size())]};
    if (multi_label) set.push_back(made.targets[random.below(made.targets.size())]);
    made.labels.append(set);
  }
  return made;
}

/// The same with twenty columns before the last one that every row has, as those of a vector, and
/// with columns of terms from rare to common.
inline Instance instance_with_tail(std::uint64_t seed, LabelGraph graph, std::size_t rows) {
  Instance made = random_instance(seed, std::move(graph), rows, true);
  Random random(seed, 1);
  made.X = CsrMatrix(27);
  for (std::size_t i = 0; i < rows; ++i) {
    std::vector<FeatureId> columns;
    std::vector<float> values;
    for (FeatureId j = 0; j < 26; ++j) {
      if (j < 6 && random.uniform() > (j + 1) / 7.0) continue;
      columns.push_back(j);
      values.push_back(static_cast<float>(random.normal()));
    }
    columns.push_back(26);
    values.push_back(1.0F);
    made.X.append_row(columns, values);
  }
  return made;
}

/// The same problem with a last column that is zero, and that only the first row has, so that
/// solvers find no dense tail.
inline Instance without_tail(const Instance& instance) {
  Instance made = instance;
  const FeatureId last = instance.X.num_columns();
  made.X = CsrMatrix(last + 1);
  for (std::size_t i = 0; i < instance.X.num_rows(); ++i) {
    const SparseRow x = instance.X.row(i);
    std::vector<FeatureId> columns(x.columns.begin(), x.columns.end());
    std::vector<float> values(x.values.begin(), x.values.end());
    if (i == 0) {
      columns.push_back(last);
      values.push_back(0.0F);
    }
    made.X.append_row(columns, values);
  }
  return made;
}

inline LabelGraph small_tree() {
  return LabelGraph::build(
      8, std::vector<LabelEdge>{{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 5}, {2, 6}, {2, 7}});
}
inline LabelGraph small_dag() {
  return LabelGraph::build(
      7, std::vector<LabelEdge>{{0, 1}, {0, 2}, {1, 3}, {1, 4}, {2, 4}, {2, 5}, {1, 6}, {2, 6}});
}
inline LabelGraph small_forest() {
  return LabelGraph::build(6, std::vector<LabelEdge>{{0, 1}, {0, 2}, {3, 4}});  // 5 has no edges
}

/// Solves the same problem as one binary classifier over (row, leaf) pairs. A pair has the features
/// of the row, times sqrt(alpha_m), in the block of each node m on the path of the leaf. A row
/// whose label is an inner node has no pairs with the leaves below it.
inline double stacked_optimum(const Instance& instance, PointLossKind loss, double C) {
  const auto sets = ancestor_sets(instance.graph, instance.graph.topological_order());
  const FeatureId d = instance.X.num_columns();
  CsrMatrix stacked(d * instance.graph.num_nodes());
  std::vector<std::uint32_t> positives;
  for (std::size_t i = 0; i < instance.X.num_rows(); ++i) {
    const SparseRow x = instance.X.row(i);
    for (const NodeId t : instance.targets) {
      const NodeId first = instance.labels[i].front();
      if (first != t && std::ranges::count(sets[t], first) > 0) continue;
      std::vector<FeatureId> columns;
      std::vector<float> values;
      for (const NodeId m : sets[t]) {
        for (std::size_t k = 0; k < x.size(); ++k) {
          columns.push_back(m * d + x.columns[k]);
          values.push_back(static_cast<float>(x.values[k] * std::sqrt(instance.alpha[m])));
        }
      }
      const auto labels = instance.labels[i];
      if (std::find(labels.begin(), labels.end(), t) != labels.end()) {
        positives.push_back(static_cast<std::uint32_t>(stacked.num_rows()));
      }
      stacked.append_row(columns, values);
    }
  }
  const auto norms = squared_norms(stacked);
  BinaryProblem problem;
  problem.X = stacked.view();
  problem.squared_norms = norms;
  problem.positives = positives;
  problem.C = C;
  BinaryState state;
  RunControl control;
  return solve_binary(problem, loss, {.tolerance = 1e-8, .max_passes = 100000}, state, control)
      .primal;
}

}  // namespace margrove::testing_support
