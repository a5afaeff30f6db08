#pragma once
// Recursive regularisation (HR): one classifier per leaf, regularised towards those of its
// neighbours in the label graph.

#include <cstdint>
#include <span>
#include <vector>

#include "base/memory_estimate.hpp"
#include "data/weight_matrix.hpp"
#include "hierarchy/partial_labels.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/options.hpp"
#include "margrove/point_loss_kind.hpp"

namespace margrove {

/// Path-additive view on a tree or DAG: w_l = sum over A(l) of v_m, regulariser
/// sum_m |v_m|^2 / (2 alpha_m). With alpha = 1 on a tree this is sum_n |w_n - w_parent(n)|^2 / 2.
struct AdditiveProblem {
  CsrView X;                          // with its intercept column
  const LabelSets* labels = nullptr;  // node numbers, one set per row
  const LabelGraph* graph = nullptr;
  std::span<const double> alpha;        // one per node, >= 0
  std::span<const NodeId> targets;      // nodes with a classifier: their loss counts
  std::span<const double> row_weights;  // C_i = C * row_weights[i]; empty: all 1
  /// Rows without a sign for some targets: their losses there do not count.
  const PartialLabels* partial = &kNoPartialLabels;
  /// The weights of the last column, which must be the same in all rows, are not regularised. Only
  /// their path sums matter: the targets have one each, and the nodes above have none. The joint
  /// solvers only.
  bool free_intercept = false;
};

struct JointDualOptions {
  PointLossKind loss = PointLossKind::hinge;
  double C = 1.0;
  double tolerance = 1e-3;  // relative duality gap of the whole problem at which training ends
  int max_passes = 1000;    // sweeps over the active rows of all labels
  std::uint64_t seed = 0;   // of the order of the coordinates
  /// No front end shows these options.
  static auto fields() {
    using O = JointDualOptions;
    return std::tuple{
        field("loss", &O::loss, {PointLossKind::hinge, PointLossKind::squared_hinge}, {}),
        field("C", &O::C, positive, {}),
        field("tolerance", &O::tolerance, positive, {}),
        field("max_passes", &O::max_passes, at_least(1), {}),
    };
  }
};

struct RecursiveFit {
  WeightMatrix weights;  // v_m, num_columns x num_nodes: the score of a leaf is its path's sum
  // All NaN if a time limit left no time for a certificate of the weights.
  double primal = 0.0;
  double dual = 0.0;
  int passes = 0;
  Stop stop = Stop::converged;
  double relative_gap() const { return primal <= 0 ? 0.0 : (primal - dual) / primal; }
};

/// One-vs-rest hinge or squared hinge of all targets at once by joint dual coordinate descent, with
/// a certified gap over all rows and targets. Same bits for any executor size. Memory:
/// num_inner_nodes x used columns floats, plus the active dual variables.
///
/// Throws InvalidInput where sizes do not agree, a label is not a target, or a target's path has
/// no weight; InvalidOption as validate().
RecursiveFit train_joint_dual(const AdditiveProblem& problem, const JointDualOptions& options,
                              Executor& executor, RunControl& control);

struct JointNewtonOptions {
  bool softmax = false;  // the softmax loss of all targets; rows have one label each
  double C = 1.0;
  double tolerance = 1e-3;  // relative duality gap of the whole problem at which training ends
  int max_passes = 1000;    // over the rows for all labels
  /// No front end shows these options.
  static auto fields() {
    using O = JointNewtonOptions;
    return std::tuple{
        field("C", &O::C, positive, {}),
        field("tolerance", &O::tolerance, positive, {}),
        field("max_passes", &O::max_passes, at_least(1), {}),
    };
  }
};

/// The Laplacian regulariser of an undirected graph of nodes (HR section 2.1):
/// sum_edges weight/2 |w_a - w_b|^2 + sum_n anchor_n/2 |w_n|^2.
struct SimilarityGraph {
  struct Edge {
    NodeId a;
    NodeId b;
    double weight = 1.0;
  };
  std::uint32_t num_nodes = 0;
  std::vector<Edge> edges;
  std::vector<double> anchors;  // one per node, >= 0; a node without edges and anchor gets 1

  /// The edges to parents become edges, and the roots are anchored to zero: on a tree this is the
  /// additive problem with alpha = 1.
  static SimilarityGraph of_hierarchy(const LabelGraph& graph);
};

struct SimilarityProblem {
  CsrView X;                          // with its intercept column
  const LabelSets* labels = nullptr;  // node numbers, one set per row
  const SimilarityGraph* graph = nullptr;
  std::span<const NodeId> targets;      // nodes with a classifier; the others have no loss
  std::span<const double> row_weights;  // C_i = C * row_weights[i]; empty: all 1
  const PartialLabels* partial = &kNoPartialLabels;  // as in AdditiveProblem
};

/// Logistic regression of all targets at once by Newton's method, one-vs-rest or with the softmax
/// of their scores, with a certified gap over all rows and targets. Returns v_m of an additive
/// problem, w_n of a similarity problem. Same bits for any executor size. Memory: 14 bytes for each
/// target and used column, 1 for each target and row, with softmax 2, and the result, dense.
///
/// It also counts as converged when rounding ends the descent above the tolerance, which the gap
/// shows. Throws as train_joint_dual(), and InvalidInput unless suits_joint_newton().
RecursiveFit train_joint_newton(const AdditiveProblem& problem, const JointNewtonOptions& options,
                                Executor& executor, RunControl& control);
RecursiveFit train_joint_newton(const SimilarityProblem& problem, const JointNewtonOptions& options,
                                Executor& executor, RunControl& control);

/// Whether the label graph can be eliminated node by node at little cost, as trees always can, and
/// DAGs and label graphs unless they have many cycles. Also false where a part of a label graph has
/// no anchor, or where a target without weight has several parents. O(that elimination).
bool suits_joint_newton(const AdditiveProblem& problem);
bool suits_joint_newton(const SimilarityProblem& problem);

struct AlternatingOptions {
  PointLossKind loss = PointLossKind::logistic;
  double C = 1.0;
  double tolerance = 1e-4;  // relative change of the objective over one pass at which training ends
  int max_passes = 200;     // over all nodes
  std::uint64_t seed = 0;   // of the order of the coordinates
  /// No front end shows these options.
  static auto fields() {
    using O = AlternatingOptions;
    return std::tuple{
        field("C", &O::C, positive, {}),
        field("tolerance", &O::tolerance, positive, {}),
        field("max_passes", &O::max_passes, at_least(1), {}),
    };
  }
};

struct AlternatingFit {
  WeightMatrix weights;
  double primal = 0.0;             // NaN if a time limit left no time to compute it
  std::vector<double> objectives;  // after each pass; never increasing
  int passes = 0;
  Stop stop = Stop::converged;
};

/// Alternates between the classifiers, each solved with its neighbours fixed, and the nodes without
/// loss, set in closed form (HR, algorithms 1 and 2). Returns v_m, as train_joint_dual(); the
/// targets must be leaves with a weight of their own. Same bits for any executor size. Memory: two
/// floats per node and used column. Throws as train_joint_dual().
AlternatingFit train_alternating(const AdditiveProblem& problem, const AlternatingOptions& options,
                                 Executor& executor, RunControl& control);

/// The same on an undirected graph; targets that are neighbours are solved one after the other
/// (greedy colouring), all others at once. Returns w_n: a score needs no path sum.
AlternatingFit train_alternating(const SimilarityProblem& problem,
                                 const AlternatingOptions& options, Executor& executor,
                                 RunControl& control);

// The memory of each solver beside X, the weights returned included.
MemoryEstimate joint_dual_memory(const AdditiveProblem& problem, const JointDualOptions& options,
                                 int num_threads);
MemoryEstimate joint_newton_memory(const CsrView& X, std::size_t num_targets, std::size_t num_nodes,
                                   bool softmax, int num_threads);
MemoryEstimate alternating_memory(const CsrView& X, std::size_t num_targets, std::size_t num_nodes,
                                  PointLossKind loss, int num_threads);

}  // namespace margrove
