#pragma once
// How sparse rows lie in a TensorMap.

#include <string>

#include "base/tensors.hpp"
#include "margrove/csr_matrix.hpp"

namespace margrove {

/// "<kind>.support.row_pointers", ".columns" and ".values", and "<kind>.num_features".
void save_support(TensorMap& out, const std::string& kind, const CsrMatrix& support);
/// Throws ModelFileError on anything that is not valid.
CsrMatrix load_support(const TensorMap& tensors, const std::string& kind);

}  // namespace margrove
