#pragma once
// The automatic choice of a method.

#include <nanobind/nanobind.h>

namespace margrove::python {

void bind_choice(nanobind::module_& m);

}  // namespace margrove::python
