#pragma once
// Dependency trees as a type of output: `--model dependency`.

#include "outputs/output_type.hpp"

namespace margrove {

OutputType dependency_output();

}  // namespace margrove
