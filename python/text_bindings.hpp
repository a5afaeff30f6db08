#pragma once
// The terms of texts and their weights in the extension module.

#include <nanobind/nanobind.h>

namespace margrove::python {

void bind_text(nanobind::module_& m);

}  // namespace margrove::python
