#pragma once
// All types of output that `--method structured` can train. A new type is one line in registry.cpp.

#include <vector>

#include "outputs/output_type.hpp"

namespace margrove {

/// In the order of the documentation.
const std::vector<OutputType>& output_types();

}  // namespace margrove
