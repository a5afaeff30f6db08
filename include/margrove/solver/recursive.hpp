#pragma once
// Recursive regularisation (HR): one classifier a leaf, pulled towards those of its neighbours in
// the label graph.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "margrove/base/executor.hpp"
#include "margrove/base/options.hpp"
#include "margrove/base/progress.hpp"
#include "margrove/data/csr_matrix.hpp"
#include "margrove/data/dataset.hpp"
#include "margrove/data/weight_matrix.hpp"
#include "margrove/labels/label_graph.hpp"

namespace margrove {

/// Path-additive view on a tree or DAG: w_l = sum over A(l) of v_m, regulariser
/// sum_m |v_m|^2 / (2 alpha_m). With alpha = 1 on a tree this is sum_n |w_n - w_parent(n)|^2 / 2.
struct AdditiveProblem {
  CsrView X;                          // with its intercept column
  const LabelSets* labels = nullptr;  // node numbers, one set a row
  const LabelGraph* graph = nullptr;
  std::span<const double> alpha;        // one a node, >= 0
  std::span<const NodeId> targets;      // nodes with a classifier: their loss counts
  std::span<const double> row_weights;  // C_i = C * row_weights[i]; empty: all 1
};

struct JointDualOptions {
  std::string loss = "hinge";
  double C = 1.0;
  double tolerance = 1e-3;
  int max_passes = 1000;
  std::uint64_t seed = 0;
  static auto fields() {
    return std::tuple{
        field("loss", &JointDualOptions::loss, Choices{{"hinge", "squared-hinge"}},
              "loss of each row's margin"),
        field("C", &JointDualOptions::C, positive, "weight of the loss against the regulariser"),
        field("tolerance", &JointDualOptions::tolerance, positive,
              "relative duality gap of the whole problem at which training ends"),
        field("max_passes", &JointDualOptions::max_passes, at_least(1),
              "sweeps over the active rows of all labels, at most"),
        field("seed", &JointDualOptions::seed, at_least(0), "order of the coordinates"),
    };
  }
};

struct RecursiveFit {
  WeightMatrix weights;  // v_m, num_columns x num_nodes: the score of a leaf is its path's sum
  double primal = 0.0;
  double dual = 0.0;
  int passes = 0;
  Stop stop = Stop::converged;
  double relative_gap() const { return primal > 0 ? (primal - dual) / primal : 0.0; }
};

/// One-vs-rest hinge or squared hinge of all targets at once by joint dual coordinate descent: no
/// alternation between levels, and a certified gap over all rows and targets. Same bits for any
/// executor size. Memory: num_inner_nodes x used columns floats, plus the active dual variables.
///
/// Throws InvalidInput where sizes do not agree, a label is not a target, or a target's path has
/// no weight; InvalidOption as validate().
RecursiveFit train_joint_dual(const AdditiveProblem& problem, const JointDualOptions& options,
                              Executor& executor, RunControl& control);

}  // namespace margrove
