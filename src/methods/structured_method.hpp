#pragma once
// --method structured for given types of output, which need not be those of the library.

#include <span>

#include "model/method.hpp"
#include "outputs/output_type.hpp"

namespace margrove {

/// `types` must outlive the method. structured() is this method with output_types().
Method structured_method(std::span<const OutputType> types);

}  // namespace margrove
