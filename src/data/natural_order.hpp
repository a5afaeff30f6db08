#pragma once

#include <vector>

#include "base/work_meter.hpp"
#include "margrove/label_codec.hpp"

namespace margrove {

/// The order in which a model numbers its labels: by value where all names are whole numbers,
/// otherwise by bytes. Returns ids of `codec`. The labels are the work that `meter` counts.
std::vector<LabelId> natural_order(const LabelCodec& codec, WorkMeter& meter);

}  // namespace margrove
