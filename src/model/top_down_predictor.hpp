#pragma once
// One classifier per parent for its children, applied from the top: HR's baseline TD.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/linear_predictor.hpp"

namespace margrove {

/// Kind "top-down". Node n has the margin f_n(x) = U_n.x among its siblings. A path scores the sum
/// of log sigmoid(f_n) over its nodes; a node whose siblings have no data is certain and counts 0.
/// From the roots down, the `beam` best paths are kept at every step, those that have reached a
/// leaf among them (ties: the lower node); beam 1 goes greedily to the child with the largest
/// margin, beam 0 keeps all paths. Labels that are not reached have no score.
class TopDownPredictor final : public RowPredictor {
 public:
  /// `parts` as those of a LinearPredictor; the graph must be a tree. Throws InvalidInput.
  TopDownPredictor(LinearPredictor::Parts parts, int beam);

  std::string_view kind() const override { return "top-down"; }
  bool gives_one_label() const override { return linear_.gives_one_label(); }
  void save(TensorMap& out) const override;
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);
  std::vector<Fact> facts() const override;

  std::uint32_t num_features() const override { return linear_.num_features(); }
  std::uint32_t num_labels() const override { return linear_.num_labels(); }
  void scores(const CsrView& X, std::size_t begin, std::size_t end,
              std::span<float> scores) const override;
  LabelSets predict(const CsrView& X, Executor& executor) const override;
  /// A node's score is its margin; the label's is the path's, reached or not.
  Explanation explain(const SparseRow& x, LabelId label, std::size_t num_strongest) const override;

  int beam() const { return beam_; }
  const LinearPredictor::Parts& parts() const { return linear_.parts(); }

 private:
  struct Scratch;
  void search(const SparseRow& x, std::span<float> scores, Scratch& scratch) const;
  /// log sigmoid(margin), 0 where the node has no sibling with data.
  double step(NodeId n, double margin) const;

  LinearPredictor linear_;
  int beam_;
  std::vector<NodeId> starts_;                 // roots above a candidate
  std::vector<std::vector<NodeId>> children_;  // of each node, those above a candidate
  std::vector<bool> is_certain_;
};

}  // namespace margrove
