#pragma once
// Structured SVMs with models of users: margrove.structured.

#include <nanobind/nanobind.h>

namespace margrove::python {

void bind_structured(nanobind::module_& m);

}  // namespace margrove::python
