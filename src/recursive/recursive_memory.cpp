// How much memory the solvers of recursive regularisation take.

#include <algorithm>
#include <cmath>

#include "data/column_use.hpp"
#include "linear/one_vs_rest.hpp"
#include "numerics/row_kernels.hpp"
#include "recursive/joint_dense.hpp"
#include "recursive/joint_duals.hpp"
#include "recursive/recursive.hpp"
#include "recursive/softmax_loss.hpp"

namespace margrove {
namespace {

using detail::Lanes;

double rows_without_empty_columns(const CsrView& X) {
  return 8.0 * static_cast<double>(X.num_nonzeros()) + 24.0 * static_cast<double>(X.num_rows()) +
         8.0 * static_cast<double>(X.num_columns());
}

double dense_model(const CsrView& X, std::size_t num_nodes) {
  return 4.0 * static_cast<double>(X.num_columns()) * static_cast<double>(num_nodes);
}

/// Of a matrix that is made dense with all used columns full, and then stored sparse if that is
/// smaller.
double compacted_model(const CsrView& X, std::size_t num_nodes) {
  const double dense = dense_model(X, num_nodes);
  const double sparse =
      8.0 * static_cast<double>(num_used_columns(X)) * static_cast<double>(num_nodes);
  return sparse < dense ? dense + sparse : dense;
}

MemoryEstimate joint_dense_memory(const AdditiveProblem& problem) {
  const auto rows = static_cast<double>(problem.X.num_rows());
  const auto columns = static_cast<double>(problem.X.num_columns());
  const auto nodes = static_cast<double>(problem.graph->num_nodes());
  const double blocks = std::ceil(static_cast<double>(problem.targets.size()) / detail::kLanes);
  MemoryEstimate memory;
  memory.add("scores and derivatives", 4 * sizeof(Lanes) * rows * blocks);
  memory.add("Hessians", 8 * nodes * columns * (columns + 5));
  memory.add("model", compacted_model(problem.X, problem.graph->num_nodes()));
  return memory;
}

/// Nodes that have weights of their own beside the dual variables: those above several targets.
std::vector<double> nonzeros_of_nodes(const AdditiveProblem& problem,
                                      const JointDualOptions& options, double columns) {
  const LabelGraph& graph = *problem.graph;
  std::vector<double> nonzeros =
      expected_nonzeros(problem.X, *problem.labels, graph.num_nodes(), options.loss, options.C);
  const auto order = graph.topological_order();
  for (auto n = order.rbegin(); n != order.rend(); ++n) {
    for (const NodeId parent : graph.parents(*n)) {
      nonzeros[parent] = std::min(columns, nonzeros[parent] + nonzeros[*n]);
    }
  }
  return nonzeros;
}

}  // namespace

MemoryEstimate joint_dual_memory(const AdditiveProblem& problem, const JointDualOptions& options,
                                 int num_threads) {
  if (detail::suits_joint_dense(problem)) return joint_dense_memory(problem);
  constexpr double kLanesOfLeaves = 4;
  constexpr double kSpread = 6;  // active rows of a leaf, times its own
  const LabelGraph& graph = *problem.graph;
  const auto columns = static_cast<double>(num_used_columns(problem.X));
  double inner = 0, nonzeros = 0;
  const std::vector<double> of_nodes = nonzeros_of_nodes(problem, options, columns);
  for (NodeId n = 0; n < graph.num_nodes(); ++n) {
    inner += graph.is_leaf(n) || of_nodes[n] == 0 ? 0 : 1;
    nonzeros += of_nodes[n];
  }
  const double dense = dense_model(problem.X, graph.num_nodes());
  MemoryEstimate memory;
  memory.add("rows of the solver", rows_without_empty_columns(problem.X));
  memory.add("classifiers of inner nodes", 4 * columns * inner);
  memory.add("dual variables", kSpread * static_cast<double>(sizeof(detail::ActiveRow)) *
                                   static_cast<double>(problem.labels->num_labels_total()));
  memory.add("scratch of the threads",
             num_threads * (4.0 * detail::kLanes * columns +
                            2.0 * static_cast<double>(problem.X.num_rows())) +
                 kLanesOfLeaves * 16 * columns);
  // Node by node, in arrays that grow to at most half again as much; then feature by feature beside
  // them; then dense where that is smaller.
  memory.add("model", 16 * nonzeros + (dense < 8 * nonzeros ? dense : 0));
  return memory;
}

MemoryEstimate joint_newton_memory(const CsrView& X, std::size_t num_targets, std::size_t num_nodes,
                                   bool softmax, int num_threads) {
  const auto columns = static_cast<double>(num_used_columns(X));
  const auto rows = static_cast<double>(X.num_rows());
  const double targets = std::ceil(static_cast<double>(num_targets) / detail::kLanes) *
                         static_cast<double>(detail::kLanes);
  MemoryEstimate shared;
  shared.add("rows of the solver", rows_without_empty_columns(X));
  shared.add("scratch of the threads",
             num_threads * (5.0 * sizeof(Lanes) * columns + 3.0 * sizeof(Lanes) * rows));
  // Five arrays of two bytes, one of four, and curvatures of one; at the end the nodes' vectors
  // beside the one of four.
  MemoryEstimate training = shared, end = shared;
  training.add("classifiers", 14 * targets * columns);
  training.add("curvatures", targets * rows);
  if (softmax) {
    training.add("sums of the softmax",
                 detail::SoftmaxLoss::num_bytes(rows, targets / detail::kLanes));
  }
  end.add("classifiers", 4 * targets * columns);
  end.add("model", compacted_model(X, num_nodes));
  return larger_of(std::move(training), std::move(end));
}

MemoryEstimate alternating_memory(const CsrView& X, std::size_t num_targets, std::size_t num_nodes,
                                  PointLossKind loss, int num_threads) {
  const auto columns = static_cast<double>(num_used_columns(X));
  const auto rows = static_cast<double>(X.num_rows());
  MemoryEstimate memory;
  memory.add("rows of the solver", rows_without_empty_columns(X));
  memory.add("classifiers", 4 * columns * static_cast<double>(num_nodes + num_targets));
  if (loss != PointLossKind::logistic) {
    memory.add("dual variables", 8 * rows * static_cast<double>(num_targets));
  }
  memory.add("scratch of the threads", num_threads * (40 * rows + 40 * columns));
  memory.add("model", compacted_model(X, num_nodes));
  return memory;
}

}  // namespace margrove
