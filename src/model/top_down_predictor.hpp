#pragma once
// Top-down classification, with one classifier per node among its siblings: HR's baseline TD.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/calibration.hpp"
#include "model/linear_predictor.hpp"

namespace margrove {

/// Kind "top-down". Node n has the margin f_n(x) = U_n.x. Among its siblings that lie above a
/// candidate, itself included, it is chosen with probability
///   p_n(x) = exp(scale f_n(x)) / sum_m exp(scale f_m(x)),
/// and the score of a path is the sum of log p_n over its nodes, the log-probability of its end.
/// Over all leaves these probabilities sum to 1, so that paths of different lengths can be
/// compared. From the roots down, the `beam` best paths are kept at every step, including those
/// that have reached a leaf (ties: the lower node). Beam 1 is the greedy search, beam 0 keeps all
/// paths. Labels that are not reached have no score. Probabilities are those of all paths, whatever
/// the beam: of the few that it keeps they would be too high, of one always 1.
class TopDownPredictor final : public RowPredictor {
 public:
  /// The scale of models that did not learn one. It has about the least negative log-likelihood on
  /// held-out training rows of seven problems, whose own best scales are 1 to 4.
  static constexpr double kDefaultScale = 3;

  /// `parts` as those of a LinearPredictor; the graph must be a tree, 0 < scale < infinity. Throws
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
  /// A node's score is its margin; the label's is the path's, reached or not.
  Explanation explain(const SparseRow& x, LabelId label, std::size_t num_strongest) const override;

  /// The scale in [1e-4, 1e4] that maximises sum_i row_weights[i] sum_{n in leaves[i]} of the score
  /// of the path to node n on row i of X; kDefaultScale if no path has a choice. For rows that the
  /// weights were not trained on. Leaves that are no candidates are left out; no weights: all 1.
  /// Margins are computed anew in each of at most 50 steps. The same bits for any executor.
  double fitted_scale(const CsrView& X, const LabelSets& leaves,
                      std::span<const double> row_weights, Executor& executor) const;

  int beam() const { return beam_; }
  double scale() const { return scale_; }
  const LinearPredictor::Parts& parts() const { return linear_.parts(); }

 private:
  struct Scratch;
  void search(const CsrView& X, std::size_t i, int beam, std::span<float> scores,
              Scratch& scratch) const;
  void search_rows(const CsrView& X, std::size_t begin, std::size_t end, int beam,
                   std::span<float> scores) const;
  /// The siblings of `n` that lie above a candidate, itself included.
  const std::vector<NodeId>& siblings(NodeId n) const;
  /// log of the sum over `nodes` of exp(scale margin); log p_n is scale f_n less this.
  double log_total(std::span<const NodeId> nodes, std::span<const float> margins) const;
  /// Derivatives by the scale of minus the score of the path to `leaf`.
  LikelihoodSlope path_slope(NodeId leaf, std::span<const float> margins, double scale) const;

  LinearPredictor linear_;
  int beam_;
  double scale_;
  std::vector<NodeId> starts_;                 // roots above a candidate
  std::vector<std::vector<NodeId>> children_;  // of each node, those above a candidate
};

}  // namespace margrove
