#pragma once
// Prediction and storage of label sets of a hierarchy.

#include <memory>
#include <vector>

#include "label_sets/label_set_inference.hpp"
#include "margrove/label_graph.hpp"
#include "model/predictor.hpp"
#include "outputs/predictor_parts.hpp"

namespace margrove {

/// Label sets of a hierarchy; a set is given by its leaves, a spawned leaf by its inner label.
class NodeSetPredictor final : public RowPredictor {
 public:
  NodeSetPredictor(RowShape rows, std::uint32_t num_labels, LabelGraph graph,
                   std::vector<LabelId> label_of_node, std::vector<float> weights);

  std::string_view kind() const override { return "node-sets"; }
  void save(TensorMap& out) const override;
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);
  std::vector<Fact> facts() const override;
  std::uint32_t num_features() const override { return rows_.num_features; }
  std::uint32_t num_labels() const override { return num_labels_; }
  void scores(const CsrView& X, std::size_t begin, std::size_t end,
              std::span<float> scores) const override;
  LabelSets predict(const CsrView& X, Executor& executor) const override;

 private:
  RowShape rows_;
  std::uint32_t num_labels_;
  LabelGraph graph_;
  std::vector<LabelId> label_of_node_;
  std::vector<float> weights_;
  LabelSetInference inference_;
};

}  // namespace margrove
