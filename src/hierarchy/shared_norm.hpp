#pragma once
// Learning the node weights: the weight step of the shared norm, and the bound that certifies the
// joint problem (docs/notation.md, "Shared norm"; NHSVM sections 6 and 7).

#include <cstdint>
#include <span>
#include <vector>

#include "hierarchy/path_operator.hpp"
#include "margrove/control.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/options.hpp"

namespace margrove {

struct SharedNormOptions {
  double gap_tolerance = 1e-6;  // relative, of the weight step on graphs
  int max_iterations = 100000;

  /// No front end shows these options.
  static auto fields() {
    using O = SharedNormOptions;
    return std::tuple{
        field("gap_tolerance", &O::gap_tolerance, positive, {}),
        field("max_iterations", &O::max_iterations, at_least(1), {}),
    };
  }
};

struct SharedWeights {
  std::vector<double> alpha;  // one per node, >= 0, path sums at most 1
  double value = 0;           // sum N_n / alpha_n over nodes with N_n > 0
  double relative_gap = 0;    // 1 - lower bound / value; rounding only, and 0, on trees
  std::int64_t iterations = 0;
  Stop stop = Stop::converged;
};

struct WeightBound {
  double value = 0;           // max sum alpha_n G_n
  std::vector<double> alpha;  // a maximiser: nodes whose zero weight should become positive again
};

/// The two problems in alpha over {alpha >= 0, sum over A(l) of alpha <= 1 for every leaf l}.
/// Immutable, shared by threads. The graph must outlive it.
class SharedNormStep {
 public:
  /// O(nodes) on trees, O(sum over nodes with several parents of |A(n)|) on DAGs.
  explicit SharedNormStep(const LabelGraph& graph) : paths_(graph) {}

  /// min sum_n N_n / alpha_n, with N_n = ||U_n||^2 >= 0; nodes with N_n = 0 get 0 (leaves of trees
  /// get the rest of their path's budget). O(nodes) on trees; on DAGs a fixed point over
  /// distributions on leaves, with a certified gap. Throws InvalidInput if an entry is negative or
  /// not finite.
  SharedWeights weights(std::span<const double> squared_norms,
                        const SharedNormOptions& options = {}, RunControl* control = nullptr) const;

  /// max sum_n alpha_n G_n, with G_n = ||g_n||^2 >= 0 from dual variables, which is a term of the
  /// joint dual. O(nodes) on trees; a linear programme (CLP) on DAGs.
  /// Throws OutOfTime where `control` leaves that programme no time.
  WeightBound largest_weighted_sum(std::span<const double> squared_norms,
                                   RunControl* control = nullptr) const;

 private:
  SharedWeights weights_on_dag(std::span<const double> squared_norms,
                               const SharedNormOptions& options, RunControl& control) const;
  WeightBound bound_on_tree(std::span<const double> squared_norms) const;
  WeightBound bound_on_dag(std::span<const double> squared_norms, RunControl* control) const;
  const LabelGraph& graph() const { return paths_.graph(); }

  detail::PathOperator paths_;
};

/// The node weights of algorithm 1 of NHSVM with the misprint of its line 9: the share of its
/// budget that an inner node keeps is computed from (sqrt N + sqrt S)^2 in place of N, so that it
/// is at least one half, or 0 if both are 0. Its other misprints are mended: leaves take the rest
/// of their path's budget, the root has a weight, and there is no square root. Not the minimum of
/// weights(). O(nodes). Throws InvalidInput if an entry is negative or not finite, or the graph is
/// no tree.
std::vector<double> printed_shared_weights(const LabelGraph& tree,
                                           std::span<const double> squared_norms);

}  // namespace margrove
