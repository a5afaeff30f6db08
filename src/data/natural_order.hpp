#pragma once

#include <vector>

#include "margrove/label_codec.hpp"

namespace margrove {

/// The order in which a model numbers its labels: by value where all names are whole numbers,
/// otherwise by bytes. Returns ids of `codec`.
std::vector<LabelId> natural_order(const LabelCodec& codec);

}  // namespace margrove
