#pragma once
// Structured losses of given scores: margrove.losses.

#include <nanobind/nanobind.h>

namespace margrove::python {

void bind_score_losses(nanobind::module_& m);

}  // namespace margrove::python
