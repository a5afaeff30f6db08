#pragma once
// Parts that predictors of structured outputs share: their tensors, and rows with the constant
// feature.

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensors.hpp"
#include "margrove/csr_matrix.hpp"
#include "margrove/label_codec.hpp"
#include "model/decision.hpp"
#include "model/predictor.hpp"

namespace margrove {

/// The names in tensor `name`. Throws ModelFileError unless there are num_labels of them.
LabelCodec codec_of(const TensorMap& tensors, const std::string& name, std::uint32_t num_labels);

/// The numbers of tensor `name`. Throws ModelFileError unless there are `size` finite ones.
std::vector<float> finite_weights(const TensorMap& tensors, const std::string& name,
                                  std::size_t size);

/// Stores an offset under KIND.decision. Models without that key decide by argmax.
void save_offset(const Decision& decision, const std::string& kind, TensorMap& out);
/// Throws ModelFileError for another rule.
Decision load_offset(const TensorMap& tensors, const std::string& kind, std::uint32_t num_labels);

/// The rows that a model takes. `bias` is the value of their constant feature, 0 if there is none.
struct RowShape {
  std::uint32_t num_features = 0;
  double bias = 0;

  /// Features, the constant one included.
  std::uint32_t num_columns() const { return num_features + (bias > 0 ? 1U : 0U); }
  /// Stored as KIND.features and KIND.bias.
  void save(const std::string& kind, TensorMap& out) const;
  static RowShape load(const std::string& kind, const TensorMap& tensors);
};

/// Makes rows without unknown features and with the constant feature last. One per thread.
class RowWithBias {
 public:
  explicit RowWithBias(RowShape shape) : shape_(shape) {}
  /// Valid until the next call.
  SparseRow operator()(const SparseRow& x);

 private:
  RowShape shape_;
  std::vector<FeatureId> columns_;
  std::vector<float> values_;
};

/// States how many weights there are and how many of them are not 0.
Fact weight_fact(const std::vector<float>& weights);

}  // namespace margrove
