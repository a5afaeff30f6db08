#pragma once
// Prediction and storage of pairwise multi-label fields.

#include <memory>
#include <vector>

#include "model/predictor.hpp"
#include "outputs/predictor_parts.hpp"

namespace margrove {

/// Predicts label sets with pairwise terms. scores() gives the scores of the single labels only.
class FieldPredictor final : public RowPredictor {
 public:
  FieldPredictor(RowShape rows, std::uint32_t num_labels, std::vector<float> weights);

  std::string_view kind() const override { return "field"; }
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
  std::vector<float> weights_;
};

}  // namespace margrove
