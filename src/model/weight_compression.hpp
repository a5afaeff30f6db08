#pragma once
// Smaller models: fewer weights, each of fewer bytes.

#include <array>
#include <cstdint>
#include <string>

#include "base/tensors.hpp"
#include "data/weight_matrix.hpp"
#include "margrove/results.hpp"

namespace margrove {

struct ModelParts;

template <>
inline constexpr auto kEnumNames<WeightPrecision> = std::array{
    EnumName{WeightPrecision::float32, "float32"}, EnumName{WeightPrecision::bfloat16, "bfloat16"},
    EnumName{WeightPrecision::int8, "int8"}};

struct WeightCompression {
  /// The share of the weights other than zero and other than intercepts that is kept, in (0, 1]:
  /// those of the largest absolute values, and all that are equal to the smallest of them.
  double keep = 1;
  WeightPrecision precision = WeightPrecision::int8;
};

/// The weights that are kept, rounded to the nearest that the precision can store; never larger
/// than `weights` in memory. Intercepts are the weights of the last feature, if there are any:
/// they are all kept, as float32. Rounding weights that are already rounded changes nothing.
/// Throws InvalidOption if keep is not in (0, 1]. Needs memory for the result: weights in a file
/// are read in two passes, or four if some are left out, and not kept.
WeightMatrix compressed(const WeightMatrix& weights, bool has_intercepts,
                        const WeightCompression& compression);

/// Compresses the weights of a model, not those of its copies. Its report loses objective, dual
/// value and gap, and the model the state of its training, which are of the weights before. Throws
/// InvalidInput if there are no weights that can be left out, as in models of kernels and of
/// sentences; InvalidOption as above.
void compress(ModelParts& model, const WeightCompression& compression);

/// Weights of this precision as "<name>.packed.counts" (weights per feature), ".packed.gaps" (their
/// nodes), ".packed.values", ".packed.steps" for int8, and ".packed.intercepts"; specified in
/// docs/model_format.md. `weights` are those of compressed().
void save_packed(TensorMap& out, const std::string& name, const WeightMatrix& weights,
                 bool has_intercepts, WeightPrecision precision);
/// Whether load_packed() can read weights of this name.
bool has_packed(const TensorMap& tensors, const std::string& name);
struct PackedWeights {
  WeightMatrix weights;
  WeightPrecision precision;
};
/// Throws ModelFileError. Allocates at most eight bytes per byte of the tensors.
PackedWeights load_packed(const TensorMap& tensors, const std::string& name,
                          std::uint32_t num_nodes, bool has_intercepts);

}  // namespace margrove
