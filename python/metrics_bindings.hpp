#pragma once
// The metrics of the extension module.

#include <nanobind/nanobind.h>

namespace margrove::python {

void bind_metrics(nanobind::module_& m);

}  // namespace margrove::python
