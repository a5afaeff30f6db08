#pragma once
// Prediction and storage of pairwise multi-label fields.

#include <memory>
#include <vector>

#include "model/decision.hpp"
#include "model/offset_tuning.hpp"
#include "model/predictor.hpp"
#include "outputs/predictor_parts.hpp"

namespace margrove {

/// Predicts label sets with pairwise terms. scores() gives the scores of the single labels only.
class FieldPredictor final : public RowPredictor {
 public:
  /// The decision is argmax, the best label set, or an offset.
  FieldPredictor(RowShape rows, std::uint32_t num_labels, std::vector<float> weights,
                 Decision decision = {});

  std::string_view kind() const override { return "field"; }
  void save(TensorMap& out) const override;
  static std::unique_ptr<Predictor> load(const TensorMap& tensors, std::uint32_t num_labels);
  std::vector<Fact> facts() const override;
  std::uint32_t num_features() const override { return rows_.num_features; }
  std::uint32_t num_labels() const override { return num_labels_; }
  void scores(const CsrView& X, std::size_t begin, std::size_t end,
              std::span<float> scores) const override;
  LabelSets predict(const CsrView& X, Executor& executor) const override;
  const RowShape& shape() const { return rows_; }
  std::span<const float> weights() const { return weights_; }

 private:
  RowShape rows_;
  std::uint32_t num_labels_;
  std::vector<float> weights_;
  Decision decision_;
};

/// The label sets of `rows`, which have the constant feature, under a field with these weights.
MakeSearch field_searches(CsrMatrix rows, std::uint32_t num_labels, std::vector<float> weights);

}  // namespace margrove
