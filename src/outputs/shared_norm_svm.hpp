#pragma once
// The SVM with shared norm (NHSVM, eq. 14-16) learns the node weights together with the weights W.
//
//   primal  min_{alpha, U}  sum_n ||U_n||^2 / (2 alpha_n) + C sum_i max_y psi_i(y; U),
//           alpha >= 0, sum over A(l) of alpha <= 1 for every leaf l,
//           psi_i(y; U) = sum_{n in y} U_n · x_i - sum_{n in y_i} U_n · x_i + loss(y, y_i),
//   dual    max_a  sum_iy a_iy loss(y, y_i) - max_alpha sum_n alpha_n ||g_n||^2 / 2,
//           g_n = sum_i x_i (sum_{y without n} a_iy [n in y_i] - sum_{y with n} a_iy [n not in
//           y_i]),
//
// with U_n = sqrt(alpha_n) W_n and a task loss that does not depend on alpha. The problem is
// jointly convex in (alpha, U).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/weight_matrix.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/options.hpp"
#include "margrove/task_loss.hpp"
#include "structured/structured_fit.hpp"

namespace margrove {

struct SharedNormSvmOptions {
  TaskLoss task_loss = TaskLoss::zero_one;
  double C = 1.0;
  double tolerance = 1e-3;
  int max_rounds = 200;
  int max_passes = 1000;
  std::uint64_t seed = 0;

  static auto fields() {
    return std::tuple{
        field("task_loss", &SharedNormSvmOptions::task_loss,
              {TaskLoss::zero_one, TaskLoss::hamming},
              "cost of a wrong path: 1, or the number of nodes that are on one of the two paths "
              "only; for label sets it is always the number of wrong leaves"),
        field("C", &SharedNormSvmOptions::C, positive, "loss weight"),
        field("tolerance", &SharedNormSvmOptions::tolerance, positive,
              "relative gap of the joint problem to stop at"),
        field("max_rounds", &SharedNormSvmOptions::max_rounds, at_least(1),
              "maximum number of changes of the node weights"),
        field("max_passes", &SharedNormSvmOptions::max_passes, at_least(1),
              "maximum number of passes over the data per choice of node weights"),
        field("seed", &SharedNormSvmOptions::seed, non_negative,
              "seed of the order of the examples"),
    };
  }
};

struct SharedNormSvmResult {
  WeightMatrix weights;            // U; a score is the unweighted sum over a label's nodes
  std::vector<double> alpha;       // one per node
  StructuredFit fit;               // of the joint problem; `passes` counts those of all rounds
  std::vector<double> objectives;  // the joint primal after each round; by alternation never rising
};

/// Alternates between the step in alpha (hierarchy/shared_norm.hpp) and BCFW for W. Node weights
/// that have become 0 are raised again if the joint dual shows that they should be > 0. Arguments
/// are as of train_path_svm(); it takes twice as much memory. costs: a cost matrix (LeafLoss) in
/// place of the task loss that the options name; empty: none.
SharedNormSvmResult train_shared_norm_svm(const CsrView& X, std::span<const NodeId> leaf_of_row,
                                          const LabelGraph& graph,
                                          const SharedNormSvmOptions& options, Executor& executor,
                                          RunControl& control,
                                          std::span<const double> row_weights = {},
                                          std::span<const double> costs = {});
/// The same for label sets; arguments are as of train_label_set_svm().
SharedNormSvmResult train_shared_norm_svm(const CsrView& X, const LabelSets& leaves_of_row,
                                          const LabelGraph& graph,
                                          const SharedNormSvmOptions& options, Executor& executor,
                                          RunControl& control,
                                          std::span<const double> row_weights = {});

struct SharedNormSgdOptions {
  TaskLoss task_loss = TaskLoss::zero_one;
  double C = 1.0;
  int epochs = 10;      // passes over the rows for each choice of node weights
  int max_rounds = 3;   // changes of the node weights
  bool printed = true;  // false: the minimum in place of printed_shared_weights()
  std::uint64_t seed = 0;

  /// No front end shows these options.
  static auto fields() {
    using O = SharedNormSgdOptions;
    return std::tuple{
        field("task_loss", &O::task_loss, {TaskLoss::zero_one, TaskLoss::hamming}, {}),
        field("C", &O::C, positive, {}),
        field("epochs", &O::epochs, at_least(1), {}),
        field("max_rounds", &O::max_rounds, at_least(1), {}),
        field("seed", &O::seed, non_negative, {}),
    };
  }
};

/// The paper's experiments: algorithm 1 of NHSVM (printed_shared_weights()) after a fixed number of
/// epochs of stochastic subgradients on the path SVM of the present node weights, in turn. Each
/// choice of node weights, of which the first are all equal, begins at U = 0. There is no gap: the
/// stop is epochs_done, or why `control` ended the run; weights then are those of the last complete
/// round, if there is one. Arguments are as of train_path_svm(). Throws InvalidInput if the graph
/// is no tree. Memory: that of train_path_svm() by sgd and the weights of the round before.
SharedNormSvmResult train_shared_norm_svm_by_sgd(const CsrView& X,
                                                 std::span<const NodeId> leaf_of_row,
                                                 const LabelGraph& tree,
                                                 const SharedNormSgdOptions& options,
                                                 Executor& executor, RunControl& control,
                                                 std::span<const double> row_weights = {});

}  // namespace margrove
