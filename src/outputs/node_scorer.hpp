#pragma once
// The weights of the nodes of a label hierarchy during training, and the rows that they score.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "data/weight_matrix.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/label_graph.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// Node n scores row x by sqrt(alpha_n) W_n · x. W is a flat matrix with one row per feature that
/// occurs in X and one column per node whose weights can differ from 0, that is, with alpha_n > 0
/// and some leaf that is not below n. One pass over the rows of an example's features scores all
/// nodes. Keeps a copy of X. Immutable.
class NodeScorer {
 public:
  static constexpr std::uint32_t kNoColumn = std::numeric_limits<std::uint32_t>::max();

  /// Sums of columns and the set of columns in use; one per thread.
  struct Scratch {
    std::vector<double> sums;  // 0 except at `columns`
    std::vector<std::uint32_t> columns;
    std::vector<char> is_used;        // whether a column is one of `columns`
    std::vector<double> scores;       // of all columns
    std::vector<float> coefficients;  // of all columns; 0 between calls

    void add(std::uint32_t column, double amount) {
      if (column >= sums.size()) {
        sums.resize(column + std::size_t{1}, 0.0);
        is_used.resize(column + std::size_t{1}, 0);
      }
      sums[column] += amount;
      if (is_used[column]) return;
      is_used[column] = 1;
      columns.push_back(column);
    }
    void clear() {
      for (const std::uint32_t c : columns) {
        sums[c] = 0.0;
        is_used[c] = 0;
      }
      columns.clear();
    }
  };

  /// all_features: W has a row for every column of X, empty ones included, so that a weight has the
  /// same index whatever rows X has. order: all nodes in the order of the columns, parents first;
  /// empty: the topological order of the graph. Throws InvalidInput if there is not one finite
  /// alpha >= 0 per node.
  NodeScorer(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha,
             bool all_features = false, std::span<const NodeId> order = {});

  std::size_t num_rows() const { return X_.num_rows(); }
  std::size_t num_weights() const { return features_.size() * stride_; }
  std::uint32_t num_columns() const { return num_columns_; }
  /// Rows of W.
  std::size_t num_features() const { return features_.size(); }
  /// kNoColumn for a node without weights. Columns of parents come before those of their children.
  std::uint32_t column(NodeId n) const { return column_of_node_[n]; }
  NodeId node(std::uint32_t column) const { return node_of_column_[column]; }
  double squared_norm(std::size_t i) const { return squared_norms_[i]; }
  SparseRow row(std::size_t i) const { return X_.row(i); }
  float sqrt_alpha(std::uint32_t column) const { return sqrt_alpha_[column]; }
  std::uint64_t index(FeatureId row, std::uint32_t column) const { return row * stride_ + column; }

  /// scores[c] = sqrt(alpha_c) W_c · x_i for every column c. `scores` is resized to a padded
  /// length. O(nonzeros x columns).
  void scores(std::size_t i, ScaledWeights w, std::vector<float>& scores) const;
  /// The same for the columns [begin, end) only. O(nonzeros x (end - begin)).
  void scores(std::size_t i, ScaledWeights w, std::uint32_t begin, std::uint32_t end,
              std::span<float> scores) const;
  /// The same for scratch.columns only, into scratch.sums, which must be 0.
  void gather(std::size_t i, ScaledWeights w, Scratch& scratch) const;
  /// W_c += scratch.sums[c] sqrt(alpha_c) x_i for c in scratch.columns, and clears scratch.
  void scatter(std::size_t i, Scratch& scratch, std::span<float> w) const;
  /// The number of multiplications that scores() makes for a row of average length.
  double sweep_cost() const;

  /// U_n = sqrt(alpha_n) W_n for every node and `num_features` features; sparse if that is smaller.
  WeightMatrix node_weights(ScaledWeights w, std::uint32_t num_features) const;
  /// ||W_n||^2 of every node.
  std::vector<double> squared_norms(ScaledWeights w) const;
  /// The size of the weights and of the copy of X.
  std::size_t num_bytes() const;

 private:
  // Whether a pass over all columns costs no more than reading `num_columns` scattered ones.
  bool sweeps(std::size_t num_columns) const { return num_columns * 8 >= stride_; }

  CsrMatrix X_;                      // columns are rows of W
  std::vector<FeatureId> features_;  // row of W -> feature
  std::vector<double> squared_norms_;
  std::uint32_t num_columns_ = 0;
  std::size_t stride_ = 0;  // columns, padded
  std::vector<std::uint32_t> column_of_node_;
  std::vector<NodeId> node_of_column_;
  std::vector<float> sqrt_alpha_;  // one per column, padded with 0
};

}  // namespace margrove
