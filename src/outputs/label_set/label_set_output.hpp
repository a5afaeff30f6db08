#pragma once
// Label sets of a hierarchy as a type of output: `--model hierarchy`.

#include "outputs/output_type.hpp"

namespace margrove {

OutputType label_set_output();

}  // namespace margrove
