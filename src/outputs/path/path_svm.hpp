#pragma once
// Hierarchical SVMs for single-label data, trained as structured SVMs over root-to-leaf paths:
// hsvm (alpha = 1, Hamming loss), nhsvm (NHSVM), multi-class Crammer-Singer (alpha = 1 on leaves).
//
//   min  sum_n ||W_n||^2 / 2 + C sum_i c_i max_l psi(m_i(l), loss(l, l_i)),
//   m_i(l) = f(x_i, l) - f(x_i, l_i),
//   f(x, l) = sum over n in A(l) of sqrt(alpha_n) W_n · x,
//
// psi = m + loss for margin rescaling; all surrogates of margrove/surrogates.hpp but micro-f1.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fit_state.hpp"
#include "base/memory_estimate.hpp"
#include "data/weight_matrix.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "outputs/path/path_loss.hpp"
#include "structured/structured_training.hpp"

namespace margrove {

/// What must be the same in two runs over paths or label sets for one to go on from the other.
struct HierarchyProblem {
  LabelGraph graph;
  std::vector<double> alpha;
  TaskLoss loss = TaskLoss::hamming;
  std::vector<double> costs = {};  // of a cost matrix, or empty
  bool is_relaxed = false;         // whether label sets may be fractional
  bool operator==(const HierarchyProblem&) const = default;
};

struct PathSvmResult {
  WeightMatrix
      weights;        // U_n = sqrt(alpha_n) W_n, X.num_columns() x nodes: f sums scores on a path
  StructuredFit fit;  // sgd: no dual, and epochs_done once all are made
  std::shared_ptr<const FitState> state;  // if it was to be kept
};

/// leaf_of_row[i]: the leaf of row i; leaves without rows are possible answers, too. alpha: one
/// number >= 0 per node; nodes above all leaves and nodes with alpha 0 get no weights. The
/// surrogate normalized-difference uses the normalized loss, whatever `loss` says, and no cost
/// matrix. row_weights: c_i >= 0, empty for all 1. Throws InvalidInput on sizes that do not match,
/// labels that are not leaves and weights < 0, and what train_structured() throws. Memory: see
/// path_svm_memory().
///
/// continuation: bcfw starts from the dual variables of an earlier run on the same rows and labels
/// (features, C and row weights may differ), or from zero if graph, alpha, loss, surrogate or
/// labels have changed. sgd makes its epochs after those of an earlier run, which may have had
/// other rows with the same features; C then weights rows as if there were as many as in the first
/// run. sgd throws InvalidInput if graph, alpha, loss or surrogate have changed. Cutting planes
/// take none.
PathSvmResult train_path_svm(const CsrView& X, std::span<const NodeId> leaf_of_row,
                             const LabelGraph& graph, std::span<const double> alpha, LeafLoss loss,
                             const StructuredTraining& training, Executor& executor,
                             RunControl& control, std::span<const double> row_weights = {},
                             const Continuation& continuation = {});

/// Whether training skips subtrees by bounds (bounded_path_oracle.hpp), which is faster on large
/// trees with short rows.
bool skips_subtrees(const CsrView& X, const LabelGraph& graph, bool has_costs,
                    const StructuredTraining& training);

/// The memory that training will take beside X, the returned weights included: mainly twice 4 bytes
/// per pair of a feature that occurs in X and a node with alpha > 0.
MemoryEstimate path_svm_memory(const CsrView& X, const LabelGraph& graph,
                               std::span<const double> alpha, bool has_costs,
                               const StructuredTraining& training, const Continuation& continuation,
                               int num_threads);
/// The same for train_label_set_svm().
MemoryEstimate label_set_svm_memory(const CsrView& X, const LabelSets& leaves_of_row,
                                    const LabelGraph& graph, std::span<const double> alpha,
                                    const StructuredTraining& training,
                                    const Continuation& continuation, int num_threads);

/// Whether the sums of sgd are to be kept or were given, so that a weight must have the same index
/// whatever the rows are.
bool keeps_sums(const StructuredTraining& training, const Continuation& continuation);

}  // namespace margrove
