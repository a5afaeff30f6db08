#pragma once
// Multi-label classification below a label graph as a structured model: a labelling is the union y
// of A(l) over a non-empty set of leaves, with
//   f(x, y) = sum over n in y of sqrt(alpha_n) W_n · x,
// and the task loss counts the leaves on which y and y_i differ, so that it decomposes over nodes.

#include <span>
#include <vector>

#include "hierarchy/graph_operations.hpp"
#include "label_sets/label_set_inference.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/dataset.hpp"
#include "margrove/label_graph.hpp"
#include "outputs/node_scorer.hpp"
#include "structured/oracle.hpp"

namespace margrove {

/// A label set, or a point of the relaxation of all label sets.
struct NodeShares {
  std::vector<NodeId> nodes;   // with a share > 0, ascending
  std::vector<double> shares;  // in (0, 1]; empty: all 1
  double share(std::size_t k) const { return shares.empty() ? 1.0 : shares[k]; }
  bool operator==(const NodeShares&) const = default;
};

/// Which maximiser the oracle is: the best label set, or the best point of the linear relaxation
/// (NHSVM, section 5), whose value bounds it.
enum class LabelSetMaximum { exact, relaxed };

class LabelSetModel {
 public:
  using Labelling = NodeShares;

  struct Workspace {
    std::vector<float> node_scores;          // one per column
    std::vector<double> scores, rewards, z;  // one per node
    std::vector<std::uint32_t> count;        // one per node: chosen leaves below it
    LabelSetInference::Workspace inference;
    NodeScorer::Scratch scratch;
  };

  /// Exact for the kind of maximum. Ties at w_m = 0 or w_g = 0 go where LabelSetInference takes
  /// them.
  class Oracle {
   public:
    using Labelling = NodeShares;
    Candidate<Labelling> argmax(double w_m, double w_g) const;
    BoundedCandidate<Labelling> approximate_argmax(double w_m, double w_g,
                                                   const SearchGoal& goal) const;
    void steps(double w_m, double w_g, const Labelling& y, double weight,
               std::vector<Labelling>& steps) const;
    Candidate<Labelling> truth() const;
    Candidate<Labelling> evaluate(const Labelling& y) const;

   private:
    friend class LabelSetModel;
    void load_rewards(double w_m, double w_g) const;
    const LabelSetModel* model_ = nullptr;
    std::size_t example_ = 0;
    Workspace* workspace_ = nullptr;
    double truth_score_ = 0.0;
  };

  /// leaves_of_row[i]: the leaves of row i, one or more; one alpha >= 0 per node. Keeps a copy of
  /// X, refers to nothing. Throws InvalidInput naming the row without a label or whose label is not
  /// a leaf, and on sizes or weights that do not fit.
  LabelSetModel(const CsrView& X, const LabelSets& leaves_of_row, const LabelGraph& graph,
                std::span<const double> alpha, bool all_features = false,
                LabelSetMaximum maximum = LabelSetMaximum::exact);

  std::size_t num_examples() const { return scorer_.num_rows(); }
  std::size_t num_weights() const { return scorer_.num_weights(); }
  const Labelling& truth(std::size_t i) const { return truth_[i]; }
  /// O(nonzeros x columns); the inference comes with argmax.
  Oracle oracle(std::size_t i, ScaledWeights w, Workspace& workspace) const;
  void difference(std::size_t i, const Labelling& y, SparseVector& difference) const;

  // As ImplicitDifferences and AppendedProducts say.
  void margins(std::size_t i, std::span<const Labelling> labellings, ScaledWeights w,
               Workspace& workspace, std::span<double> margins) const;
  void difference_products(std::size_t i, std::span<const Labelling> labellings,
                           std::span<double> products) const;
  void append_products(std::size_t i, std::span<const Labelling> labellings, std::size_t known,
                       Workspace& workspace, std::vector<double>& products) const;
  void add_differences(std::size_t i, std::span<const Labelling> labellings,
                       std::span<const double> coefficients, Workspace& workspace,
                       std::span<float> w) const;

  const NodeScorer& scorer() const { return scorer_; }

 private:
  double task_loss(const Labelling& y, const Labelling& z) const;
  double alpha_distance(const Labelling& y, const Labelling& z) const;

  NodeScorer scorer_;
  LabelSetInference inference_;
  LabelSetMaximum maximum_;
  std::vector<double> alpha_;
  std::vector<double> leaf_;  // 1 at leaves, else 0
  std::vector<NodeId> leaves_;
  AncestorSets above_;
  std::vector<Labelling> truth_;
};

}  // namespace margrove
