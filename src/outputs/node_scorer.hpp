#pragma once
// The weights of the nodes of a label hierarchy during training, and the rows that they score.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "data/weight_matrix.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/label_graph.hpp"
#include "outputs/weight_blocks.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// How W is stored.
enum class NodeStorage {
  dense,         // whole
  all_features,  // whole, with a row for every column of X, empty ones included, so that a weight
                 // has the same index whatever rows X has
  blocks,        // the blocks that scatter() has needed so far (WeightBlocks)
};

/// About how many blocks of W training needs: a feature of few rows has weights only at the nodes
/// of the paths that compete for these rows, each of which has about so many paths of its own. At
/// most all blocks.
double expected_blocks(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha,
                       double paths = 1);
/// Blocks where they are expected to take at most half the memory of a W above a gigabyte.
bool suits_blocks(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha);

/// Node n scores row x by sqrt(alpha_n) W_n · x. W is a matrix with one row per feature that occurs
/// in X and one column per node whose weights can differ from 0, that is, with alpha_n > 0 and some
/// leaf that is not below n. One pass over the rows of an example's features scores all nodes.
/// Keeps a copy of X.
///
/// The weights are an array of num_weights() numbers. With storage in blocks this grows:
/// scatter() adds blocks, and may run on one thread only, while no other uses the scorer. Otherwise
/// the scorer is immutable.
class NodeScorer {
 public:
  static constexpr std::uint32_t kNoColumn = std::numeric_limits<std::uint32_t>::max();

  /// Sums of columns and the set of columns in use; one per thread.
  struct Scratch {
    std::vector<double> sums;  // 0 except at `columns`
    std::vector<std::uint32_t> columns;
    std::vector<char> is_used;           // whether a column is one of `columns`
    std::vector<double> scores;          // of all columns
    std::vector<float> coefficients;     // of all columns; 0 between calls
    std::vector<std::uint32_t> numbers;  // of blocks

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

  /// order: all nodes in the order of the columns, parents first; empty: the topological order of
  /// the graph, for blocks its depth_first_order(). Throws InvalidInput if there is not one finite
  /// alpha >= 0 per node.
  NodeScorer(const CsrView& X, const LabelGraph& graph, std::span<const double> alpha,
             NodeStorage storage = NodeStorage::dense, std::span<const NodeId> order = {});

  std::size_t num_rows() const { return X_.num_rows(); }
  std::size_t num_weights() const {
    return has_blocks_ ? std::size_t{blocks_.size()} * WeightBlocks::kWidth
                       : features_.size() * stride_;
  }
  std::uint32_t num_columns() const { return num_columns_; }
  /// Rows of W.
  std::size_t num_features() const { return features_.size(); }
  /// kNoColumn for a node without weights. Columns of parents come before those of their children.
  std::uint32_t column(NodeId n) const { return column_of_node_[n]; }
  NodeId node(std::uint32_t column) const { return node_of_column_[column]; }
  double squared_norm(std::size_t i) const { return squared_norms_[i]; }
  SparseRow row(std::size_t i) const { return X_.row(i); }
  float sqrt_alpha(std::uint32_t column) const { return sqrt_alpha_[column]; }
  /// Not with storage in blocks.
  std::uint64_t index(FeatureId row, std::uint32_t column) const { return row * stride_ + column; }

  /// scores[c] = sqrt(alpha_c) W_c · x_i for every column c. `scores` is resized to a padded
  /// length. O(nonzeros x columns).
  void scores(std::size_t i, ScaledWeights w, std::vector<float>& scores) const;
  /// The same for the columns [begin, end) only. O(nonzeros x (end - begin)). Not with storage in
  /// blocks.
  void scores(std::size_t i, ScaledWeights w, std::uint32_t begin, std::uint32_t end,
              std::span<float> scores) const;
  /// The same for scratch.columns only, into scratch.sums, which must be 0.
  void gather(std::size_t i, ScaledWeights w, Scratch& scratch) const;
  /// W_c += scratch.sums[c] sqrt(alpha_c) x_i for c in scratch.columns, and clears scratch. Extends
  /// w to num_weights().
  void scatter(std::size_t i, Scratch& scratch, std::vector<float>& w) const;
  /// The number of multiplications that scores() makes for a row of average length.
  double sweep_cost() const;

  /// U_n = sqrt(alpha_n) W_n for every node and `num_features` features; sparse if that is smaller.
  WeightMatrix node_weights(ScaledWeights w, std::uint32_t num_features) const;
  /// ||W_n||^2 of every node.
  std::vector<double> squared_norms(ScaledWeights w) const;
  /// The size of the weights and of the copy of X.
  std::size_t num_bytes() const;

  /// None with other storage. To be changed on one thread only, while no other uses the scorer.
  WeightBlocks& blocks() const { return blocks_; }

 private:
  void gather_blocks(const SparseRow& x, ScaledWeights w, Scratch& scratch) const;
  void scatter_blocks(const SparseRow& x, Scratch& scratch, std::vector<float>& w) const;
  /// Calls visit(group, its columns) for the groups of blocks of ascending columns.
  template <class Visit>
  static void for_each_group(std::span<const std::uint32_t> columns, const Visit& visit);
  template <class Visit>  // visit(column, weight)
  void for_each_weight(std::size_t row, std::span<const float> w, const Visit& visit) const;
  // Whether a pass over all columns costs no more than reading `num_columns` scattered ones.
  bool sweeps(std::size_t num_columns) const { return num_columns * 8 >= stride_; }

  CsrMatrix X_;                      // columns are rows of W
  std::vector<FeatureId> features_;  // row of W -> feature
  std::vector<double> squared_norms_;
  std::uint32_t num_columns_ = 0;
  std::size_t stride_ = 0;  // columns, padded
  bool has_blocks_ = false;
  mutable WeightBlocks blocks_;
  std::size_t expected_weights_ = 0;  // of the blocks
  std::vector<std::uint32_t> column_of_node_;
  std::vector<NodeId> node_of_column_;
  std::vector<float> sqrt_alpha_;  // one per column, padded with 0
};

}  // namespace margrove
