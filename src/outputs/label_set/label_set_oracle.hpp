#pragma once
// Multi-label classification below a label graph as a structured model: a labelling is the union y
// of A(l) over a non-empty set of leaves, with
//   f(x, y) = sum over n in y of sqrt(alpha_n) W_n · x,
// The task loss counts the leaves, or the nodes, on which y and y_i differ, so that it decomposes
// over nodes. The oracle is exact on trees, in O(nodes), and on DAGs (label_set_inference.hpp). The
// k best labellings are available on trees and on small DAGs, the best one of every loss on trees
// only.

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hierarchy/graph_operations.hpp"
#include "label_sets/label_set_inference.hpp"
#include "label_sets/loss_front.hpp"
#include "label_sets/ranked_label_sets.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"
#include "margrove/structured.hpp"
#include "margrove/task_loss.hpp"
#include "outputs/node_scorer.hpp"
#include "structured/criteria.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// A label set, or a point of the linear relaxation of all label sets.
struct NodeShares {
  std::vector<NodeId> nodes;   // with a share > 0, ascending
  std::vector<double> shares;  // in (0, 1]; empty: all 1
  double share(std::size_t k) const { return shares.empty() ? 1.0 : shares[k]; }
  auto operator<=>(const NodeShares&) const = default;
};
// As words of a checkpoint (structured/saved_sets.hpp).
void append_words(const NodeShares& y, std::vector<std::uint32_t>& words);
bool read_words(std::span<const std::uint32_t> words, NodeShares& y);

using detail::LabelSetLoss;

/// The maximisation over label sets. The criteria are sums over the nodes that the loss counts, by
/// their weights for the normalized loss, of which the surrogate makes the root.
struct LabelSetTask {
  Inference inference = Inference::exact;
  LabelSetLoss loss = LabelSetLoss::leaves;
  Criteria criteria = Criteria::hamming;
  bool operator==(const LabelSetTask&) const = default;
};

/// The searches that only trees allow.
struct TreeRankings {
  explicit TreeRankings(const LabelGraph& tree) : ranked(tree), front(tree) {}
  RankedLabelSets ranked;
  LossFront front;
};

class LabelSetModel {
 public:
  using Labelling = NodeShares;

  struct Workspace {
    std::vector<float> node_scores;          // one per column
    std::vector<double> scores, rewards, z;  // one per node
    std::vector<std::uint32_t> count;        // one per node: chosen leaves below it
    LabelSetInference::Workspace inference;
    RankedLabelSets::Workspace ranking;
    LossFront::Workspace front;
    std::vector<double> front_margins;
    NodeScorer::Scratch scratch;
  };

  /// Exact for the label sets or for their relaxation, as task.inference says.
  class Oracle {
   public:
    using Labelling = NodeShares;
    /// The largest tree for which the best label sets of all losses, O(nodes^2), are affordable.
    static constexpr std::uint32_t kMaxFrontNodes = 2000;
    /// The largest DAG, in leaves, whose label sets are ranked, with as many inferences for each.
    static constexpr std::size_t kMaxRankedLeaves = 64;

    Candidate<Labelling> argmax(double w_m, double w_g) const;
    BoundedCandidate<Labelling> approximate_argmax(double w_m, double w_g,
                                                   const SearchGoal& goal) const;
    void steps(double w_m, double w_g, const Labelling& y, double weight,
               std::vector<Labelling>& steps) const;
    /// True on trees and on DAGs of up to kMaxRankedLeaves, but not for relaxations of these.
    bool has_k_best() const {
      return model_->rankings_ || (model_->task_.inference == Inference::exact &&
                                   model_->leaves_.size() <= kMaxRankedLeaves);
    }
    std::vector<Candidate<Labelling>> k_best(double w_m, double w_g, int k) const;
    std::optional<Candidate<Labelling>> argmax_without(double w_m, double w_g,
                                                       std::span<const Labelling> banned) const;
    /// True on trees where the loss is a whole number.
    bool has_loss_front() const {
      return model_->rankings_ && model_->criteria() == Criteria::hamming &&
             !model_->has_weighted_loss();
    }
    bool has_cheap_front() const {
      return has_loss_front() && model_->counts_.size() <= kMaxFrontNodes;
    }
    std::span<const double> loss_front(std::uint32_t most) const;
    Candidate<Labelling> at_loss(std::uint32_t g) const;
    Candidate<Labelling> truth() const;
    Candidate<Labelling> evaluate(const Labelling& y) const;

   private:
    friend class LabelSetModel;
    double load_rewards(double w_m, double w_g) const;
    template <class Visit>
    void visit_best_first(double w_m, double w_g, const Visit& visit) const;
    std::pair<double, double> with_ties_broken(double w_m, double w_g) const;
    const LabelSetModel* model_ = nullptr;
    std::size_t example_ = 0;
    Workspace* workspace_ = nullptr;
    double truth_score_ = 0.0;
  };

  /// leaves_of_row[i]: the leaves of row i, one or more. alpha: one number >= 0 per node.
  /// storage: see NodeScorer. Keeps a copy of X and refers to nothing. Throws InvalidInput, naming
  /// the row, if a row has no label or one that is not a leaf, and on sizes or weights that do not
  /// fit.
  LabelSetModel(const CsrView& X, const LabelSets& leaves_of_row, const LabelGraph& graph,
                std::span<const double> alpha, NodeStorage storage = NodeStorage::dense,
                LabelSetTask task = {});

  std::size_t num_examples() const { return scorer_.num_rows(); }
  std::size_t num_weights() const { return scorer_.num_weights(); }
  const Labelling& truth(std::size_t i) const { return truth_[i]; }
  /// O(nonzeros x columns); argmax() then does the inference.
  Oracle oracle(std::size_t i, ScaledWeights w, Workspace& workspace) const;
  /// Not with storage in blocks.
  void difference(std::size_t i, const Labelling& y, SparseVector& difference) const;

  // See ImplicitDifferences and AppendedProducts.
  void margins(std::size_t i, std::span<const Labelling> labellings, ScaledWeights w,
               Workspace& workspace, std::span<double> margins) const;
  void difference_products(std::size_t i, std::span<const Labelling> labellings,
                           std::span<double> products) const;
  void append_products(std::size_t i, std::span<const Labelling> labellings, std::size_t known,
                       Workspace& workspace, std::vector<double>& products) const;
  void add_differences(std::size_t i, std::span<const Labelling> labellings,
                       std::span<const double> coefficients, Workspace& workspace,
                       std::vector<float>& w) const;
  // See GrowingModel.
  WeightBlocks& places() const { return scorer_.blocks(); }

  const NodeScorer& scorer() const { return scorer_; }
  Criteria criteria() const { return task_.criteria; }
  /// Steps pay off if the loss counts only leaves, because many label sets are nearly tied then.
  bool takes_steps() const { return task_.loss == LabelSetLoss::leaves; }

 private:
  bool has_weighted_loss() const { return task_.loss == LabelSetLoss::normalized; }
  double num_wrong(const Labelling& y, const Labelling& z) const;
  double num_counted(const Labelling& y) const;
  double alpha_distance(const Labelling& y, const Labelling& z) const;

  NodeScorer scorer_;
  LabelSetInference inference_;
  std::optional<TreeRankings> rankings_;  // on trees only
  LabelSetTask task_;
  std::vector<double> alpha_;
  std::vector<double> counts_;        // of nodes in the task loss: 0, 1 or alpha
  std::vector<char> counts_as_bits_;  // the same, where 0 or 1
  std::vector<NodeId> leaves_;
  NodeLists above_;
  std::vector<Labelling> truth_;
};

}  // namespace margrove
