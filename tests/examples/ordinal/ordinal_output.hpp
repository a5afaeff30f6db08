#pragma once
// Grades on a line as a type of output: `--model ordinal`.

#include "outputs/output_type.hpp"

namespace margrove {

OutputType ordinal_output();

}  // namespace margrove
