#pragma once
// How a combined kernel and its network lie in a TensorMap.

#include <cstdint>
#include <span>
#include <string>

#include "base/tensors.hpp"
#include "kernel/combined_kernel.hpp"

namespace margrove {

/// "<name>.network", "<name>.products" and "<name>.beta"; the fitted kernels as "<name>.names",
/// "<name>.widths", "<name>.factors" and "<name>.table.K"; and "<name>.paths.pointers",
/// "<name>.paths.kernels" and "<name>.paths.weights".
void save_kernel(TensorMap& out, const std::string& name, const CombinedKernel& kernel,
                 const SumProductNetwork& network, std::span<const double> beta);
/// The kernel of rows with so many columns. Throws ModelFileError on anything that is not valid.
LearnedKernel load_kernel(const TensorMap& in, const std::string& name, std::uint32_t num_columns);

}  // namespace margrove
