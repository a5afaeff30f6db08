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
  const NodeLists& above;          // A(l) of the leaves: ancestor_sets(graph, leaves)
  /// The vectors of the leaves' names, a column for each leaf. Null: none; then all nodes above the
  /// leaves have classifiers.
  const WeightMatrix* names = nullptr;
  /// The further methods of a stack: the node that each column of their weights belongs to.
  std::span<const std::vector<NodeId>> stacked = {};
};

/// What held-out rows say: v and c, and with names
///   f(x, l) = sum over n of A(l) of (v_d(n) s_n(x) or -u_d(n)) + c_d(n), and + w m(x, l),
/// with -u for nodes without rows, and the inner product m of a row and the names of a leaf. Each
/// further method of a stack adds t times the sum of its scores over A(l).
struct LevelFit {
  LevelWeights levels;
  std::vector<double> absent;  // u >= 0 of each level; empty without names
  double name = 0;             // w >= 0

  bool operator==(const LevelFit&) const = default;
};

/// The scores of held-out rows at all nodes, on which v, c, u, w and t are fitted: they minimise
/// the mean over the rows of
///   log sum_l exp f(x, l) - f(x, y)             where every row has one leaf,
///   sum_l log(1 + exp(-y_l f(x, l)))            otherwise, with y_l = +1 for the row's leaves,
/// which is convex. With a stack, they then minimise it for a given share of that t: the largest
/// one with which the highest leaf of a row is not more often wrong, beyond two standard errors,
/// than with any other. Holds at most kMostTerms scores, of rows that lie evenly among all.
class HeldOutLevels {
 public:
  static constexpr std::size_t kMostTerms = std::size_t{1} << 26U;  // of all f(x, l) together

  /// `sets` has leaves of the graph; row_weights may be empty.
  HeldOutLevels(const LevelNodes& nodes, const LabelSets& sets,
                std::span<const double> row_weights);
  /// Bytes of the scores once all rows are held out.
  double num_bytes() const;

  /// Adds rows of X that the classifiers, one for each of the nodes, were not trained on. has_rows:
  /// of the nodes, whether any was trained on a row of it, and empty where all were. Rows without a
  /// leaf that the classifiers know count only where leaves have names. stacked: the weights of the
  /// further methods, of the same training.
  void add(const CsrView& X, std::span<const std::uint32_t> held_out,
           const WeightMatrix& classifiers, const std::vector<bool>& has_rows, Executor& executor,
           std::span<const WeightMatrix> stacked = {});
  /// Same bits for every size of the executor. Without rows, or where neither the scores of a level
  /// nor names or further methods agree with the labels, all levels weigh the same, and the others
  /// nothing. Offsets are 0 unless `with_offsets`. Where `control` asks to end, the best weights so
  /// far.
  LevelFit fit(bool with_offsets, Executor& executor, RunControl& control) const;

 private:
  struct Sums;
  struct RowScores;
  /// v, then u and w if there are names, then t, then c if there are offsets.
  using Theta = std::vector<double>;
  struct Row {
    std::uint32_t row;  // of sets_
    std::uint32_t fold;
  };
  std::size_t num_scores() const;  // of all rows that are taken
  bool has_known_leaf(std::uint32_t row, const std::vector<bool>& has_rows) const;
  void add_stacked(const SparseRow& x, std::span<const WeightMatrix> stacked,
                   std::span<float> scores) const;
  void score(std::size_t k, const Theta& theta, RowScores& row) const;
  void add_gradient(std::size_t k, RowScores& row, double weight, Sums& sums) const;
  void add_curvature(std::size_t k, const RowScores& row, double weight, Sums& sums) const;
  Sums sums(const Theta& theta, std::size_t step, Executor& executor) const;
  enum class Stacked : std::uint8_t { free, fixed };  // whether t changes
  Theta minimum(Theta theta, Stacked stacked, Executor& executor, RunControl& control) const;
  std::vector<std::uint8_t> right_answers(const Theta& theta, Executor& executor) const;
  bool is_better(const std::vector<std::uint8_t>& first,
                 const std::vector<std::uint8_t>& second) const;
  bool has_stack(const Theta& theta) const;
  Theta with_less_of_stack(const Theta& all, Executor& executor, RunControl& control) const;

  std::size_t num_nodes_, num_levels_;
  const WeightMatrix* names_;
  std::size_t num_stacked_;
  std::size_t num_factors_;  // of v, u, w and t
  // A row has a score for each place: the nodes with classifiers, the others above the leaves, the
  // names of the leaves, and the leaves by each further method.
  std::size_t num_places_ = 0;
  std::vector<std::uint32_t> level_of_;        // of each place that is a node
  detail::LongRowLists paths_;                 // of each leaf: the places whose scores it sums
  std::vector<detail::LongRowLists> columns_;  // of each further method and leaf: what it sums
  std::vector<std::uint32_t> place_of_leaf_;   // node of the graph -> place among the leaves
  std::vector<std::uint32_t> node_of_leaf_;    // place among the leaves -> place as a node
  const LabelSets& sets_;
  std::span<const double> row_weights_;
  bool has_single_leaves_;
  std::size_t step_;  // every so many rows are taken
  std::vector<Row> rows_;
  std::vector<std::vector<std::uint32_t>> factor_of_;  // of each fold: v, u, w or t of each place
  std::vector<float> scores_;                          // of each of rows_ at all places
};

/// The weights U of path-additive scores over all nodes of the graph: v_{d(n)} times the
/// classifier of a node, and c_{d(n)} / bias added to its intercept, which is the last feature
/// where bias > 0. Nodes without a classifier have no weights. With names, which need an intercept,
/// leaves have w times their names, and nodes above them without rows the score c - u. Further
/// methods add t times their weights. has_rows, stacked: as in HeldOutLevels::add().
WeightMatrix path_weights(const LevelNodes& nodes, const WeightMatrix& classifiers,
                          const std::vector<bool>& has_rows, const LevelFit& fit, double bias,
                          std::span<const WeightMatrix> stacked = {});

}  // namespace margrove
