#pragma once
// Trained models in the extension module.

#include <nanobind/nanobind.h>

namespace margrove::python {

void bind_model(nanobind::module_& m);

}  // namespace margrove::python
