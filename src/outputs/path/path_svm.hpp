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
#include "hierarchy/partial_labels.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/task_loss.hpp"
#include "outputs/node_scorer.hpp"
#include "outputs/path/path_loss.hpp"
#include "structured/structured_training.hpp"

namespace margrove {

/// The problem of a run over paths or label sets. A run can continue only a run of the same
/// problem.
struct HierarchyProblem {
  LabelGraph graph;
  std::vector<double> alpha;
  TaskLoss loss = TaskLoss::hamming;
  std::vector<double> costs = {};  // of a cost matrix, or empty
  bool is_relaxed = false;         // whether label sets may be fractional
  detail::LabelSetLoss set_loss = {};
  LeafChoices choices = {};  // of rows with partial labels
  bool operator==(const HierarchyProblem&) const = default;
};

struct PathSvmResult {
  WeightMatrix weights;  // U_n = sqrt(alpha_n) W_n, X.num_columns() x nodes
  StructuredFit fit;     // sgd: no dual; the stop is epochs_done unless interrupted
  std::shared_ptr<const FitState> state;  // if it was to be kept
  struct Round {                          // of rows with partial labels
    int passes;                           // so far
    double objective;                     // at the weights that are kept after it
    double dual;  // of its convex problem; NaN of the first round, which leaves out these rows
  };
  std::vector<Round> rounds = {};
};

/// leaf_of_row[i]: the leaf of row i; leaves without rows may be predicted, too. alpha: one number
/// >= 0 per node; nodes above all leaves and nodes with alpha 0 get no weights. The surrogate
/// normalized-difference uses the normalized loss, whatever `loss` says, and no cost matrix.
/// row_weights: c_i >= 0, empty for all 1. Throws InvalidInput on sizes that do not match, labels
/// that are not leaves and weights < 0, and what train_structured() throws. Memory: see
/// path_svm_memory().
///
/// continuation: bcfw starts from the dual variables of an earlier run on the same rows and labels
/// (features, C and row weights may differ), or from zero if graph, alpha, loss, surrogate or
/// labels have changed. sgd makes its epochs after those of an earlier run, which may have had
/// other rows with the same features; C weights the losses as if there were as many rows as in that
/// run. sgd throws InvalidInput if graph, alpha, loss or surrogate have changed. Cutting planes
/// take none.
PathSvmResult train_path_svm(const CsrView& X, std::span<const NodeId> leaf_of_row,
                             const LabelGraph& graph, std::span<const double> alpha, LeafLoss loss,
                             const StructuredTraining& training, Executor& executor,
                             RunControl& control, std::span<const double> row_weights = {},
                             const Continuation& continuation = {});

/// The same where some labels are partial. labels[i]: the leaf of row i, not used where the row has
/// choices. The objective is
///
///   H(w) = sum_n ||W_n||^2 / 2 + C sum_i c_i max_l psi(m_i(l), min_k loss(l, k)),
///   m_i(l) = f(x_i, l) - max_k f(x_i, k),
///
/// with k among the choices of row i. It is not convex. The concave-convex procedure
/// [YuilleRangarajan2003], of structured SVMs [YuJoachims2009], repeats: the best choice of each
/// row at the present weights counts as its leaf, found by exact search; then the convex problem is
/// solved, from the dual variables of rows whose leaf stays. H never rises. The first leaves are
/// the best ones of the model of the rows whose leaf is known. Ends at weights whose best choices
/// are those that they were trained with, or when a round lowers H by no more than the tolerance.
/// Earlier rounds have looser tolerances. The fit is that of the last convex problem, whose gap
/// says nothing about other choices. max_passes limits those of each round, and a round that
/// reaches it is the last one, unless it is the first; a time limit leaves the best weights so far.
///
/// Throws InvalidOption also for sgd, which has no objective to compare, and for
/// normalized-difference, which divides by the loss. continuation: as above, but an earlier run
/// also gives the first leaves; a state is kept by bcfw only.
PathSvmResult train_partial_path_svm(const CsrView& X, std::span<const NodeId> labels,
                                     LeafChoices choices, const LabelGraph& graph,
                                     std::span<const double> alpha, LeafLoss loss,
                                     const StructuredTraining& training, Executor& executor,
                                     RunControl& control, std::span<const double> row_weights = {},
                                     const Continuation& continuation = {});

/// Whether training skips subtrees by bounds (bounded_path_oracle.hpp), which is faster on large
/// trees with short rows, as long as all weights are stored.
bool skips_subtrees(const CsrView& X, const LabelGraph& graph, bool has_costs,
                    const StructuredTraining& training, NodeStorage storage);

/// The memory that training will take beside X, the returned weights included: mainly twice 4 bytes
/// per pair of a feature that occurs in X and a node with alpha > 0, or the blocks of these pairs
/// that are expected to have weights.
MemoryEstimate path_svm_memory(const CsrView& X, const LabelGraph& graph,
                               std::span<const double> alpha, bool has_costs,
                               const StructuredTraining& training, const Continuation& continuation,
                               int num_threads);
/// The part of it that is the returned weights.
double path_weight_bytes(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha);
/// The same for train_partial_path_svm().
MemoryEstimate partial_path_svm_memory(const CsrView& X, const LeafChoices& choices,
                                       const LabelGraph& graph, std::span<const double> alpha,
                                       const StructuredTraining& training, int num_threads);
/// The same for train_label_set_svm().
MemoryEstimate label_set_svm_memory(const CsrView& X, const LabelSets& leaves_of_row,
                                    const LabelGraph& graph, std::span<const double> alpha,
                                    const StructuredTraining& training,
                                    const Continuation& continuation, int num_threads);

/// How training stores the weights of the nodes: with all features where sgd keeps its state or
/// continues an earlier run, and in blocks where that saves memory and the solver allows it.
NodeStorage node_storage(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha,
                         const StructuredTraining& training, const Continuation& continuation);

}  // namespace margrove
