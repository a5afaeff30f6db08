#pragma once
// Top-down classification, with one classifier per node among its siblings: HR's baseline TD.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/calibration.hpp"
#include "model/linear_predictor.hpp"

namespace margrove {

/// Kind "top-down". Node n has the margin f_n(x) = U_n.x. Among the children of a parent p that lie
/// above a candidate, itself included (of a root: among the roots), it is chosen with probability
///   p(n | p) = exp(scale f_n(x)) / sum_m exp(scale f_m(x)),
/// and the score of a path is the sum of log p(n | p) over its nodes, the log-probability of the
/// path. Over all paths to leaves these probabilities sum to 1, so that paths of different lengths
/// can be compared. From the roots down, the best paths to `beam` nodes are kept at every step,
/// including those that have reached a leaf (ties: the lower node). Beam 1 is the greedy search,
/// beam 0 keeps all. In a DAG, of the paths that end at one node only the best is kept: the score
/// of a label is that of its best path. Labels that are not reached have no score. Probabilities
/// are those of all paths, whatever the beam: of the few that it keeps they would be too high, of
/// one always 1. In a DAG the paths to a node are summed,
///   p(n) = sum over its parents p of p(p) p(n | p).
class TopDownPredictor final : public RowPredictor {
 public:
  /// The scale of models that did not learn one. It has about the least negative log-likelihood on
  /// held-out training rows of seven problems, whose own best scales are 1 to 4.
  static constexpr double kDefaultScale = 3;

  /// `parts` as those of a LinearPredictor; candidates must be leaves, 0 < scale < infinity. Throws
  /// InvalidInput.
  TopDownPredictor(LinearPredictor::Parts parts, int beam, double scale = kDefaultScale);

  std::string_view kind() const override { return "top-down"; }
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
  /// The nodes are those of the best path (ties: the lower parent), reached or not. A node's score
  /// is its margin; the label's is the path's.
  Explanation explain(const SparseRow& x, LabelId label, std::size_t num_strongest) const override;

  /// The scale in [1e-4, 1e4] that maximises sum_i row_weights[i] sum_{n in leaves[i]} log p(n) on
  /// row i of X, in a DAG a local maximum; kDefaultScale if no path has a choice. For rows that the
  /// weights were not trained on. Leaves that are no candidates are left out; no weights: all 1.
  /// Margins are computed anew in each of at most 50 steps. The same bits for any executor.
  double fitted_scale(const CsrView& X, const LabelSets& leaves,
                      std::span<const double> row_weights, Executor& executor) const;

  int beam() const { return beam_; }
  double scale() const { return scale_; }
  const LinearPredictor::Parts& parts() const { return linear_.parts(); }

 private:
  enum class Paths { best, all };
  struct Scratch;
  /// Fills `scores` with those of the labels of row i: search() for a beam, otherwise walk().
  void score_row(const CsrView& X, std::size_t i, int beam, Paths paths, std::span<float> scores,
                 Scratch& scratch) const;
  void score_rows(const CsrView& X, std::size_t begin, std::size_t end, int beam, Paths paths,
                  std::span<float> scores) const;
  /// The best paths to at most `beam` nodes, into scratch.ends.
  void search(std::span<const float> margins, std::size_t beam, Scratch& scratch) const;
  /// The log-probability of the best path or of all paths to each node above a candidate, into
  /// scratch.logs.
  void walk(std::span<const float> margins, Paths paths, Scratch& scratch) const;
  /// From a root to `leaf`, after a walk along the best paths.
  std::vector<NodeId> best_path(NodeId leaf, std::span<const float> margins,
                                const Scratch& scratch) const;
  /// Derivatives by the scale of minus log p(leaf).
  LikelihoodSlope leaf_slope(NodeId leaf, std::span<const float> margins, double scale,
                             Scratch& scratch) const;

  LinearPredictor linear_;
  int beam_;
  double scale_;
  std::vector<NodeId> order_;                  // nodes above a candidate, parents before children
  std::vector<NodeId> starts_;                 // roots above a candidate
  std::vector<std::vector<NodeId>> children_;  // of each node, those above a candidate
};

}  // namespace margrove
