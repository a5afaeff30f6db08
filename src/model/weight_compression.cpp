#include "model/weight_compression.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "margrove/errors.hpp"
#include "model/model.hpp"

namespace margrove {
namespace {

/// The weights of one feature other than zero.
struct FeatureWeights {
  std::vector<std::uint32_t> nodes;  // ascending
  std::vector<float> values;
};

void read_feature(const WeightMatrix& weights, FeatureId feature, FeatureWeights& out) {
  out.nodes.clear();
  out.values.clear();
  const auto add = [&](std::uint32_t node, float value) {
    if (value == 0.0F) return;
    out.nodes.push_back(node);
    out.values.push_back(value);
  };
  if (weights.is_dense()) {
    const std::span<const float> row = weights.dense_row(feature);
    for (std::uint32_t n = 0; n < weights.num_nodes(); ++n) add(n, row[n]);
  } else {
    const SparseRow row = weights.sparse_row(feature);
    for (std::size_t k = 0; k < row.size(); ++k) add(row.columns[k], row.values[k]);
  }
}

/// The features without the intercepts.
FeatureId num_own_features(const WeightMatrix& weights, bool has_intercepts) {
  return weights.num_features() - (has_intercepts ? 1 : 0);
}

/// The smallest absolute value that is kept.
float smallest_kept(const WeightMatrix& weights, FeatureId num_features, double keep) {
  std::vector<float> sizes;
  FeatureWeights feature;
  for (FeatureId j = 0; j < num_features; ++j) {
    read_feature(weights, j, feature);
    for (const float value : feature.values) sizes.push_back(std::abs(value));
  }
  const auto kept = static_cast<std::size_t>(std::ceil(keep * static_cast<double>(sizes.size())));
  if (kept >= sizes.size()) return 0.0F;
  const auto last = sizes.begin() + static_cast<std::ptrdiff_t>(kept) - 1;
  std::nth_element(sizes.begin(), last, sizes.end(), std::greater<>());
  return *last;
}

/// To the nearest, ties to even.
BFloat16 to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16)};
}

float to_float(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

constexpr float kLargestCode = 127;

/// The step between the weights of a feature. Its mantissa has 16 bits, so that its multiples are
/// exact, and the same step is found for weights that have been rounded to them.
float step_of(std::span<const float> values) {
  float largest = 0;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  const auto bits = std::bit_cast<std::uint32_t>(largest / kLargestCode);
  const float step = std::bit_cast<float>((bits + 0xFFU) & ~0xFFU);  // rounded up
  return std::max(step, std::numeric_limits<float>::min());
}

std::int8_t code_of(float value, float step) {
  return static_cast<std::int8_t>(
      std::clamp(std::nearbyint(value / step), -kLargestCode, kLargestCode));
}

void round_values(std::vector<float>& values, WeightPrecision precision) {
  switch (precision) {
    case WeightPrecision::float32:
      return;
    case WeightPrecision::bfloat16:
      for (float& value : values) value = to_float(to_bfloat16(value));
      return;
    case WeightPrecision::int8: {
      const float step = step_of(values);
      for (float& value : values) value = static_cast<float>(code_of(value, step)) * step;
      return;
    }
  }
}

/// Seven bits per byte, the lowest first; the highest bit says that more follow.
void append_number(std::vector<std::uint8_t>& bytes, std::uint32_t number) {
  for (; number >= 0x80U; number >>= 7) {
    bytes.push_back(static_cast<std::uint8_t>(number | 0x80U));
  }
  bytes.push_back(static_cast<std::uint8_t>(number));
}

/// Nothing at the end of the bytes or for a number of more than 32 bits.
std::optional<std::uint32_t> next_number(std::span<const std::uint8_t> bytes, std::size_t& at) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 35 && at < bytes.size(); shift += 7) {
    const std::uint8_t byte = bytes[at++];
    number |= static_cast<std::uint64_t>(byte & 0x7FU) << shift;
    if (byte >= 0x80U) continue;
    if (number > std::numeric_limits<std::uint32_t>::max()) break;
    return static_cast<std::uint32_t>(number);
  }
  return std::nullopt;
}

/// The values of the tensor as float32, without steps.
std::vector<float> stored_values(const TensorMap& tensors, const std::string& name,
                                 WeightPrecision precision) {
  if (precision == WeightPrecision::float32) return tensors.get<float>(name);
  std::vector<float> values;
  if (precision == WeightPrecision::bfloat16) {
    for (const BFloat16 value : tensors.get<BFloat16>(name)) values.push_back(to_float(value));
  } else {
    for (const std::int8_t code : tensors.get<std::int8_t>(name)) values.push_back(code);
  }
  return values;
}

std::vector<FeatureId> stored_nodes(const TensorMap& tensors, const std::string& name,
                                    std::span<const std::uint32_t> counts,
                                    std::uint32_t num_nodes) {
  const auto gaps = tensors.get<std::uint8_t>(name + ".gaps");
  std::vector<FeatureId> nodes;
  std::size_t at = 0;
  for (const std::uint32_t count : counts) {
    std::uint64_t next = 0;  // the lowest possible node
    for (std::uint32_t k = 0; k < count; ++k) {
      const auto gap = next_number(gaps, at);
      tensors.check(gap && next + *gap < num_nodes, "tensor ", name,
                    ".gaps: no node of the model at byte ", at);
      nodes.push_back(static_cast<FeatureId>(next + *gap));
      next += std::uint64_t{*gap} + 1;
    }
  }
  tensors.check(at == gaps.size(), "tensor ", name, ".gaps has ", gaps.size(),
                " bytes, but its numbers end at byte ", at);
  return nodes;
}

}  // namespace

WeightMatrix compressed(const WeightMatrix& weights, bool has_intercepts,
                        const WeightCompression& compression) {
  require<InvalidOption>(compression.keep > 0 && compression.keep <= 1, "option keep is ",
                         compression.keep, ", but must be in (0, 1]");
  const FeatureId own = num_own_features(weights, has_intercepts);
  const float smallest = smallest_kept(weights, own, compression.keep);
  CsrMatrix by_feature(weights.num_nodes());
  FeatureWeights feature, kept;
  for (FeatureId j = 0; j < weights.num_features(); ++j) {
    read_feature(weights, j, feature);
    if (j == own) {
      by_feature.append_row(feature.nodes, feature.values);
      continue;
    }
    kept.nodes.clear();
    kept.values.clear();
    for (std::size_t k = 0; k < feature.nodes.size(); ++k) {
      if (std::abs(feature.values[k]) < smallest) continue;
      kept.nodes.push_back(feature.nodes[k]);
      kept.values.push_back(feature.values[k]);
    }
    round_values(kept.values, compression.precision);
    std::size_t size = 0;  // without those that were rounded to zero
    for (std::size_t k = 0; k < kept.nodes.size(); ++k) {
      if (kept.values[k] == 0.0F) continue;
      kept.nodes[size] = kept.nodes[k];
      kept.values[size++] = kept.values[k];
    }
    by_feature.append_row(std::span(kept.nodes).first(size), std::span(kept.values).first(size));
  }
  return WeightMatrix::sparse(std::move(by_feature)).compacted();
}

void compress(ModelParts& model, const WeightCompression& compression) {
  auto predictor = model.predictor->compressed(compression);
  require(predictor != nullptr, "models of method ", model.method,
          " cannot be compressed, but only linear models of rows");
  model.predictor = std::move(predictor);
  model.report.primal = model.report.dual = model.report.relative_gap =
      std::numeric_limits<double>::quiet_NaN();
}

void save_packed(TensorMap& out, const std::string& name, const WeightMatrix& weights,
                 bool has_intercepts, WeightPrecision precision) {
  std::vector<std::uint32_t> counts;
  std::vector<std::uint8_t> gaps;
  std::vector<float> values, steps;
  std::vector<BFloat16> halves;
  std::vector<std::int8_t> codes;
  FeatureWeights feature;
  const FeatureId own = num_own_features(weights, has_intercepts);
  for (FeatureId j = 0; j < own; ++j) {
    read_feature(weights, j, feature);
    counts.push_back(static_cast<std::uint32_t>(feature.nodes.size()));
    std::uint32_t next = 0;
    for (const std::uint32_t node : feature.nodes) {
      append_number(gaps, node - next);
      next = node + 1;
    }
    if (precision == WeightPrecision::float32) {
      values.insert(values.end(), feature.values.begin(), feature.values.end());
    } else if (precision == WeightPrecision::bfloat16) {
      for (const float value : feature.values) halves.push_back(to_bfloat16(value));
    } else {
      steps.push_back(step_of(feature.values));
      for (const float value : feature.values) codes.push_back(code_of(value, steps.back()));
    }
  }
  const std::string packed = name + ".packed";
  out.put_enum(packed, precision);
  out.put<std::uint32_t>(packed + ".counts", counts);
  out.put<std::uint8_t>(packed + ".gaps", gaps);
  if (precision == WeightPrecision::float32) {
    out.put<float>(packed + ".values", values);
  } else if (precision == WeightPrecision::bfloat16) {
    out.put<BFloat16>(packed + ".values", halves);
  } else {
    out.put<std::int8_t>(packed + ".values", codes);
    out.put<float>(packed + ".steps", steps);
  }
  if (!has_intercepts) return;
  std::vector<float> intercepts(weights.num_nodes(), 0.0F);
  read_feature(weights, own, feature);
  for (std::size_t k = 0; k < feature.nodes.size(); ++k) {
    intercepts[feature.nodes[k]] = feature.values[k];
  }
  out.put<float>(packed + ".intercepts", intercepts);
}

bool has_packed(const TensorMap& tensors, const std::string& name) {
  return tensors.has_text(name + ".packed");
}

PackedWeights load_packed(const TensorMap& tensors, const std::string& name,
                          std::uint32_t num_nodes, bool has_intercepts) {
  const std::string packed = name + ".packed";
  const auto precision = tensors.get_enum<WeightPrecision>(packed);
  const auto counts = tensors.get<std::uint32_t>(packed + ".counts");
  std::vector<float> values = stored_values(tensors, packed + ".values", precision);
  std::vector<std::int64_t> row_pointers{0};
  for (const std::uint32_t count : counts) row_pointers.push_back(row_pointers.back() + count);
  tensors.check(row_pointers.back() == std::ssize(values), "tensor ", packed, ".counts add up to ",
                row_pointers.back(), ", but there are ", values.size(), " values");
  tensors.check(counts.size() < std::numeric_limits<std::uint32_t>::max(), "tensor ", packed,
                ".counts has ", counts.size(), " entries, but may have at most 2^32 - 2");
  std::vector<FeatureId> nodes = stored_nodes(tensors, packed, counts, num_nodes);
  if (precision == WeightPrecision::int8) {
    const auto steps = tensors.get<float>(packed + ".steps", counts.size());
    for (std::size_t j = 0; j < counts.size(); ++j) {
      for (auto k = row_pointers[j]; k < row_pointers[j + 1]; ++k) {
        values[static_cast<std::size_t>(k)] *= steps[j];
      }
    }
  }
  if (has_intercepts) {
    const auto intercepts = tensors.get<float>(packed + ".intercepts", num_nodes);
    for (std::uint32_t n = 0; n < num_nodes; ++n) {
      if (intercepts[n] == 0.0F) continue;
      nodes.push_back(n);
      values.push_back(intercepts[n]);
    }
    row_pointers.push_back(std::ssize(values));
  }
  return {WeightMatrix::sparse(
              CsrMatrix(num_nodes, std::move(row_pointers), std::move(nodes), std::move(values))),
          precision};
}

}  // namespace margrove
