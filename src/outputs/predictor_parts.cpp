#include "outputs/predictor_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "margrove/errors.hpp"

namespace margrove {

LabelCodec codec_of(const TensorMap& tensors, const std::string& name, std::uint32_t num_labels) {
  LabelCodec codec(tensors.get_strings(name));
  tensors.check(codec.size() == num_labels, name, " has ", codec.size(), " names, but must have ",
                num_labels);
  return codec;
}

std::vector<float> finite_weights(const TensorMap& tensors, const std::string& name,
                                  std::size_t size) {
  auto weights = tensors.get<float>(name, size);
  for (const float w : weights) {
    tensors.check(std::isfinite(w), name, " holds a number that is not finite");
  }
  return weights;
}

void save_offset(const Decision& decision, const std::string& kind, TensorMap& out) {
  if (std::holds_alternative<OffsetDecision>(decision.rule)) decision.save(out, kind);
}

Decision load_offset(const TensorMap& tensors, const std::string& kind, std::uint32_t num_labels) {
  if (!tensors.has_text(kind + ".decision")) return {};
  Decision decision = Decision::load(tensors, kind, num_labels);
  tensors.check(std::holds_alternative<OffsetDecision>(decision.rule), "metadata ", kind,
                ".decision is '", decision.name(), "', but must be ", OffsetDecision::kName);
  return decision;
}

void RowShape::save(const std::string& kind, TensorMap& out) const {
  out.put_number(kind + ".features", num_features);
  out.put_number(kind + ".bias", bias);
}

RowShape RowShape::load(const std::string& kind, const TensorMap& tensors) {
  const std::uint64_t num_features = tensors.whole_number(kind + ".features");
  const double bias = tensors.number(kind + ".bias");
  tensors.check(num_features < std::numeric_limits<std::uint32_t>::max(), kind, ".features is ",
                num_features, ", but must fit 32 bits");
  tensors.check(bias >= 0, kind, ".bias is ", bias, ", but must be >= 0");
  return {static_cast<std::uint32_t>(num_features), bias};
}

SparseRow RowWithBias::operator()(const SparseRow& x) {
  columns_.clear();
  values_.clear();
  for (std::size_t j = 0; j < x.size() && x.columns[j] < shape_.num_features; ++j) {
    columns_.push_back(x.columns[j]);
    values_.push_back(x.values[j]);
  }
  if (shape_.bias > 0) {
    columns_.push_back(shape_.num_features);
    values_.push_back(static_cast<float>(shape_.bias));
  }
  return {columns_, values_};
}

Fact weight_fact(const std::vector<float>& weights) {
  const auto used = std::count_if(weights.begin(), weights.end(), [](float w) { return w != 0; });
  return {"weights", concat(weights.size(), ", ", used, " not zero")};
}

}  // namespace margrove
