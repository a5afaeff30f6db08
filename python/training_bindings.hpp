#pragma once
// Training in the extension module: from arrays, from files, and in shards.

#include <nanobind/nanobind.h>

namespace margrove::python {

void bind_training(nanobind::module_& m);

}  // namespace margrove::python
