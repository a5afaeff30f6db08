#pragma once
// Single-label classification below a label graph as a structured model: the labelling is a leaf l
// with the label set y = A(l), and
//   f(x, l) = sum over n in A(l) of sqrt(alpha_n) W_n · x   (NHSVM, eq. 10; HSVM with alpha = 1).

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "data/weight_matrix.hpp"
#include "hierarchy/partial_labels.hpp"
#include "hierarchy/weight_paths.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/task_loss.hpp"
#include "outputs/node_scorer.hpp"
#include "outputs/path/path_loss.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// One pass gives all node scores of an example (NodeScorer). The scores of the leaves are their
/// sums along the paths.
class PathModel {
 public:
  using Labelling = NodeId;  // a leaf

  struct Workspace {
    std::vector<float> node_scores;   // one per column
    std::vector<double> path_scores;  // one per column, sums from the top
    std::vector<double> margins;      // one per leaf
    std::vector<double> values;       // one per leaf
    std::vector<double> losses;       // one per leaf, if losses_of is the true one
    NodeId losses_of = static_cast<NodeId>(-1);
    NodeScorer::Scratch scratch;
  };

  /// A lambda-oracle that looks at all leaves, so that it can maximise every surrogate.
  class Oracle {
   public:
    using Labelling = NodeId;
    Candidate<NodeId> argmax(double w_m, double w_g) const;
    Candidate<NodeId> truth() const { return {truth_, 0.0, 0.0}; }
    Candidate<NodeId> evaluate(NodeId leaf) const;
    /// The leaf other than the true one with the largest psi(m, g), ties to the lowest, or the true
    /// leaf with value 0 if no value is positive.
    template <class Psi>
    std::pair<Candidate<NodeId>, double> maximise(const Psi& psi) const {
      std::pair<Candidate<NodeId>, double> best{truth(), 0.0};
      for (std::size_t k = 0; k < leaves_.size(); ++k) {
        if (leaves_[k] == truth_) continue;
        const double value = psi.value(margins_[k], losses_[k]);
        if (value > best.second) best = {{leaves_[k], margins_[k], losses_[k]}, value};
      }
      return best;
    }

   private:
    friend class PathModel;
    const PathModel* model_ = nullptr;
    NodeId truth_ = 0;
    std::span<const NodeId> leaves_;
    std::span<const double> margins_, losses_;  // one per leaf
    std::span<double> values_;
  };

  /// leaf_of_row[i]: the leaf of row i, if its leaf is not known, the one of its choices that
  /// counts as its leaf (choose()); the loss is then that to the nearest one of the choices. alpha:
  /// one number >= 0 per node. storage, order: see NodeScorer. Keeps a copy of X and refers to
  /// nothing. Throws InvalidInput if the label of a row, which it names, is not a leaf, and on
  /// sizes or weights that do not fit.
  PathModel(const CsrView& X, std::span<const NodeId> leaf_of_row, const LabelGraph& graph,
            std::span<const double> alpha, const LeafLoss& loss,
            NodeStorage storage = NodeStorage::dense, std::span<const NodeId> order = {},
            LeafChoices choices = {});

  std::size_t num_examples() const { return scorer_.num_rows(); }
  std::size_t num_weights() const { return scorer_.num_weights(); }
  NodeId truth(std::size_t i) const { return leaf_of_row_[i]; }
  /// O(nonzeros x columns).
  Oracle oracle(std::size_t i, ScaledWeights w, Workspace& workspace) const;
  /// Not with storage in blocks.
  void difference(std::size_t i, NodeId leaf, SparseVector& difference) const;

  // See ImplicitDifferences.
  /// margins[k] = <w, difference(i, leaves[k])>. O(nonzeros x nodes on the paths).
  void margins(std::size_t i, std::span<const NodeId> leaves, ScaledWeights w, Workspace& workspace,
               std::span<double> margins) const;
  /// products[j * size + k] = <difference(i, leaves[j]), difference(i, leaves[k])>.
  void difference_products(std::size_t i, std::span<const NodeId> leaves,
                           std::span<double> products) const;
  /// w += sum_k coefficients[k] difference(i, leaves[k]).
  void add_differences(std::size_t i, std::span<const NodeId> leaves,
                       std::span<const double> coefficients, Workspace& workspace,
                       std::vector<float>& w) const;
  // See GrowingModel.
  WeightBlocks& places() const { return scorer_.blocks(); }

  const LeafChoices& choices() const { return choices_; }
  /// The choice of row i with the highest score, ties to the lowest. The row must have choices.
  NodeId best_choice(std::size_t i, ScaledWeights w, Workspace& workspace) const;
  /// Lets `leaf`, one of its choices, count as the leaf of row i. Not while a solver runs.
  void choose(std::size_t i, NodeId leaf) { leaf_of_row_[i] = leaf; }

  const NodeScorer& scorer() const { return scorer_; }
  const PathLoss& loss() const { return loss_; }
  /// Bytes that the model takes during training: weights, a copy of X, tables.
  std::size_t num_bytes() const;

 private:
  void place_paths(const LabelGraph& graph);
  void path_sums(Workspace& workspace) const;
  /// The task losses of all leaves in row i.
  std::span<const double> losses_of(std::size_t i, Workspace& workspace) const;
  std::span<const double> losses_of_set(std::uint32_t set) const;
  std::span<const std::uint32_t> path(NodeId leaf) const {
    const std::uint32_t k = rank_[leaf];
    return std::span(path_columns_)
        .subspan(path_pointers_[k], path_pointers_[k + 1] - path_pointers_[k]);
  }

  NodeScorer scorer_;
  std::vector<NodeId> leaf_of_row_;
  std::vector<NodeId> leaves_;
  std::vector<std::uint32_t> rank_;  // leaf -> its position in leaves_
  bool is_tree_ = true;
  std::vector<std::uint32_t> parent_column_;  // trees: nearest column above, num_columns for none
  std::vector<std::uint32_t> leaf_column_;    // trees: the lowest column on the leaf's path
  std::vector<std::size_t> path_pointers_;    // rank -> where its columns start in path_columns_
  std::vector<std::uint32_t> path_columns_;
  PathLoss loss_;
  PathDistance alpha_distance_;
  // leaves x leaves, a row for each true leaf; empty if that is large. On DAGs the rows take long,
  // so that each is made when it is needed first, by whichever thread.
  mutable std::vector<double> loss_table_;
  std::unique_ptr<std::once_flag[]> loss_row_made_;
  LeafChoices choices_;
  // The same for the sets of choices, sets x leaves.
  mutable std::vector<double> set_losses_;
  std::unique_ptr<std::once_flag[]> set_row_made_;
};

}  // namespace margrove
