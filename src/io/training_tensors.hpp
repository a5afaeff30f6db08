#pragma once
// A training as tensors: its data, method and options.

#include <string>

#include "base/tensors.hpp"
#include "methods/training.hpp"

namespace margrove {

/// Metadata: the digest of everything else, and the names of options after this.
inline const std::string kDigest = "digest";
inline const std::string kOptionKey = "option.";
/// Metadata: what rows without a label mean; only if it is not automatic.
inline const std::string kUnlabelledKey = "unlabelled";

/// Adds method, options and data. The arrays of the rows are not copied, so that `data` must
/// outlive the map.
void put_training(TensorMap& out, const Method& method, MethodRun& run, const TrainingSet& data,
                  const Preprocessing& preprocessing);

/// Of everything in the map but the digest itself. O(bytes).
std::string digest_of(const TensorMap& tensors);

}  // namespace margrove
