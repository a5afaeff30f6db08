#pragma once
// Label sets of a hierarchy: f(x, y) = sum over the nodes n of y of <w_n, x>, y the union of the
// ancestors of some leaves, task loss the number of nodes in which two sets differ. Exact on trees
// (O(nodes)) and on DAGs (label_sets/label_set_inference.hpp); the k best and the
// best of every loss on trees only.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "label_sets/label_set_inference.hpp"
#include "label_sets/loss_front.hpp"
#include "label_sets/ranked_label_sets.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/label_graph.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// Ascending, closed upward.
using NodeSet = std::vector<NodeId>;

struct NodeSetWorkspace {
  std::vector<double> scores;  // one per node
  std::vector<double> weighted;
  LabelSetInference::Workspace inference;
  RankedLabelSets::Workspace ranking;
  LossFront::Workspace front;
  std::vector<double> front_margins;
};

/// What of a label tree stands beside LabelSetInference.
struct TreeRankings {
  explicit TreeRankings(const LabelGraph& tree) : ranked(tree), front(tree) {}
  RankedLabelSets ranked;
  LossFront front;
};

class NodeSetOracle {
 public:
  using Labelling = NodeSet;

  /// Up to so many nodes the best label sets of all losses are affordable: O(nodes^2).
  static constexpr std::uint32_t kMaxFrontNodes = 2000;

  /// Refers to its arguments. rankings: of the tree; null on a DAG.
  NodeSetOracle(NodeSetWorkspace& workspace, const LabelSetInference& inference,
                const TreeRankings* rankings, const NodeSet& truth);

  Candidate<NodeSet> argmax(double w_m, double w_g) const;
  /// On trees.
  bool has_k_best() const { return rankings_ != nullptr; }
  std::vector<Candidate<NodeSet>> k_best(double w_m, double w_g, int k) const;
  std::optional<Candidate<NodeSet>> argmax_without(double w_m, double w_g,
                                                   std::span<const NodeSet> banned) const;
  /// On trees of up to kMaxFrontNodes nodes.
  bool has_loss_front() const {
    return rankings_ != nullptr && rankings_->front.num_nodes() <= kMaxFrontNodes;
  }
  std::span<const double> loss_front() const;
  Candidate<NodeSet> at_loss(std::uint32_t g) const;
  Candidate<NodeSet> truth() const { return {truth_, 0.0, 0.0}; }
  Candidate<NodeSet> evaluate(const NodeSet& y) const;

 private:
  double score(const NodeSet& y) const;
  void weigh(double w_m, double w_g) const;

  NodeSetWorkspace& workspace_;
  const LabelSetInference& inference_;
  const TreeRankings* rankings_;
  const NodeSet& truth_;
  double truth_score_;
};

/// Weights: feature f's nodes side by side from f M on, M the number of nodes.
class NodeSetModel {
 public:
  using Labelling = NodeSet;
  using Workspace = NodeSetWorkspace;

  /// Refers to X and graph. Row i carries the leaves labels[i] (not empty); throws InvalidInput
  /// naming the row otherwise.
  NodeSetModel(const CsrView& X, std::span<const std::vector<NodeId>> leaves,
               const LabelGraph& graph);

  std::size_t num_examples() const { return truth_.size(); }
  std::size_t num_weights() const { return X_.num_columns() * std::size_t{num_nodes_}; }
  NodeSetOracle oracle(std::size_t i, ScaledWeights w, NodeSetWorkspace& workspace) const;
  void difference(std::size_t i, const NodeSet& y, SparseVector& difference) const;
  const NodeSet& truth(std::size_t i) const { return truth_[i]; }

  // As ImplicitDifferences says.
  void margins(std::size_t i, std::span<const NodeSet> labellings, ScaledWeights w,
               NodeSetWorkspace& workspace, std::span<double> margins) const;
  void difference_products(std::size_t i, std::span<const NodeSet> labellings,
                           std::span<double> products) const;
  void add_differences(std::size_t i, std::span<const NodeSet> labellings,
                       std::span<const double> coefficients, NodeSetWorkspace& workspace,
                       std::span<float> w) const;

  const LabelSetInference& inference() const { return inference_; }

 private:
  CsrView X_;
  std::uint32_t num_nodes_;
  LabelSetInference inference_;
  std::optional<TreeRankings> rankings_;  // of a tree
  std::vector<NodeSet> truth_;
  std::vector<double> squared_norms_;  // of the rows
};

/// The scores of all nodes into the workspace; columns beyond num_features are skipped.
void score_node_set(const SparseRow& x, std::size_t num_features, std::uint32_t num_nodes,
                    ScaledWeights w, NodeSetWorkspace& workspace);

}  // namespace margrove
