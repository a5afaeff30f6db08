#pragma once
// Fits level weights on the scores of held-out rows.

#include <cstdint>
#include <span>
#include <vector>

#include "data/weight_matrix.hpp"
#include "hierarchy/graph_operations.hpp"
#include "margrove/control.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/executor.hpp"
#include "margrove/label_graph.hpp"
#include "model/level_weights.hpp"

namespace margrove {

/// The nodes that have classifiers, and the leaves that are chosen among.
struct LevelNodes {
  const LabelGraph& graph;
  std::span<const NodeId> nodes;   // with classifiers, ascending: all above the leaves
  std::span<const NodeId> leaves;  // ascending
};

/// The scores of held-out rows at all nodes, on which v and c are fitted: they minimise the mean
/// over the rows of
///   log sum_l exp f(x, l) - f(x, y)             where every row has one leaf,
///   sum_l log(1 + exp(-y_l f(x, l)))            otherwise, with y_l = +1 for the row's leaves,
/// which is convex. Holds at most kMostTerms scores, of rows that lie evenly among all.
class HeldOutLevels {
 public:
  static constexpr std::size_t kMostTerms = std::size_t{1} << 26U;  // of all f(x, l) together

  /// `sets` has leaves of the graph; row_weights may be empty.
  HeldOutLevels(const LevelNodes& nodes, const LabelSets& sets,
                std::span<const double> row_weights);
  /// Bytes of all scores for so many rows and nodes.
  static double num_bytes(std::size_t num_rows, std::size_t num_nodes);

  /// Adds rows of X that the classifiers, one for each of the nodes, were not trained on.
  void add(const CsrView& X, std::span<const std::uint32_t> held_out,
           const WeightMatrix& classifiers, Executor& executor);
  /// Same bits for every size of the executor. Without rows, or where the scores of no level agree
  /// with the labels, all levels weigh the same. Offsets are 0 unless `with_offsets`. Where
  /// `control` asks to end, the best weights so far.
  LevelWeights fit(bool with_offsets, Executor& executor, RunControl& control) const;

 private:
  struct Sums;
  struct RowScores;
  using Theta = std::vector<double>;  // v, then c if there are offsets
  void score(std::size_t k, const Theta& theta, RowScores& row) const;
  void add_derivatives(std::size_t k, const RowScores& row, double weight, Sums& sums) const;
  Sums sums(const Theta& theta, bool with_derivatives, Executor& executor) const;
  Theta minimum(Theta theta, Executor& executor, RunControl& control) const;

  std::size_t num_nodes_, num_levels_;
  std::vector<std::uint32_t> level_of_;       // of each node with a classifier
  detail::LongRowLists paths_;                // of each leaf: places of A(l) among the nodes
  std::vector<std::uint32_t> place_of_leaf_;  // node of the graph -> place among the leaves
  const LabelSets& sets_;
  std::span<const double> row_weights_;
  bool has_single_leaves_;
  std::size_t step_;                 // every so many rows are taken
  std::vector<std::uint32_t> rows_;  // of sets_
  std::vector<float> scores_;        // of each of rows_ at all nodes
};

/// The weights U of path-additive scores over all nodes of the graph: v_{d(n)} times the
/// classifier of a node, and c_{d(n)} / bias added to its intercept, which is the last feature
/// where bias > 0. Nodes without a classifier have no weights.
WeightMatrix path_weights(const LevelNodes& nodes, const WeightMatrix& classifiers,
                          const LevelWeights& levels, double bias);

}  // namespace margrove
