#pragma once
// Ensembles of trees of labels that were learned from the rows.

#include <memory>
#include <span>
#include <vector>

#include "model/linear_predictor.hpp"
#include "numerics/log_number.hpp"

namespace margrove {

/// Kind "label-trees". The graph has several trees, in each of which every label has one leaf. Node
/// n has the margin f_n(x) = U_n.x, and given its parent the probability
///   p(n) = 1 / (1 + exp(-kScale f_n(x))),
/// or 1 where it has no siblings. Nodes count only above a leaf whose label is that of a candidate.
/// In a tree a label has the product over its path; p(l) is the mean over the trees, and the score
/// its log odds log p(l) - log(1 - p(l)). These products need not sum to 1: a node can say that a
/// row belongs to none of its children. From each root down, the best paths to `beam` inner nodes
/// are kept at every step (ties: the lower node), and all leaves below them have a score; beam 0
/// keeps all. In a tree where a label is not reached it has 0, and where none reaches it, it has no
/// score. Probabilities are those of all paths, whatever the beam.
class LabelTreesPredictor final : public RowPredictor {
 public:
  /// About the best for the learned trees of three sets of texts, on held-out rows.
  static constexpr double kScale = 3;

  /// `parts` as those of a LinearPredictor, whose candidates are the leaves of one tree. Throws
  /// InvalidInput if the graph is not one of trees, or beam < 0.
  LabelTreesPredictor(LinearPredictor::Parts parts, int beam);

  std::string_view kind() const override { return "label-trees"; }
  bool gives_one_label() const override { return linear_.gives_one_label(); }
  void save(TensorMap& out) const override;
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);
  std::vector<Fact> facts() const override;
  std::unique_ptr<Predictor> compressed(const WeightCompression& compression) const override;
  bool is_compressible() const override { return !is_compressed(); }
  bool is_compressed() const override { return linear_.is_compressed(); }

  std::uint32_t num_features() const override { return linear_.num_features(); }
  std::uint32_t num_labels() const override { return linear_.num_labels(); }
  void scores(const CsrView& X, std::size_t begin, std::size_t end,
              std::span<float> scores) const override;
  void probability_scores(const CsrView& X, std::size_t begin, std::size_t end,
                          std::span<float> scores) const override;
  LabelSets predict(const CsrView& X, Executor& executor) const override;
  /// The nodes are the label's leaf in each tree. A node's score is its margin; the label's is that
  /// of all trees.
  Explanation explain(const SparseRow& x, LabelId label, std::size_t num_strongest) const override;

  int beam() const { return beam_; }
  const LinearPredictor::Parts& parts() const { return linear_.parts(); }

 private:
  struct Scratch;
  void score_row(const CsrView& X, std::size_t i, std::size_t beam, std::span<float> scores,
                 Scratch& scratch) const;
  void score_rows(const CsrView& X, std::size_t begin, std::size_t end, int beam,
                  std::span<float> scores) const;
  /// The paths from a root to leaves, into scratch.leaves.
  void search(NodeId root, std::span<const float> margins, std::size_t beam,
              Scratch& scratch) const;

  LinearPredictor linear_;
  int beam_;
  std::vector<std::vector<NodeId>> children_;  // of each node, those that count
};

}  // namespace margrove
