#pragma once
// Hierarchical SVMs for single-label data, trained as structured SVMs over root-to-leaf paths:
// hsvm (alpha = 1, Hamming loss), nhsvm (NHSVM), multi-class Crammer-Singer (alpha = 1 on leaves).
//
//   min  sum_n ||W_n||^2 / 2 + C sum_i c_i max_l [ f(x_i, l) - f(x_i, l_i) + loss(l, l_i) ],
//   f(x, l) = sum over n in A(l) of sqrt(alpha_n) W_n · x,
//
// or with max(0, max_{l != l_i} 1 + (f(x_i, l) - f(x_i, l_i)) / g(l, l_i)), g the normalised task
// loss (NHSVM, eq. 13).

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
#include "margrove/options.hpp"
#include "structured/structured_fit.hpp"

namespace margrove {

struct PathSvmOptions {
  std::string task_loss = "normalized";
  std::string surrogate = "margin";
  double C = 1.0;
  std::string solver = "bcfw";
  double tolerance = 1e-3;
  int max_passes = 1000;
  int epochs = 50;
  std::uint64_t seed = 0;

  static auto fields() {
    return std::tuple{
        field("task_loss", &PathSvmOptions::task_loss,
              Choices{{"normalized", "hamming", "zero-one"}},
              "what a wrong path costs: sqrt of the weight, or the number, of the nodes that are "
              "on one of the two paths only, or 1"),
        field("surrogate", &PathSvmOptions::surrogate, Choices{{"margin", "normalized-difference"}},
              "margin: difference of scores plus task loss; normalized-difference: 1 plus the "
              "difference of scores divided by the normalized task loss, whatever task_loss says"),
        field("C", &PathSvmOptions::C, positive, "loss weight"),
        field(
            "solver", &PathSvmOptions::solver, Choices{{"bcfw", "sgd"}},
            "block-coordinate Frank-Wolfe with a duality gap, or averaged stochastic subgradients "
            "without one"),
        field("tolerance", &PathSvmOptions::tolerance, positive,
              "bcfw: relative duality gap to stop at"),
        field("max_passes", &PathSvmOptions::max_passes, at_least(1),
              "bcfw: passes over the rows, at most"),
        field("epochs", &PathSvmOptions::epochs, at_least(1), "sgd: passes over the rows"),
        field("seed", &PathSvmOptions::seed, non_negative, "order of the examples"),
    };
  }
};

struct PathSvmResult {
  WeightMatrix
      weights;        // U_n = sqrt(alpha_n) W_n, X.num_columns() x nodes: f sums scores on a path
  StructuredFit fit;  // sgd: no dual, and `converged` once all epochs are made
  std::shared_ptr<const FitState> state;  // if it was to be kept
};

/// leaf_of_row[i]: the leaf of row i. One alpha >= 0 per node; nodes above all leaves and nodes
/// with alpha 0 get no weights. row_weights: c_i >= 0, empty for all 1. Leaves without data are
/// possible answers as any other. Throws InvalidInput on sizes, labels that are not leaves, weights
/// < 0. Memory: see path_svm_memory.
///
/// continuation: bcfw starts at the dual variables of an earlier run on the same rows and labels
/// (features, C and row weights may differ), and at zero if these are others. sgd makes its epochs
/// after those of the earlier run, whose rows may have been others with the same features; C then
/// weighs rows as if there were as many as in the first run. Throws InvalidInput if graph, alpha or
/// loss have changed in between.
PathSvmResult train_path_svm(const CsrView& X, std::span<const NodeId> leaf_of_row,
                             const LabelGraph& graph, std::span<const double> alpha,
                             const PathSvmOptions& options, Executor& executor, RunControl& control,
                             std::span<const double> row_weights = {},
                             const Continuation& continuation = {});

/// Whether these options search with bounds that skip subtrees (bounded_path_oracle.hpp), as pays
/// on large trees and short rows.
bool skips_subtrees(const CsrView& X, const LabelGraph& graph, const PathSvmOptions& options);

/// What training will take beside X, the weights returned included: mainly 4 bytes for each feature
/// that occurs in X and each node with alpha > 0, and that twice.
MemoryEstimate path_svm_memory(const CsrView& X, const LabelGraph& graph,
                               std::span<const double> alpha, const PathSvmOptions& options,
                               const Continuation& continuation, int num_threads);
/// Of train_label_set_svm(), which has a set of labels for each row instead.
MemoryEstimate label_set_svm_memory(const CsrView& X, const LabelSets& leaves_of_row,
                                    const LabelGraph& graph, std::span<const double> alpha,
                                    bool is_sgd, const Continuation& continuation, int num_threads);

}  // namespace margrove
