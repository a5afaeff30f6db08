#pragma once
// --method structured for types of output beside the library's own.

#include <span>

#include "model/method.hpp"
#include "outputs/output_type.hpp"

namespace margrove {

/// `types` must outlive the method. With output_types() it is structured().
Method structured_method(std::span<const OutputType> types);

}  // namespace margrove
