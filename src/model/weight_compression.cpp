#include "model/weight_compression.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <type_traits>
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

/// Those of at least so large an absolute value.
void read_feature(WeightPass& pass, FeatureId feature, float smallest, FeatureWeights& out) {
  out.nodes.clear();
  out.values.clear();
  pass.for_each_of(feature, [&](std::uint32_t node, float value) {
    if (value == 0.0F || std::abs(value) < smallest) return;
    out.nodes.push_back(node);
    out.values.push_back(value);
  });
}

void leave_out_zeros(FeatureWeights& feature) {
  std::size_t size = 0;
  for (std::size_t k = 0; k < feature.nodes.size(); ++k) {
    if (feature.values[k] == 0.0F) continue;
    feature.nodes[size] = feature.nodes[k];
    feature.values[size++] = feature.values[k];
  }
  feature.nodes.resize(size);
  feature.values.resize(size);
}

/// The features without the intercepts.
FeatureId num_own_features(const WeightMatrix& weights, bool has_intercepts) {
  return weights.num_features() - (has_intercepts ? 1 : 0);
}

/// How many of the numbers are equal to 0, 1, ..., 2^16 - 1.
using Counts = std::vector<std::int64_t>;

/// The largest number that has at least `rank` numbers at or above it. `rank` becomes what is left
/// of it without those above.
std::uint32_t ranked(const Counts& counts, std::int64_t& rank) {
  std::size_t number = counts.size() - 1;
  for (; counts[number] < rank; --number) rank -= counts[number];
  return static_cast<std::uint32_t>(number);
}

/// The smallest absolute value that is kept. It is found without a copy of the values: their bits
/// are in their order, so that a first pass finds the upper half of its bits, and a second one the
/// lower.
float smallest_kept(const WeightMatrix& weights, FeatureId num_features, double keep) {
  if (keep == 1) return 0.0F;
  const auto counted = [&](const auto& add) {
    Counts counts(std::size_t{1} << 16U);
    WeightPass pass(weights);
    for (FeatureId j = 0; j < num_features; ++j) {
      pass.for_each_of(j, [&](std::uint32_t, float value) {
        if (value != 0.0F) add(std::bit_cast<std::uint32_t>(std::abs(value)), counts);
      });
    }
    return counts;
  };
  const Counts upper = counted([](std::uint32_t bits, Counts& counts) { ++counts[bits >> 16U]; });
  const auto total = std::accumulate(upper.begin(), upper.end(), std::int64_t{0});
  auto rank = static_cast<std::int64_t>(std::ceil(keep * static_cast<double>(total)));
  if (rank >= total) return 0.0F;
  const std::uint32_t high = ranked(upper, rank);
  const Counts lower = counted([high](std::uint32_t bits, Counts& counts) {
    if (bits >> 16U == high) ++counts[bits & 0xFFFFU];
  });
  return std::bit_cast<float>(high << 16U | ranked(lower, rank));
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

/// Reads as many nodes as out.values has values from the gaps after byte `at`.
void read_nodes(const TensorMap& tensors, const std::string& packed,
                std::span<const std::uint8_t> gaps, std::uint32_t num_nodes, std::size_t& at,
                FeatureWeights& out) {
  out.nodes.clear();
  std::uint64_t next = 0;  // the lowest possible node
  for (std::size_t k = 0; k < out.values.size(); ++k) {
    const auto gap = next_number(gaps, at);
    tensors.check(gap && next + *gap < num_nodes, "tensor ", packed,
                  ".gaps: no node of the model at byte ", at);
    out.nodes.push_back(static_cast<std::uint32_t>(next + *gap));
    next += std::uint64_t{*gap} + 1;
  }
}

/// Without steps.
float unpacked(float value) { return value; }
float unpacked(BFloat16 value) { return to_float(value); }
float unpacked(std::int8_t code) { return code; }

/// Of values that are stored as T.
template <class T>
WeightMatrix load_packed_as(const TensorMap& tensors, const std::string& packed,
                            std::uint32_t num_nodes, bool has_intercepts) {
  const auto counts = tensors.get<std::uint32_t>(packed + ".counts");
  const auto values = tensors.get<T>(packed + ".values");
  const auto size = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  tensors.check(size == std::ssize(values), "tensor ", packed, ".counts add up to ", size,
                ", but there are ", values.size(), " values");
  tensors.check(counts.size() < std::numeric_limits<std::uint32_t>::max(), "tensor ", packed,
                ".counts has ", counts.size(), " entries, but may have at most 2^32 - 2");
  const auto gaps = tensors.get<std::uint8_t>(packed + ".gaps");
  std::vector<float> steps, intercepts;
  if (std::is_same_v<T, std::int8_t>) steps = tensors.get<float>(packed + ".steps", counts.size());
  if (has_intercepts) intercepts = tensors.get<float>(packed + ".intercepts", num_nodes);
  const auto own = static_cast<std::uint32_t>(counts.size());
  WeightRows rows(own + (has_intercepts ? 1 : 0), num_nodes,
                  size + std::ssize(intercepts) - std::ranges::count(intercepts, 0.0F));
  FeatureWeights feature;
  const auto append = [&] {
    for (const float value : feature.values) {
      tensors.check(std::isfinite(value), "tensor ", packed, ": weights must be finite numbers");
    }
    rows.append(feature.nodes, feature.values);
  };
  std::size_t at = 0, first = 0;
  for (std::uint32_t j = 0; j < own; first += counts[j++]) {
    feature.values.clear();
    const float step = steps.empty() ? 1.0F : steps[j];
    for (const T value : std::span(values).subspan(first, counts[j])) {
      feature.values.push_back(unpacked(value) * step);
    }
    read_nodes(tensors, packed, gaps, num_nodes, at, feature);
    append();
  }
  tensors.check(at == gaps.size(), "tensor ", packed, ".gaps has ", gaps.size(),
                " bytes, but its numbers end at byte ", at);
  if (has_intercepts) {
    feature.nodes.resize(num_nodes);
    std::iota(feature.nodes.begin(), feature.nodes.end(), 0U);
    feature.values = std::move(intercepts);
    leave_out_zeros(feature);
    append();
  }
  return std::move(rows).take();
}

/// TensorMap::put() without a copy.
template <class T>
void put_owned(TensorMap& out, const std::string& name, std::vector<T> values) {
  auto owned = std::make_shared<const std::vector<T>>(std::move(values));
  out.put_view<T>(name, *owned);
  out.keep_alive(std::move(owned));
}

}  // namespace

WeightMatrix compressed(const WeightMatrix& weights, bool has_intercepts,
                        const WeightCompression& compression) {
  require<InvalidOption>(compression.keep > 0 && compression.keep <= 1, "option keep is ",
                         compression.keep, ", but must be in (0, 1]");
  const FeatureId own = num_own_features(weights, has_intercepts);
  const float smallest = smallest_kept(weights, own, compression.keep);
  const auto for_each_feature = [&](const auto& visit) {
    WeightPass pass(weights);
    FeatureWeights feature;
    for (FeatureId j = 0; j < weights.num_features(); ++j) {
      read_feature(pass, j, j < own ? smallest : 0.0F, feature);
      if (j < own) {
        round_values(feature.values, compression.precision);
        leave_out_zeros(feature);
      }
      visit(feature);
    }
  };
  // They are counted first, as their memory may be more than that of all else.
  std::int64_t num_kept = 0;
  for_each_feature([&](const FeatureWeights& feature) { num_kept += std::ssize(feature.nodes); });
  WeightRows rows(weights.num_features(), weights.num_nodes(), num_kept);
  for_each_feature(
      [&](const FeatureWeights& feature) { rows.append(feature.nodes, feature.values); });
  return std::move(rows).take();
}

void compress(ModelParts& model, const WeightCompression& compression) {
  std::shared_ptr<const Predictor> predictor = model.predictor->compressed(compression);
  require(predictor != nullptr, "models of method ", model.method,
          " cannot be compressed, but only linear models of rows");
  model.predictor = std::move(predictor);
  model.report.primal = model.report.dual = model.report.relative_gap =
      std::numeric_limits<double>::quiet_NaN();
  model.state.reset();
}

void save_packed(TensorMap& out, const std::string& name, const WeightMatrix& weights,
                 bool has_intercepts, WeightPrecision precision) {
  std::vector<std::uint32_t> counts;
  std::vector<std::uint8_t> gaps;
  std::vector<float> values, steps;
  std::vector<BFloat16> halves;
  std::vector<std::int8_t> codes;
  const auto size = static_cast<std::size_t>(weights.num_nonzeros());
  gaps.reserve(size);  // one byte or more for each
  if (precision == WeightPrecision::float32) values.reserve(size);
  if (precision == WeightPrecision::bfloat16) halves.reserve(size);
  if (precision == WeightPrecision::int8) codes.reserve(size);
  FeatureWeights feature;
  WeightPass pass(weights);
  const FeatureId own = num_own_features(weights, has_intercepts);
  for (FeatureId j = 0; j < own; ++j) {
    read_feature(pass, j, 0, feature);
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
  put_owned(out, packed + ".counts", std::move(counts));
  put_owned(out, packed + ".gaps", std::move(gaps));
  if (precision == WeightPrecision::float32) {
    put_owned(out, packed + ".values", std::move(values));
  } else if (precision == WeightPrecision::bfloat16) {
    put_owned(out, packed + ".values", std::move(halves));
  } else {
    put_owned(out, packed + ".values", std::move(codes));
    put_owned(out, packed + ".steps", std::move(steps));
  }
  if (!has_intercepts) return;
  std::vector<float> intercepts(weights.num_nodes(), 0.0F);
  pass.for_each_of(own, [&](std::uint32_t node, float value) { intercepts[node] = value; });
  put_owned(out, packed + ".intercepts", std::move(intercepts));
}

bool has_packed(const TensorMap& tensors, const std::string& name) {
  return tensors.has_text(name + ".packed");
}

PackedWeights load_packed(const TensorMap& tensors, const std::string& name,
                          std::uint32_t num_nodes, bool has_intercepts) {
  const std::string packed = name + ".packed";
  const auto load = [&]<class T>(T) {
    return load_packed_as<T>(tensors, packed, num_nodes, has_intercepts);
  };
  const auto precision = tensors.get_enum<WeightPrecision>(packed);
  switch (precision) {
    case WeightPrecision::float32:
      return {load(float{}), precision};
    case WeightPrecision::bfloat16:
      return {load(BFloat16{}), precision};
    case WeightPrecision::int8:
      break;
  }
  return {load(std::int8_t{}), precision};
}

}  // namespace margrove
