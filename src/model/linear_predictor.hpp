#pragma once
// Path-additive linear scores: score(x, l) = sum over the nodes n of A(l) of U_n.x. A flat model is
// the case of a graph without edges (docs/notation.md; NHSVM, HR).

#include <memory>
#include <optional>
#include <vector>

#include "data/weight_matrix.hpp"
#include "hierarchy/graph_operations.hpp"
#include "margrove/label_graph.hpp"
#include "model/decision.hpp"
#include "model/label_set_decoder.hpp"
#include "model/level_weights.hpp"
#include "model/predictor.hpp"
#include "model/weight_compression.hpp"

namespace margrove {

class LinearPredictor final : public RowPredictor {
 public:
  struct Parts {
    /// U: one row per feature, then one for the intercept if bias > 0; one column per node.
    WeightMatrix weights;
    double bias = 0;
    LabelGraph graph;                    // over the nodes
    std::vector<double> alpha;           // node weights already multiplied into U; empty: all 1
    LevelWeights levels;                 // already multiplied into U; empty: all 1
    std::vector<LabelId> label_of_node;  // nodes may share a label (a spawned leaf and its parent)
    /// Nodes whose labels may be predicted; their labels are distinct. They are leaves if the
    /// decision uses node scores.
    std::vector<NodeId> candidates;
    std::uint32_t num_labels = 0;
    Decision decision;
    /// How the weights are stored in a file, if they are compressed; otherwise as they are.
    std::optional<WeightPrecision> packed;
  };

  /// Throws InvalidInput where the parts do not agree. Weights are compacted.
  explicit LinearPredictor(Parts parts);

  std::string_view kind() const override { return "linear"; }
  const LinearPredictor* linear() const override { return this; }
  bool gives_one_label() const override { return !parts_.decision.several_labels(); }
  void save(TensorMap& out) const override;
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);
  /// save() and load() for other kinds that consist of such parts, whose names begin with `prefix`.
  void save_parts(TensorMap& out, const std::string& prefix) const;
  static Parts load_parts(const TensorMap& tensors, const std::string& prefix,
                          std::uint32_t num_labels);
  std::vector<Fact> facts() const override;
  std::unique_ptr<Predictor> compressed(const WeightCompression& compression) const override;
  bool is_compressible() const override { return !is_compressed(); }
  bool is_compressed() const override { return parts_.packed.has_value(); }
  /// compressed() for other kinds that consist of such parts.
  Parts compressed_parts(const WeightCompression& compression) const;

  std::uint32_t num_features() const override;
  std::uint32_t num_labels() const override { return parts_.num_labels; }
  void scores(const CsrView& X, std::size_t begin, std::size_t end,
              std::span<float> scores) const override;
  LabelSets predict(const CsrView& X, Executor& executor) const override;
  Explanation explain(const SparseRow& x, LabelId label, std::size_t num_strongest) const override;
  /// The same with `nodes`, in this order, in place of A(l); the score is the sum of theirs.
  Explanation explain_nodes(const SparseRow& x, LabelId label, std::span<const NodeId> nodes,
                            std::size_t num_strongest) const;
  /// The candidate with this label. Throws InvalidInput if there is none.
  NodeId candidate_of(LabelId label) const;

  const Parts& parts() const { return parts_; }

  /// Memory for scoring a row; each thread needs its own.
  struct Scratch {
    std::vector<FeatureId> columns;
    std::vector<float> values;
    std::vector<float> node_scores;
  };
  /// The scores of several rows at one node.
  struct RowLanes {
    static constexpr std::size_t kRows = 16;
    float at[kRows] = {};
  };
  /// The hierarchy in which the best label sets are searched; null unless the decision uses node
  /// scores.
  const CandidateHierarchy* label_sets() const { return label_sets_.get(); }

  /// U_n.x of every node for row i, intercept included; valid until `scratch` is used again.
  /// Throws NonFiniteScores.
  std::span<float> node_scores(const CsrView& X, std::size_t i, Scratch& scratch) const;

 private:
  /// The same of several rows, one after the other, which may not be finite.
  std::span<float> node_scores(const CsrView& X, std::size_t first, std::size_t count,
                               Scratch& scratch) const;
  /// Label scores of a row in a tree from node scores, which it overwrites.
  void score_labels(std::span<float> node_scores, std::span<float> scores) const;
  /// Label scores in a DAG.
  void score_labels_of_rows(std::span<const RowLanes> node_scores, std::size_t first_row,
                            std::size_t num_rows, std::span<float> scores) const;

  Parts parts_;
  ListedAncestors ancestors_;                             // of DAGs only
  std::unique_ptr<const CandidateHierarchy> label_sets_;  // if the decision uses node scores
};

}  // namespace margrove
